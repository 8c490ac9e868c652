/// What a sink writes down: what it was handed, before it does anything with it, and what it answers, before it answers.
public struct SinkLine: Codable, Sendable {
    public enum Event: String, Codable, Sendable {
        case started
        case begin
        case end
        /// Asks for its subscription once more, which makes open deliveries void.
        case again
    }

    public var at: Int64
    public var event: Event
    public var pid: Int32
    /// Counts the deliveries of this process.
    public var delivery: Int?
    public var records: [Got]?
    public var answers: [Answer]?

    public init(_ event: Event, pid: Int32, delivery: Int? = nil, records: [Got]? = nil, answers: [Answer]? = nil) {
        at = millisecondsNow()
        (self.event, self.pid, self.delivery) = (event, pid, delivery)
        (self.records, self.answers) = (records, answers)
    }

    /// A record as it was handed over.
    public struct Got: Codable, Hashable, Sendable {
        public var epoch: String
        public var number, seq: Int64
        /// Tells whose source it is.
        public var device: String
        public var step: Step
        public var type: String

        public init(epoch: String, number: Int64, seq: Int64, device: String, step: Step, type: String) {
            (self.epoch, self.number, self.seq) = (epoch, number, seq)
            (self.device, self.step, self.type) = (device, step, type)
        }
    }

    public struct Answer: Codable, Hashable, Sendable {
        public enum Result: String, Codable, Sendable { case delivered, retry, refused, unauthorized }
        public var result: Result
        public var reason: String?

        public init(_ result: Result, _ reason: String? = nil) { (self.result, self.reason) = (result, reason) }
    }
}
