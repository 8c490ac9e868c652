public import NIOCore

/// How long is waited for what of a connection.
public struct PatienceLimits: Sendable {
    public var head = TimeAmount.seconds(10)
    /// Between two requests.
    public var idle = TimeAmount.seconds(75)
    public var body = TimeAmount.seconds(120)
    /// How often the speed of a body is looked at.
    public var pace = TimeAmount.seconds(10)
    /// Bytes in that time at least.
    public var bytes = 10_240
    /// How long the other side may take to read the last answer.
    public var farewell = TimeAmount.seconds(1)

    public init() {}
}
