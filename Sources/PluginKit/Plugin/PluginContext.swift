public import HubWire
public import Logging
public import PluginState
public import Samples
import Synchronization

/// What ``Plugin/check(_:)`` may use: no spool and no state, because the instance may be running beside it.
public struct CheckContext: Sendable {
    /// The name of the `[plugin.<instance>]`.
    public let instance: String
    /// Those that would be run with, checked against the manifest.
    public let settings: PluginSettings
    /// The one clock of hub and plugins.
    public let clock: HubClock
    /// Writes to stderr.
    ///
    /// Never give it a health value, a key or a secret.
    public let logger: Logger
    /// Where the running instance keeps its state, to be looked at and not changed; `nil` where it is not known.
    public let stateDirectory: String?
    private let tokens: Tokens?

    /// The token that the hub keeps of an account; `nil` where it keeps none.
    public typealias Tokens = @Sendable (_ account: String) async throws -> OAuthToken?

    /// PluginKit makes it for `--check`; tests of plugins make their own.
    /// - Parameters:
    ///   - instance: the name of the `[plugin.<instance>]`.
    ///   - settings: checked against the manifest.
    ///   - clock: the one of hub and plugins.
    ///   - logger: where the check may write.
    ///   - stateDirectory: where the running instance keeps its state.
    ///   - tokens: those of the hub; `nil` where no hub is asked.
    public init(
        instance: String, settings: PluginSettings, clock: HubClock, logger: Logger, stateDirectory: String? = nil,
        tokens: Tokens? = nil
    ) {
        (self.instance, self.settings, self.clock, self.logger) = (instance, settings, clock, logger)
        (self.stateDirectory, self.tokens) = (stateDirectory, tokens)
    }

    /// Whether the hub is asked; else there is only a file of settings.
    public var hasHub: Bool { tokens != nil }

    /// The token of an account as the hub keeps it, also when it is over; `nil` where there is no log-in, or no hub is asked.
    ///
    /// It is not renewed here: a renewed one must be on the disk of the instance that renewed it before the hub has it.
    /// - Throws: ``AskError`` when the hub refuses; ``TokenError`` when this plugin cannot read what it keeps.
    public func storedToken(of account: String) async throws -> OAuthToken? { try await tokens?(account) }
}

/// Which hub a plugin is at, and which of its store's epochs.
public struct HubIdentity: Hashable, Sendable {
    /// Random and permanent.
    public let id: String
    /// Another one after a restore.
    public let epoch: String
    /// The newest sequence when the session began.
    public let head: Int64
}

/// A running plugin's view of the hub.
///
/// All of it may be used from any task and thread.
public final class PluginContext: Sendable {
    /// The name of the `[plugin.<instance>]`.
    public let instance: String
    /// The plugin kind: the manifest's name.
    public let kind: String
    /// Checked against the manifest, with defaults; they stay the same while this process runs.
    public let settings: PluginSettings
    /// Key/value state and cursors of this instance, kept between runs; the spool lives in it too.
    public let state: PluginState
    /// Writes to stderr.
    ///
    /// Never give it a health value, a key or a secret.
    public let logger: Logger
    /// For importers that this package shares with `hub import`, which give records as text.
    package let link: HubLink
    private let lastGiven = Mutex(ContinuousClock.now)
    /// Log-ins of this process's life, for those who wait for one.
    let logIns = EventCounter()
    /// Renewals of tokens, which a stop waits for.
    let renewals = InFlight()

    init(kind: String, settings: PluginSettings, state: PluginState, logger: Logger, link: HubLink) {
        (self.instance, self.kind, self.settings) = (link.instance, kind, settings)
        (self.state, self.logger, self.link) = (state, logger, link)
    }

    /// The persons of the hub, as of its last WELCOME; empty before the first.
    public var persons: [Welcome.PersonEntry] { link.terms.withLock { $0.persons } }

    /// The hub and its store, as of its last WELCOME; `nil` before the first.
    public var identity: HubIdentity? { link.terms.withLock { $0.identity } }

    /// The one clock of hub and plugins, as of the last WELCOME; the machine's before the first.
    ///
    /// Take all times from it that are not the device's own.
    public var clock: HubClock { link.clock }

    /// Whether the plugin has been asked to stop; its task is cancelled at the same time.
    public var isStopping: Bool { link.hasStopRequest.withLock { $0 } }

    /// The source of this plugin's records.
    public func source(device: String? = nil, account: String? = nil) -> Source {
        Source(plugin: kind, device: device, account: account)
    }

    /// Asks for a subscription once more.
    ///
    /// After a failed log-in the hub delivers nothing until this, a new session or a person says that it may.
    public func wantAgain(_ name: String) async { await link.sink.wantAgain(name) }

    /// Has ``SinkPlugin/wants(_:)`` say again what the sink wants, and the hub follow it.
    ///
    /// A subscription that is not among it any more stays with the hub, and counts among the sixteen, until a person has it forgotten
    /// (`hub forget-sink`).
    /// - Throws: what ``SinkPlugin/wants(_:)`` throws; then everything stays as it was.
    public func renewWants() async throws { try await link.sink.renew() }

    /// How often a hub has said WELCOME to this process.
    public var sessionCount: Int { link.openings.count }

    /// Returns when a session beyond that one is open: the hub may be another then, and ``persons`` and ``clock`` as well.
    ///
    /// - Throws: `CancellationError`.
    public func untilSession(beyond known: Int) async throws { try await link.openings.wait(beyond: known) }

    /// Returns when the plugin is to stop.
    public func untilStopped() async {
        let (never, end) = AsyncStream<Void>.makeStream()
        for await _ in never {}
        end.finish()
    }

    /// A person has logged in: what has waited for that goes on.
    func noteLogIn() async {
        logIns.note()
        await link.sink.wantAllAgain()
    }

    func noteGiven() { lastGiven.withLock { $0 = .now } }

    /// Runs `body` and cancels it when nothing was given for `time`; returns when it has ended.
    ///
    /// - Throws: what `body` throws, unless that is `CancellationError` because of idleness.
    public func untilIdle(for time: Duration, _ body: @escaping @Sendable () async throws -> Void) async throws {
        noteGiven()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await body()
                return false
            }
            group.addTask { [self] in
                while true {
                    let end = lastGiven.withLock { $0 } + time
                    if ContinuousClock.now >= end { return true }
                    try await Task.sleep(until: end, clock: .continuous)
                }
            }
            let isIdle = try await group.next() ?? false
            group.cancelAll()
            guard isIdle else { return }
            do {
                _ = try await group.next()
            } catch is CancellationError {}
        }
    }
}
