public import Samples

/// How much one page of deliveries may hold.
public struct DeliveryLimits: Hashable, Sendable {
    /// At least 1; a page never holds more than 1,000.
    public var records: Int
    /// About how many bytes end a page; one record is always given.
    public var bytes: Int
    /// Microseconds since 1970: what ended before it is skipped; nil: nothing is.
    public var since: Int64?

    public init(records: Int, bytes: Int = RecordQuery.pageBytes) { (self.records, self.bytes) = (records, bytes) }
}

/// What a sink is to be sent next.
public struct DeliveryPage: Hashable, Sendable {
    /// The latest versions; a record that has left the sink's filter comes as a retraction.
    public var records: [StoredRecord]
    /// The last sequence that was looked at: `after` of the next call.
    public var position: Int64
    /// Whether there may be more at once; a page may be empty and yet have more.
    public var hasMore: Bool
    /// When a retry that is not due yet is, by the clock of waits.
    public var nextDue: Int64?
    /// Why nothing is given although something may wait: the sink's authorisation is missing.
    public var paused: String?
    /// Up to where versions may have been given out before this page, without an answer that is known; `.max` where another page of
    /// the sink was being read.
    public var givenBefore: Int64
    /// Numbers of those that were found by their row, where it is written whether they were given out before.
    public var fromRows: Set<Int64> = []

    /// Whether a version may have been given out before without an answer, of which no row tells.
    ///
    /// - Parameter before: ``givenBefore`` of the first page since the sink was opened.
    public func isRepeat(_ record: StoredRecord, givenBefore before: Int64) -> Bool {
        record.sequence <= before && !fromRows.contains(record.number)
    }
}

/// What a sink did with a record.
public enum SinkResult: Hashable, Sendable {
    /// It has it; `receipt` is the target's own name for what it made of it.
    case delivered(receipt: String? = nil)
    /// Offer it again at a time by the clock of waits, in microseconds.
    case retry(at: Int64, reason: String)
    /// It will never take this version.
    case refused(reason: String)
    /// Its authorisation is missing: the whole sink waits until it is opened again or resumed.
    case unauthorized(reason: String)
}

/// A sink's answer about one version.
public struct SinkAnswer: Hashable, Sendable {
    public var number: Int64
    /// The version that was delivered.
    public var sequence: Int64
    public var result: SinkResult
    /// Whether the same version may have been given out before, from after the cursor, and was not answered then: the target may have
    /// it, whatever it says of the second time.
    public var isRepeat: Bool

    public init(number: Int64, sequence: Int64, result: SinkResult, isRepeat: Bool = false) {
        (self.number, self.sequence, self.result, self.isRepeat) = (number, sequence, result, isRepeat)
    }
}

/// Answers of one sink, settled in one transaction with those of others.
public struct SinkSettlement: Hashable, Sendable {
    public var sink: SinkID
    public var answers: [SinkAnswer]
    /// Every sequence up to here was looked at and is not on its way once the answers are settled.
    ///
    /// One less than the lowest sequence that was given after the position and has no answer, or the position itself when there is none.
    public var reached: Int64

    public init(sink: SinkID, answers: [SinkAnswer], reached: Int64) {
        (self.sink, self.answers, self.reached) = (sink, answers, reached)
    }
}

/// How a record stands with one sink.
public struct SinkDelivery: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case pending
        /// To be offered again at a time by the clock of waits, in microseconds.
        case retrying(at: Int64, reason: String)
        /// Waits with the whole sink for its authorisation.
        case unauthorized(reason: String)
        case delivered
        case refused(reason: String)
        /// Replaced by a newer version, which the sink does not want, before it was delivered.
        case superseded
        case skipped(SkipReason)
    }

    /// A version that the sink has confirmed.
    public struct Receipt: Hashable, Sendable {
        public var sequence: Int64
        /// Where the sink gave one.
        public var receipt: String?
        /// When the hub learnt of it, in microseconds since 1970; `nil` where only the cursor says so.
        public var at: Int64?
    }

    public var sink: SinkID
    public var state: State
    /// The version that `state` is of.
    public var sequence: Int64
    /// When the sink or the hub decided so, in microseconds since 1970; `nil` where only the cursor says so.
    public var at: Int64?
    /// How often the sink was offered this version in vain.
    public var attempts: Int64
    /// What the sink confirmed last, of this version or an older one.
    public var receipt: Receipt?
}
