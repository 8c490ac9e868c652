/// A line of a source's diary, written before it gives records and after they are confirmed.
public struct SourceLine: Codable, Sendable {
    public enum Event: String, Codable, Sendable {
        case started
        /// The source is about to give the records; after a kill it gives the same operation again.
        case giving
        /// Confirmed: by the hub, or by the spool, which must not lose the records from then on.
        case given
        /// The hub has confirmed everything up to this operation: the spool is empty.
        case emptied
        /// The source gives nothing more, and the hub has everything.
        case finished
    }

    public var at: Int64
    public var event: Event
    /// The number of this call of `give` or `store`.
    public var operation: Int64?
    public var steps: [Step]?
    /// The hub's answer to each step, if the source asks for answers.
    public var answers: [Answer]?

    public init(_ event: Event, operation: Int64? = nil, steps: [Step]? = nil, answers: [Answer]? = nil) {
        at = millisecondsNow()
        (self.event, self.operation) = (event, operation)
        (self.steps, self.answers) = (steps, answers)
    }

    public struct Answer: Codable, Hashable, Sendable {
        /// `stored`, `duplicate` or the code of a rejection.
        public var result: String
        public var number, seq: Int64?

        public init(result: String, number: Int64? = nil, seq: Int64? = nil) {
            (self.result, self.number, self.seq) = (result, number, seq)
        }
    }
}

/// One version of a record on its way to the hub.
public struct Step: Codable, Hashable, Sendable {
    public var key: String
    /// The number of this step among all of its key, from 1: the value of a put, the reason of a retraction.
    public var version: Int
    public var isRetraction: Bool

    public init(key: String, version: Int, isRetraction: Bool) {
        (self.key, self.version, self.isRetraction) = (key, version, isRetraction)
    }

    /// The type of the measurement; the second sink wants only step counts.
    public static func type(ofKey key: String) -> String { key.hasSuffix("s") ? "stepCount" : "flightsClimbed" }
}
