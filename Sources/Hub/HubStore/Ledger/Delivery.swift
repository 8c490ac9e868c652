public import Samples

/// The maximum size of one page of deliveries.
public struct DeliveryLimits: Hashable, Sendable {
    /// Maximum number of records: at least 1, at most 1,000.
    public var records: Int
    /// Approximate number of bytes after which a page ends.
    ///
    /// The first record is returned regardless of its size.
    public var bytes: Int
    /// Microseconds since 1970.
    ///
    /// Records that ended earlier are skipped; nil skips none.
    public var since: Int64?

    public init(records: Int, bytes: Int = RecordQuery.pageBytes) { (self.records, self.bytes) = (records, bytes) }
}

/// The next records for a sink.
public struct DeliveryPage: Hashable, Sendable {
    /// The latest versions.
    ///
    /// A record that has left the sink's filter is returned as a retraction.
    public var records: [StoredRecord]
    /// The last sequence number that was examined: `after` of the next call.
    public var position: Int64
    /// Whether more records may be available now.
    ///
    /// A page may be empty and still have more.
    public var hasMore: Bool
    /// When the next retry that is not due yet will be due, by the clock of waits.
    public var nextDue: Int64?
    /// Why the page is empty although records may be waiting: the sink's authorisation is missing.
    public var paused: String?
    /// Versions up to this sequence number may have been handed out before this page without a known answer; `.max` if another page of
    /// the sink was being read.
    public var givenBefore: Int64
    /// Numbers of records found by their delivery row, which stores whether they were handed out before.
    public var fromRows: Set<Int64> = []

    /// Whether a version may have been handed out before without an answer, although no row shows it.
    ///
    /// - Parameter before: ``givenBefore`` of the first page since the sink was opened.
    public func isRepeat(_ record: StoredRecord, givenBefore before: Int64) -> Bool {
        record.sequence <= before && !fromRows.contains(record.number)
    }
}

/// The result of a sink for a record.
public enum SinkResult: Hashable, Sendable {
    /// The sink has the record; `receipt` is the target's own name for it.
    case delivered(receipt: String? = nil)
    /// Offer the record again at a time by the clock of waits, in microseconds.
    case retry(at: Int64, reason: String)
    /// The sink will never take this version.
    case refused(reason: String)
    /// The sink's authorisation is missing. The whole sink waits until it is opened again or resumed.
    case unauthorized(reason: String)
}

/// A sink's answer about one version.
public struct SinkAnswer: Hashable, Sendable {
    public var number: Int64
    /// The version that was delivered.
    public var sequence: Int64
    public var result: SinkResult
    /// Whether the same version may have been handed out before without an answer, from after the cursor.
    ///
    /// The target may then have it, whatever its answer to the second attempt is.
    public var isRepeat: Bool

    public init(number: Int64, sequence: Int64, result: SinkResult, isRepeat: Bool = false) {
        (self.number, self.sequence, self.result, self.isRepeat) = (number, sequence, result, isRepeat)
    }
}

/// Answers of one sink, settled in one transaction with those of other sinks.
public struct SinkSettlement: Hashable, Sendable {
    public var sink: SinkID
    public var answers: [SinkAnswer]
    /// Every sequence number up to here was examined and is not in transit once the answers are settled.
    ///
    /// One less than the lowest sequence number handed out after the position without an answer, or the position itself if there is none.
    public var reached: Int64

    public init(sink: SinkID, answers: [SinkAnswer], reached: Int64) {
        (self.sink, self.answers, self.reached) = (sink, answers, reached)
    }
}

/// The state of a record at one sink.
public struct SinkDelivery: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case pending
        /// The record will be offered again at a time by the clock of waits, in microseconds.
        case retrying(at: Int64, reason: String)
        /// The record waits with the whole sink for its authorisation.
        case unauthorized(reason: String)
        case delivered
        case refused(reason: String)
        /// A newer version, which the sink does not want, replaced this one before it was delivered.
        case superseded
        case skipped(SkipReason)
    }

    /// A version that the sink has confirmed.
    public struct Receipt: Hashable, Sendable {
        public var sequence: Int64
        /// The receipt, if the sink gave one.
        public var receipt: String?
        /// When the hub received the confirmation, in microseconds since 1970; `nil` if only the cursor shows it.
        public var at: Int64?
    }

    public var sink: SinkID
    public var state: State
    /// The version to which `state` applies.
    public var sequence: Int64
    /// When the sink or the hub decided so, in microseconds since 1970; `nil` if only the cursor shows it.
    public var at: Int64?
    /// The number of failed attempts to deliver this version.
    public var attempts: Int64
    /// The last confirmation of the sink, of this version or an older one.
    public var receipt: Receipt?
}
