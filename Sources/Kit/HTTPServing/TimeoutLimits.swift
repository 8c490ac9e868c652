public import NIOCore

/// The time limits of a connection.
public struct TimeoutLimits: Sendable {
    public var head = TimeAmount.seconds(10)
    /// Maximum time between two requests.
    public var idle = TimeAmount.seconds(75)
    public var body = TimeAmount.seconds(120)
    /// How often the speed of a body is checked.
    public var pace = TimeAmount.seconds(10)
    /// Minimum number of bytes in that time.
    public var bytes = 10_240
    /// How long the client may take to read the last response.
    public var farewell = TimeAmount.seconds(1)

    public init() {}
}
