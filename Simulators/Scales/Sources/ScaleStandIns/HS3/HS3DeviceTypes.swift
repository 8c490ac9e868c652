public import ScaleProtocols

extension HS3Device {
    /// The properties of a HS3 that may differ between scales.
    public struct Profile: Sendable, Hashable {
        /// The form of the hour of a weighing.
        ///
        /// `auto` writes as sdk12.
        public var hourMode = HS3HourMode.sdk12
        /// The form of the hour of its clock.
        ///
        /// `nearest` writes as bcd24.
        public var clockMode = HS3ClockMode.bcd24
        /// The number of seconds by which its clock is ahead of the wall clock, until a host sets it.
        public var skewSeconds = 0
        /// The counter of its first frame.
        ///
        /// It starts at 0 after power-up and continues across connections.
        public var firstSequence: UInt8 = 0
        /// The number of weighings in its memory; the oldest one is replaced.
        public var memoryLimit = 200
        /// The delay after which it repeats an unacknowledged frame.
        ///
        /// One repetition was captured, after 4.8 s.
        public var repeatAfter = Duration.milliseconds(4800)

        /// A profile as captured.
        public init() {}
    }

    /// The faults to simulate.
    ///
    /// Numbers called *every* count from 1: 3 means the third, sixth, ninth…
    ///
    /// A frame that a fault has truncated or damaged is not acknowledged, so the scale repeats it without the fault.
    public struct Faults: Sendable, Hashable {
        /// Every n-th new frame of the scale is first sent with a wrong checksum.
        public var badChecksumEvery: Int?
        /// Every n-th command of the host is executed but not acknowledged.
        ///
        /// Its repetition is acknowledged.
        public var loseAcknowledgementEvery: Int?
        /// Every n-th new frame of the scale is sent twice with the same number.
        public var repeatEvery: Int?
        /// Every n-th frame of the host is ignored, including acknowledgements.
        public var deafEvery: Int?
        /// The next new frame of the scale stops after this many bytes; once.
        public var cutAt: Int?
        /// This many meaningless bytes, including head bytes, precede each frame.
        public var garbage = 0
        /// All output is split into chunks of this many bytes; simultaneous frames are joined first.
        public var pieces: Int?
        /// The battery falls out after this many records of a memory transfer; once.
        public var powerOffAfterRecords: Int?
        /// Every n-th record sent has a weight nibble above 9.
        public var badDigitEvery: Int?
        /// Every n-th record sent is dated month 0, day 0.
        public var zeroDateEvery: Int?
        /// The announced number of records, whatever the real one.
        public var announcedCount: UInt8?
        /// The weight in tenths of a kilogram of a weighing that happens as soon as a link is open, before any `23`; once.
        public var weighOnLink: Int?

        /// No faults.
        public init() {}
    }
}
