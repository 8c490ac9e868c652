public import HubWire
public import Logging
public import Samples
import Synchronization

/// The context of ``Plugin/check(_:)``; it has no spool and no state, because the instance may be running at the same time.
public struct CheckContext: Sendable {
    /// The name of the `[plugin.<instance>]`.
    public let instance: String
    /// The settings that the instance would run with, checked against the manifest.
    public let settings: PluginSettings
    /// The clock that the hub and its plugins share.
    public let clock: HubClock
    /// Writes to stderr.
    ///
    /// Never give it a health value, a key or a secret.
    public let logger: Logger
    /// The state directory of the running instance, which a check may read but not change; `nil` if it is not known.
    public let stateDirectory: String?
    private let tokens: Tokens?

    /// Returns the token that the hub stores for an account, or `nil` if it stores none.
    public typealias Tokens = @Sendable (_ account: String) async throws -> OAuthToken?

    /// Creates a context; PluginKit does so for `--check`, and tests of plugins create their own.
    /// - Parameters:
    ///   - instance: the name of the `[plugin.<instance>]`.
    ///   - settings: settings that were checked against the manifest.
    ///   - clock: the clock that the hub and its plugins share.
    ///   - logger: the logger for the check.
    ///   - stateDirectory: the directory in which the running instance keeps its state.
    ///   - tokens: looks up tokens at the hub; `nil` if the check runs without a hub.
    public init(
        instance: String, settings: PluginSettings, clock: HubClock, logger: Logger, stateDirectory: String? = nil,
        tokens: Tokens? = nil
    ) {
        (self.instance, self.settings, self.clock, self.logger) = (instance, settings, clock, logger)
        (self.stateDirectory, self.tokens) = (stateDirectory, tokens)
    }

    /// Whether the check has a connection to the hub; without one it has only a settings file.
    public var hasHub: Bool { tokens != nil }

    /// The token of an account as the hub stores it, even if it has expired; `nil` if there is no log-in or no hub.
    ///
    /// This method does not renew the token: the instance that renews a token must have it on its own disk before the hub gets it.
    /// - Throws: ``AskError`` if the hub refuses; ``TokenError`` if this plugin cannot decode the stored token.
    public func storedToken(of account: String) async throws -> OAuthToken? { try await tokens?(account) }
}

/// Identifies a hub and the epoch of its store.
public struct HubIdentity: Hashable, Sendable {
    /// A random identifier that never changes.
    public let id: String
    /// The epoch of the store; a restore changes it.
    public let epoch: String
    /// The newest sequence number when the session began.
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
    /// The settings, checked against the manifest, with defaults; they do not change while this process runs.
    public let settings: PluginSettings
    /// Key/value state and cursors of this instance, kept between runs; the spool lives in it too.
    public let state: PluginState
    /// Writes to stderr.
    ///
    /// Never give it a health value, a key or a secret.
    public let logger: Logger
    /// The connection to the hub; importers that this package shares with `hub import` use it to give records as text.
    package let link: HubLink
    private let lastGiven = Mutex(ContinuousClock.now)
    /// Counts log-ins during this process, for tasks that wait for one.
    let logIns = EventCounter()
    /// Token renewals in progress; stopping the plugin waits for them.
    let renewals = InFlight()

    init(kind: String, settings: PluginSettings, state: PluginState, logger: Logger, link: HubLink) {
        (self.instance, self.kind, self.settings) = (link.instance, kind, settings)
        (self.state, self.logger, self.link) = (state, logger, link)
    }

    /// The persons of the hub, as of its last WELCOME; empty before the first one.
    public var persons: [Welcome.PersonEntry] { link.terms.withLock { $0.persons } }

    /// The identity of the hub and its store, as of its last WELCOME; `nil` before the first one.
    public var identity: HubIdentity? { link.terms.withLock { $0.identity } }

    /// The clock that the hub and its plugins share, as of the last WELCOME; the machine's clock before the first one.
    ///
    /// Use it for every time that does not come from the device.
    public var clock: HubClock { link.clock }

    /// Whether the plugin has been asked to stop; its task is cancelled at that moment, too.
    public var isStopping: Bool { link.hasStopRequest.withLock { $0 } }

    /// Creates the source of this plugin's records.
    public func source(device: String? = nil, account: String? = nil) -> Source {
        Source(plugin: kind, device: device, account: account)
    }

    /// Requests a subscription again.
    ///
    /// After a failed log-in, the hub delivers nothing for the subscription until this call, a new session or a person allows it again.
    public func wantAgain(_ name: String) async { await link.wantAgain(name) }

    /// Calls ``SinkPlugin/wants(_:)`` again and applies the new subscriptions at the hub.
    ///
    /// A subscription that `wants` no longer returns stays at the hub and counts towards the limit of sixteen until a person removes it (`hub
    /// forget-sink`).
    /// - Throws: the error that ``SinkPlugin/wants(_:)`` throws; the subscriptions then stay unchanged.
    public func renewWants() async throws { try await link.renewWants() }

    /// The number of sessions that hubs have opened with this process (WELCOME).
    public var sessionCount: Int { link.openings.count }

    /// Returns when session number `known` + 1 or a later one is open; the hub, ``persons`` and ``clock`` may differ then.
    ///
    /// - Throws: `CancellationError`.
    public func untilSession(beyond known: Int) async throws { try await link.openings.wait(beyond: known) }

    /// Returns when the plugin has to stop.
    public func untilStopped() async {
        let (never, end) = AsyncStream<Void>.makeStream()
        for await _ in never {}
        end.finish()
    }

    /// Resumes everything that waits for a person to log in.
    func noteLogIn() async {
        logIns.note()
        await link.wantAllAgain()
    }

    func noteGiven() { lastGiven.withLock { $0 = .now } }

    /// Runs `body`, cancels it once nothing has been given for `time`, and returns when `body` has ended.
    ///
    /// - Throws: the error that `body` throws, except a `CancellationError` after idleness.
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
