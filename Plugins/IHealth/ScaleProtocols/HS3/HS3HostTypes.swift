extension HS3Host {
    /// Settings that may differ between scales, and the host's time limits.
    ///
    /// The defaults are for a real scale.
    public struct Settings: Sendable, Hashable {
        /// The interpretation of the hour of a weighing.
        public var hourMode = HS3HourMode.sdk12
        /// The interpretation of the hour of the scale's clock.
        public var clockMode = HS3ClockMode.nearest
        /// Whether the scale's clock is set to the host's when a session opens.
        ///
        /// The vendor's software always sets it. No capture shows a session in which it does not.
        public var setsClock = true
        /// Maps error bytes to the vendor's numbers.
        public var errors = ScaleError.defaultTable(of: .hs3)
        /// The time sent with `25`.
        ///
        /// The scale sends its whole memory whatever the value; `nil` sends the vendor's default, 2011-01-02 12:12:12.
        public var lastKnown: WallTime?
        /// The delay from the connection to the first command.
        ///
        /// The captures show about half a second.
        public var openAfter = Duration.milliseconds(500)
        /// The delay from a command to its first repetition.
        public var firstResend = Duration.milliseconds(800)
        /// The delay from one repetition to the next, and from the last one to giving up.
        public var nextResend = Duration.milliseconds(300)
        /// The number of repetitions of a command.
        public var resends = 3
        /// How long an unanswered `23` may take before a scale that only sends weights is accepted as it is.
        public var openTimeout = Duration.seconds(3)
        /// How long the next frame of the dialogue may take.
        ///
        /// It is longer than the 4.8 s after which the scale repeats a frame.
        public var answerTimeout = Duration.seconds(6)
        /// How long a frame may stay incomplete before its bytes are dropped.
        public var partialFrameTimeout = Duration.seconds(1)

        /// The defaults.
        public init() {}
    }
}
