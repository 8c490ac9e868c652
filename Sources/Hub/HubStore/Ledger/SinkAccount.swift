public import Samples

/// Counts of the versions that a sink wanted, by their state.
///
/// Each change is part of the transaction that causes it.
///
/// `wanted = delivered + pending + retrying + refused + superseded + skipped`, at every instant.
public struct SinkAccount: Hashable, Sendable {
    /// Versions that matched when they were stored, or when the sink was opened from an earlier start, and replayed versions.
    public var wanted: Int64 = 0
    public var delivered: Int64 = 0
    /// To be delivered, for the first time or by a replay.
    ///
    /// Includes versions in transit.
    public var pending: Int64 = 0
    /// To be delivered again, because the sink asked for it or its authorisation is missing.
    public var retrying: Int64 = 0
    public var refused: Int64 = 0
    /// Replaced by a newer version before they were delivered.
    public var superseded: Int64 = 0
    /// Not offered, because the sink cannot take them or may not receive them.
    public var skipped: Int64 = 0

    init() {}
}

/// Why a version is not offered to a sink that wants it.
public enum SkipReason: Int64, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// The version came from the sink's own target.
    case own = 1
    /// The sink takes no new versions of records that it has.
    case edit
    /// The sink takes no deletions.
    case deletion
    /// The sink takes no values that were not measured.
    case filled
    /// The sink takes no values of past days.
    case past
    /// The version retracts a record that the sink never received.
    case neverDelivered
    /// The sink's filter was changed and now excludes the version.
    case filter
    /// The version is older than the sink may read.
    case withheld

    /// A short description for people.
    public var description: String {
        switch self {
        case .own: "it came from there"
        case .edit: "it takes no edits"
        case .deletion: "it takes no deletions"
        case .filled: "it takes no filled values"
        case .past: "it takes no past dates"
        case .neverDelivered: "it never got the record that this takes back"
        case .filter: "it does not want this any more"
        case .withheld: "it is older than it may read"
        }
    }
}

/// The state of a sink.
public struct SinkState: Hashable, Sendable {
    public var id: SinkID
    /// Every version up to here is settled: delivered, or an exception with its own row.
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
    /// Whether versions matched by its start or a new filter are still being counted.
    ///
    /// `wanted` and `pending` are then too low.
    public var isCounting: Bool
    /// The number of sequence numbers between the cursor and the head of the store, wanted or not.
    public var lag: Int64
    /// When the oldest undelivered record was stored.
    public var oldestPending: Int64?
    /// When the next retry is due, by the clock of waits.
    public var nextRetry: Int64?
    public var lastDelivered: Int64?
    public var lastFailure: Failure?
    /// The number of skipped versions, by reason.
    public var skips: [SkipReason: Int64]

    /// The last failure, with the sink's message.
    public struct Failure: Hashable, Sendable {
        public var at: Int64
        public var reason: String
    }
}
