import Foundation
public import HubWire
import Logging

extension PluginContext {
    /// Types that the plugin has declared at run time, now or in an earlier run, that the hub has accepted, and that the plugin may write.
    ///
    /// A later session may have fewer: read the property again after anything that takes time.
    public var declaredTypes: [TypeDeclaration] {
        get async { await link.machine.writableTypes }
    }

    /// Declares types that are known only at run time, such as the fields of a service's devices.
    ///
    /// The manifest declares `x.<vendor>.*` for them. The types are stored, and later runs declare them from the beginning. Types that the hub
    /// already has cost nothing. Otherwise the plugin begins a new session (R4.27), which ends the commands in progress. The call waits for
    /// those commands, at most a minute: never call it from a command.
    /// - Throws: ``GiveError`` `refused` if the hub rejects the types, and none of them is declared then; `stopping`; `storage`.
    public func declare(_ types: [TypeDeclaration]) async throws(GiveError) {
        try await link.declare(types, waiting: .seconds(60))
        do {
            try await KeptDeclarations.write(await link.machine.addedTypes, to: state)
        } catch {
            throw GiveError(.storage, error.message)
        }
    }
}

extension HubLink {
    /// Returns when there is a session that has the types.
    /// - Parameter patience: how long to wait for the hub's commands in progress, which the new session would end.
    fileprivate func declare(_ types: [TypeDeclaration], waiting patience: Duration) async throws(GiveError) {
        if machine.hasDeclared(types) { return }
        let limit = ContinuousClock.now + patience
        while commands.isBusy, ContinuousClock.now < limit, !rejectsRequests {
            try? await Task.sleep(for: .milliseconds(20))
        }
        guard !rejectsRequests else { throw GiveError(.stopping, "the plugin is being stopped") }
        if machine.hasDeclared(types) { return }
        logger.info("beginning a new session, to declare types", metadata: ["types": "\(types.count)"])
        let result: Result<Void, GiveError> = await withCheckedContinuation { continuation in
            declarers.append(continuation)
            // A deliberate new session is not an outage and needs no warning.
            isAway = true
            step { $0.declare(types, at: $1) }
        }
        try result.get()
    }

    func undeclared(_ error: WireError) {
        logger.warning("the hub refuses types", metadata: ["hub.error": "\(error)"])
        settleDeclarations(.failure(GiveError(.refused, "the hub refuses types of this plugin: \(error.reason)")))
    }

    func settleDeclarations(_ result: Result<Void, GiveError>) {
        let waiting = declarers
        declarers = []
        for declarer in waiting { declarer.resume(returning: result) }
    }
}

/// The types that an instance has declared in addition to its manifest, kept between runs.
enum KeptDeclarations {
    private static let key = "declared-types"

    /// - Throws: the errors of the state; a text that cannot be decoded counts as no types.
    static func read(_ state: PluginState) async throws(PluginStateError) -> [TypeDeclaration] {
        guard let text = try await state.text(key) else { return [] }
        return (try? JSONDecoder().decode([TypeDeclaration].self, from: Data(text.utf8))) ?? []
    }

    static func write(_ types: [TypeDeclaration], to state: PluginState) async throws(PluginStateError) {
        let text = (try? JSONEncoder().encode(types)).map { String(decoding: $0, as: UTF8.self) }
        try await state.set(key, to: text.map { .text($0) })
    }
}
