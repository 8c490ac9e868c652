extension HS3Host {
    /// What may differ between scales, and how long the host waits.
    ///
    /// The defaults are for a real scale.
    public struct Settings: Sendable, Hashable {
        /// How the hour of a weighing is read.
        public var hourMode = HS3HourMode.sdk12
        /// How the hour of the scale's clock is read.
        public var clockMode = HS3ClockMode.nearest
        /// Whether the scale's clock is set to the host's when a session opens.
        ///
        /// The vendor's software always does. No capture shows a session without.
        public var setsClock = true
        /// Error byte → vendor's number.
        public var errors = ScaleError.defaultTable(of: .hs3)
        /// The time sent with `25`.
        ///
        /// The scale sends its whole memory whatever it says; nil sends the vendor's default, 2011-01-02 12:12:12.
        public var lastKnown: WallTime?
        /// From the connection to the first command.
        ///
        /// The captures show about half a second.
        public var openAfter = Duration.milliseconds(500)
        /// From a command to its first repeat.
        public var firstResend = Duration.milliseconds(800)
        /// From one repeat to the next, and from the last one to giving up.
        public var nextResend = Duration.milliseconds(300)
        /// How often a command is repeated.
        public var resends = 3
        /// How long an unanswered `23` is given before a scale that only sends weights is taken as it is.
        public var openTimeout = Duration.seconds(3)
        /// How long the next frame of the dialogue may take.
        ///
        /// More than the 4.8 s after which the scale repeats one.
        public var answerTimeout = Duration.seconds(6)
        /// How long a frame may stop half-way before what is there of it is given up.
        public var partialFrameTimeout = Duration.seconds(1)

        /// The defaults.
        public init() {}
    }
}
