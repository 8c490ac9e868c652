/// One `[plugin.…]` of `hub.conf` and its three lamps.
public struct PluginStatus: Codable, Hashable, Sendable {
    public var name: String
    public var kind: String
    public var enabled: Bool
    public var executable: String?
    /// Whether it runs on another machine and comes with a key.
    public var remote: Bool?
    public var state: InstanceState
    /// Seconds until it is started again; absent if it will not be.
    public var restartIn: Double?
    /// When its program runs, if not always: `immediate`, `hourly`, `daily`, `weekly`.
    public var run: String?
    /// Of such a program: its last start, and the earliest time of its next start, RFC 3339.
    public var lastRun: String?
    public var nextRun: String?
    /// Process id while it runs.
    public var pid: Int?
    /// Whether it runs and has a session.
    public var alive: Bool
    /// Whether it gave a record within the last day by the hub's clock; absent until it gave one.
    public var fresh: Bool?
    /// Whether all subscriptions are well (``SinkStatus/isWell``); absent for a plugin without subscriptions.
    public var delivering: Bool?
    /// Processes started after the first.
    public var restarts: Int
    public var lastError: String?
    /// Whether it has reported an error, of itself or a device, that is not resolved; absent if it has not.
    public var hasError: Bool?
    /// One line if something is wrong: the problem and the remedy, with the command; follows the name.
    public var advice: String?
    /// Its log-ins; absent if it has none.
    public var tokens: [TokenStatus]?
    /// Whether it runs with its former settings because it failed with those of `hub.conf`.
    public var isFallback: Bool?
    /// When it last gave a record, RFC 3339.
    public var lastRecord: String?
    /// Records it gave since the hub started.
    public var records: Int64
    public var sessions: Int

    /// Whether it runs and has a session, or needs none now.
    public var isUp: Bool { alive || state == .finished || state == .resting }

    /// - Parameter fault: why it cannot be started at all.
    package init(name: String, kind: String, enabled: Bool, executable: String?, fault: String? = nil) {
        (self.name, self.kind, self.enabled, self.executable) = (name, kind, enabled, executable)
        (lastError, alive, restarts, records, sessions) = (fault, false, 0, 0, 0)
        state = !enabled ? .disabled : fault == nil ? .stopped : .failed
        advice = fault.map { "\($0); then hub apply" }
    }
}

/// The state of a plugin's account: the status of its token in `hub status`, never the token.
public struct TokenStatus: Codable, Hashable, Sendable {
    /// A newer hub may have further words.
    public struct State: RawRepresentable, Codable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It can be used, or the plugin can refresh it.
        public static let valid = State(rawValue: "valid")
        /// The service could not be reached for a new one; the plugin retries.
        public static let failing = State(rawValue: "failing")
        /// It has expired and cannot be refreshed.
        public static let expired = State(rawValue: "expired")
        /// The service requires a person to log in again.
        public static let refused = State(rawValue: "refused")
        /// No account is logged in.
        public static let missing = State(rawValue: "missing")
    }

    public var account: String
    /// The name of the account as the person knows it; absent if the plugin does not report it.
    public var user: String?
    public var state: State
    /// How long the token is valid, RFC 3339; absent if the token does not contain it.
    public var expires: String?
    /// When the hub got it, at a log-in or a refresh, RFC 3339.
    public var refreshed: String?
    /// Why the last refresh failed.
    public var failure: String?
    /// The problem with its remedy; absent if all is well.
    ///
    /// It follows the account's name.
    public var advice: String?

    /// Whether a person has to log in.
    public var needsLogIn: Bool { state == .expired || state == .refused || state == .missing }

    package init(
        account: String, user: String?, state: State, expires: String?, refreshed: String?, failure: String?,
        advice: String?
    ) {
        (self.account, self.user, self.state, self.advice) = (account, user, state, advice)
        (self.expires, self.refreshed, self.failure) = (expires, refreshed, failure)
    }
}

/// The state of an instance's process; a newer hub may have further words.
public struct InstanceState: RawRepresentable, Codable, Hashable, Sendable, CaseIterable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Disabled in `hub.conf`.
    public static let disabled = InstanceState(rawValue: "disabled")
    /// Started, and has not greeted the hub yet.
    public static let starting = InstanceState(rawValue: "starting")
    /// Has greeted the hub.
    public static let running = InstanceState(rawValue: "running")
    /// Its process runs without a session.
    public static let silent = InstanceState(rawValue: "silent")
    /// Asked to end.
    public static let ending = InstanceState(rawValue: "ending")
    /// Ended; will be started again after a pause.
    public static let restarting = InstanceState(rawValue: "restarting")
    /// Crashed too often; waits for `hub release`.
    public static let quarantined = InstanceState(rawValue: "quarantined")
    /// Cannot run in its present condition; a person has to correct it.
    public static let failed = InstanceState(rawValue: "failed")
    /// Ended on its own with nothing more to do.
    public static let finished = InstanceState(rawValue: "finished")
    /// Runs on a schedule (`run` in its section), and not now.
    public static let resting = InstanceState(rawValue: "resting")
    /// On another machine, without a session.
    public static let away = InstanceState(rawValue: "away")
    /// Not started, or ended with the hub.
    public static let stopped = InstanceState(rawValue: "stopped")

    public static let allCases: [InstanceState] = [
        disabled, starting, running, silent, ending, restarting, quarantined, failed, finished, resting, away, stopped,
    ]
}
