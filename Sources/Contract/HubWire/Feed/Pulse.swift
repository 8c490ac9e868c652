/// The body of `hub/pulse/` (Protocol §7.1): the state of the store.
public struct Pulse: Hashable, Sendable, Codable {
    public var epoch: String
    public var head: Int64
    /// By the hub's clock, RFC 3339.
    public var time: String

    public init(epoch: String, head: Int64, time: String) { (self.epoch, self.head, self.time) = (epoch, head, time) }
}
