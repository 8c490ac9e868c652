public import Samples

/// What became of the versions a sink wanted, kept in the transactions that change it.
///
/// `wanted = delivered + pending + retrying + refused + superseded + skipped`, at every instant.
public struct SinkAccount: Hashable, Sendable {
    /// Versions that matched when they were stored, or when the sink was opened from an earlier start, and those replayed.
    public var wanted: Int64 = 0
    public var delivered: Int64 = 0
    /// To be delivered, for the first time or by a replay; also what is on its way.
    public var pending: Int64 = 0
    /// To be delivered again, because the sink asked for it or its authorisation is missing.
    public var retrying: Int64 = 0
    public var refused: Int64 = 0
    /// Replaced by a newer version before they were delivered.
    public var superseded: Int64 = 0
    /// Not offered, because the sink cannot take them or must not get them.
    public var skipped: Int64 = 0

    init() {}
}

/// Why a version is not offered to a sink that wants it.
public enum SkipReason: Int64, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// It came from the sink's own target.
    case own = 1
    /// The sink takes no new version of what it has.
    case edit
    /// The sink takes no deletions.
    case deletion
    /// The sink takes no values that were not measured.
    case filled
    /// The sink takes no values of days that are over.
    case past
    /// It retracts what the sink never got.
    case neverDelivered
    /// The sink's filter was changed and leaves it out.
    case filter
    /// It is older than the sink may read.
    case withheld

    /// A few words for people.
    public var description: String {
        switch self {
        case .own: "it came from there"
        case .edit: "it takes no edits"
        case .deletion: "it takes no deletions"
        case .filled: "it takes no filled values"
        case .past: "it takes no past dates"
        case .neverDelivered: "it never got what this takes back"
        case .filter: "it does not want this any more"
        case .withheld: "it is older than it may read"
        }
    }
}

/// A sink as it stands.
public struct SinkState: Hashable, Sendable {
    public var id: SinkID
    /// Everything up to here is settled: delivered, or an exception with a row of its own.
    public var cursor: Cursor
    public var account: SinkAccount
    /// Why all deliveries wait, if they do: the sink's authorisation is missing.
    public var paused: String?
}

/// A sink as `hub status` shows it.
///
/// Times are microseconds since 1970.
public struct SinkOverview: Hashable, Sendable {
    public var state: SinkState
    public var terms: SinkTerms
    public var openedAt: Int64
    /// Whether what its start or a new filter has made wanted is still being counted: `wanted` and `pending` are too low.
    public var isCounting: Bool
    /// Sequences between the cursor and the head of the store, wanted or not.
    public var lag: Int64
    /// When the oldest record that is still to be delivered was stored.
    public var oldestPending: Int64?
    /// When the next retry is due, by the clock of waits.
    public var nextRetry: Int64?
    public var lastDelivered: Int64?
    public var lastFailure: Failure?
    /// How many were skipped, by reason.
    public var skips: [SkipReason: Int64]

    /// What went wrong last, in the sink's words.
    public struct Failure: Hashable, Sendable {
        public var at: Int64
        public var reason: String
    }
}
