/// What a source writes down: before it gives something, and after that was confirmed.
public struct SourceLine: Codable, Sendable {
    public enum Event: String, Codable, Sendable {
        case started
        /// About to be given; after a kill the same operation is given again.
        case giving
        /// Confirmed: by the hub, or by the spool, which must never lose it from then on.
        case given
        /// All up to this operation is confirmed by the hub: the spool is empty.
        case emptied
        /// Nothing more will be given, and all is with the hub.
        case finished
    }

    public var at: Int64
    public var event: Event
    /// Counts the calls of `give` or `store`.
    public var operation: Int64?
    public var steps: [Step]?
    /// What the hub answered to each step, where the source asks for that.
    public var answers: [Answer]?

    public init(
        _ event: Event, operation: Int64? = nil, steps: [Step]? = nil, answers: [Answer]? = nil
    ) {
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
    /// Counts what the source has ever said of this key, from 1: the value of a put, the reason of a retraction.
    public var version: Int
    public var isRetraction: Bool

    public init(key: String, version: Int, isRetraction: Bool) {
        (self.key, self.version, self.isRetraction) = (key, version, isRetraction)
    }

    /// What is measured; the second sink wants only the one.
    public static func type(ofKey key: String) -> String { key.hasSuffix("s") ? "stepCount" : "flightsClimbed" }
}
