public import HubWire

/// The records to erase.
public enum ErasureSelection: Hashable, Sendable {
    /// Records with these numbers. The group of a correlation or workout is included.
    case numbers([Int64])
    /// Records found by a query in order of time, including retracted ones. The query's kinds, order and limit are ignored.
    case matching(RecordQuery)
}

/// The effect of an erasure before it is carried out.
public struct ErasurePlan: Hashable, Sendable {
    public var records: Int64 = 0
    /// Current and superseded versions.
    public var versions: Int64 = 0
    /// Approximate size of the records and their payloads.
    public var bytes: Int64 = 0
    /// How many of the records each sink has or may have, by sink name.
    ///
    /// These sinks are notified that the records are gone.
    public var sinks: [SinkID: Int64] = [:]
    /// Requested numbers that belong to no record, or to one erased earlier.
    public var unknown: [Int64] = []
    /// The lowest sequence number under which one of the records was first stored.
    ///
    /// A backup of this epoch with a lower head has none of them.
    public var first: Int64 = .max
}

/// A record that could not be erased, or an erased record whose identity could not be removed, with the reason.
public struct ErasureFault: Hashable, Sendable {
    public var number: Int64
    public var reason: String

    /// The rejection code of a record that could not be erased.
    public static let code = RecordRejection.Code(received: "failed")
}

/// The progress of an erasure.
public struct ErasureState: Hashable, Sendable {
    public enum Stage: Int64, Hashable, Sendable {
        /// The records are being chosen; no record is erased yet.
        case choosing
        case records
        /// Removing words and names that only erased records used.
        case words
        /// Removing erased data from the log and from older copies of the store.
        case files
    }

    public var stage: Stage
    public var total: Int64
    public var left: Int64
}
