/// The time limits of a host whose frames come as a stream of bytes, on a HS3 or HS4.
public struct HostTiming: Sendable, Hashable {
    /// The delay from the connection to the first command.
    ///
    /// The captures of a HS3 show about half a second.
    public var openAfter = Duration.milliseconds(500)
    /// The delay from a command to its first repetition.
    public var firstResend = Duration.milliseconds(800)
    /// The delay from one repetition to the next, and from the last one to giving up.
    public var nextResend = Duration.milliseconds(300)
    /// The number of repetitions of a command.
    public var resends = 3
    /// How long the next message of the dialogue may take.
    ///
    /// It is longer than the 4.8 s after which a HS3 repeats a frame.
    public var answerTimeout = Duration.seconds(6)
    /// How long a frame may stay incomplete before its bytes are dropped.
    public var partialFrameTimeout = Duration.seconds(1)
}
