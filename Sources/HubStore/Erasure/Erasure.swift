/// Which records are to be erased.
public enum ErasureSelection: Hashable, Sendable {
    /// Those of these numbers, and of a correlation or workout its group with it.
    case numbers([Int64])
    /// Those that a question finds in the order of time, retracted ones included; its kinds, order and limit are not used.
    case matching(RecordQuery)
}

/// What an erasure would take away.
public struct ErasurePlan: Hashable, Sendable {
    public var records: Int64 = 0
    /// Current and superseded ones.
    public var versions: Int64 = 0
    /// About how many bytes they and their payloads take.
    public var bytes: Int64 = 0
    /// How many of the records each sink has, or may have, by the sinks' names; it is told that they are gone.
    public var sinks: [SinkID: Int64] = [:]
    /// Numbers that were asked for and are of no record, or of one that was erased before.
    public var unknown: [Int64] = []
    /// The first number that a record had: a backup of this epoch with a lower head has none of them.
    public var first: Int64 = .max
}

/// A record that could not be erased, or an erased one of which the identity could not be taken away, and why not.
public struct ErasureFault: Hashable, Sendable {
    public var number: Int64
    public var reason: String

    /// The code with which a record is rejected that could not be erased.
    public static let code = "failed"
}

/// How far an erasure has come.
public struct ErasureState: Hashable, Sendable {
    public enum Stage: Int64, Hashable, Sendable {
        /// Being chosen: nothing has begun.
        case choosing
        case records
        /// Words and names that erased records alone had.
        case words
        /// What the log and older copies of the store hold.
        case files
    }

    public var stage: Stage
    public var total: Int64
    public var left: Int64
}
