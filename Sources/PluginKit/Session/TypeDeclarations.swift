import Foundation
public import HubWire
import Logging
import PluginState
import ZeroMQ

extension PluginContext {
    /// Types that the plugin has declared while it ran, in this run or an earlier one, that the hub has taken, and that it may write.
    ///
    /// Another session may have fewer: ask again after whatever takes time.
    public var declaredTypes: [TypeDeclaration] {
        get async { await link.machine.writableTypes }
    }

    /// Declares types that only the running plugin knows of, such as the fields of a service's devices.
    ///
    /// The manifest writes `x.<vendor>.*` for them. They are kept: a later run declares them from its beginning. What the hub has already
    /// costs nothing; else the plugin begins a new session (R4.27), which ends the calls that are being carried out. So these are waited
    /// for, a minute at most: never call it from a command.
    /// - Throws: ``GiveError`` `refused` where the hub does not take them, and none of them is declared then; `stopping`; `storage`.
    public func declare(_ types: [TypeDeclaration]) async throws(GiveError) {
        try await link.types.declare(types, waiting: .seconds(60)).get()
        do {
            try await KeptDeclarations.write(await link.machine.addedTypes, to: state)
        } catch {
            throw GiveError(.storage, error.message)
        }
    }
}

/// Types that the plugin declares while it runs; a part of the link's poll loop.
actor TypeDeclarations {
    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let outlet: HubOutlet
    private let commands: CommandHandler
    private let logger: Logger
    /// Callers that wait for the session with their types.
    private var waiters: [CheckedContinuation<Result<Void, GiveError>, Never>] = []

    init(on loop: PollLoop, outlet: HubOutlet, commands: CommandHandler, logger: Logger) {
        (self.loop, self.outlet, self.commands, self.logger) = (loop, outlet, commands, logger)
    }

    /// Returns when there is a session that has the types.
    /// - Parameter patience: how long the calls of the hub may take that the new session would end.
    func declare(_ types: [TypeDeclaration], waiting patience: Duration) async -> Result<Void, GiveError> {
        if outlet.hasDeclared(types) { return .success(()) }
        let limit = ContinuousClock.now + patience
        while await commands.isBusy, ContinuousClock.now < limit, !outlet.isStopping {
            try? await Task.sleep(for: .milliseconds(20))
        }
        guard !outlet.isStopping else {
            return .failure(GiveError(.stopping, "the plugin is being stopped"))
        }
        if outlet.hasDeclared(types) { return .success(()) }
        logger.info("beginning a new session, to declare types", metadata: ["types": "\(types.count)"])
        return await withCheckedContinuation { continuation in
            waiters.append(continuation)
            outlet.declare(types)
        }
    }

    func refused(_ error: WireError) {
        logger.warning("the hub refuses types", metadata: ["hub.error": "\(error)"])
        settle(.failure(GiveError(.refused, "the hub refuses types of this plugin: \(error.reason)")))
    }

    func settle(_ result: Result<Void, GiveError>) {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume(returning: result) }
    }
}

/// The types that an instance has declared beside its manifest's, kept between runs.
enum KeptDeclarations {
    private static let key = "declared-types"

    /// - Throws: as the state does; a text that cannot be read counts as none.
    static func read(_ state: PluginState) async throws(PluginStateError) -> [TypeDeclaration] {
        guard let text = try await state.text(key) else { return [] }
        return (try? JSONDecoder().decode([TypeDeclaration].self, from: Data(text.utf8))) ?? []
    }

    static func write(_ types: [TypeDeclaration], to state: PluginState) async throws(PluginStateError) {
        let text = (try? JSONEncoder().encode(types)).map { String(decoding: $0, as: UTF8.self) }
        try await state.set(key, to: text.map { .text($0) })
    }
}
