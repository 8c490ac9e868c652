/// A line of a sink's diary: the records it received, before it handles them, and its answers, before it sends them.
public struct SinkLine: Codable, Sendable {
    public enum Event: String, Codable, Sendable {
        case started
        case begin
        case end
        /// Asks for its subscription again, which makes open deliveries void.
        case again
    }

    public var at: Int64
    public var event: Event
    public var pid: Int32
    /// The number of this delivery in its process.
    public var delivery: Int?
    public var records: [Got]?
    public var answers: [Answer]?

    public init(_ event: Event, pid: Int32, delivery: Int? = nil, records: [Got]? = nil, answers: [Answer]? = nil) {
        at = millisecondsNow()
        (self.event, self.pid, self.delivery) = (event, pid, delivery)
        (self.records, self.answers) = (records, answers)
    }

    /// A record as the sink received it.
    public struct Got: Codable, Hashable, Sendable {
        public var epoch: String
        public var number, seq: Int64
        /// The device, which identifies the source.
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
