import Foundation
public import HubWire
import Logging
import PluginState

extension PluginContext {
    /// Types that the plugin has declared while it ran, in this run or an earlier one, that the hub has taken, and that it may write.
    ///
    /// Another session may have fewer: ask again after whatever takes time.
    public var declaredTypes: [TypeDeclaration] {
        get async { await link.writableTypes }
    }

    /// Declares types that only the running plugin knows of, such as the fields of a service's devices.
    ///
    /// The manifest writes `x.<vendor>.*` for them. They are kept: a later run declares them from its beginning. What the hub has already
    /// costs nothing; else it is greeted anew (R4.27), which ends the calls that are being carried out. So these are waited for, a minute
    /// at most: never call it from a command.
    /// - Throws: ``GiveError`` `refused` where the hub does not take them, and none of them is declared then; `stopping`; `storage`.
    public func declare(_ types: [TypeDeclaration]) async throws(GiveError) {
        try await link.declare(types, waiting: .seconds(60)).get()
        do {
            try await KeptDeclarations.write(await link.machine.addedTypes, to: state)
        } catch {
            throw GiveError(.storage, error.message)
        }
    }
}

extension HubLink {
    /// Of the added types those that hub.conf lets this instance write.
    fileprivate var writableTypes: [TypeDeclaration] {
        machine.addedTypes.filter { machine.welcome?.grants.write.allows(type: $0.id) ?? true }
    }

    /// Returns when there is a session that has the types.
    func declare(_ types: [TypeDeclaration], waiting patience: Duration) async -> Result<Void, GiveError> {
        if hasDeclared(types) { return .success(()) }
        let limit = ContinuousClock.now + patience
        while !desk.open.isEmpty, ContinuousClock.now < limit, !isStopping {
            try? await Task.sleep(for: .milliseconds(20))
        }
        guard end == nil, !isStopping else {
            return .failure(GiveError(.stopping, "the plugin is being stopped"))
        }
        if hasDeclared(types) { return .success(()) }
        logger.info("greeting anew, to declare types", metadata: ["types": "\(types.count)"])
        // No outage, which would be worth a warning.
        isAway = true
        return await withCheckedContinuation { continuation in
            declarations.append(continuation)
            step { $0.declare(types, at: $1) }
        }
    }

    private func hasDeclared(_ types: [TypeDeclaration]) -> Bool {
        let known = Set(machine.hello.declares.map(\.id))
        return machine.offeredTypes.isEmpty && types.allSatisfy { known.contains($0.id) }
    }

    /// The hub would not have what was added.
    func undeclared(_ error: WireError) {
        logger.warning("the hub refuses types", metadata: ["hub.error": "\(error)"])
        settleDeclarations(.failure(GiveError(.refused, "the hub refuses types of this plugin: \(error.reason)")))
    }

    func settleDeclarations(_ result: Result<Void, GiveError>) {
        let waiting = declarations
        declarations = []
        for waiter in waiting { waiter.resume(returning: result) }
    }
}

/// The types that an instance has declared beside its manifest's, kept between runs.
enum KeptDeclarations {
    private static let key = "declared-types"

    /// - Throws: as the state does; a text that cannot be read is none.
    static func read(_ state: PluginState) async throws(PluginStateError) -> [TypeDeclaration] {
        guard let text = try await state.text(key) else { return [] }
        return (try? JSONDecoder().decode([TypeDeclaration].self, from: Data(text.utf8))) ?? []
    }

    static func write(_ types: [TypeDeclaration], to state: PluginState) async throws(PluginStateError) {
        let text = (try? JSONEncoder().encode(types)).map { String(decoding: $0, as: UTF8.self) }
        try await state.set(key, to: text.map { .text($0) })
    }
}
