public import ScaleProtocols

extension HS3Device {
    /// What an HS3 is like, as far as scales may differ.
    public struct Profile: Sendable, Hashable {
        /// How it writes the hour of a weighing.
        ///
        /// `auto` writes as sdk12.
        public var hourMode = HS3HourMode.sdk12
        /// How it writes the hour of its clock.
        ///
        /// `nearest` writes as bcd24.
        public var clockMode = HS3ClockMode.bcd24
        /// By how many seconds its clock is ahead of the wall clock, until a host sets it.
        public var skewSeconds = 0
        /// The counter of its first frame.
        ///
        /// It starts at 0 after power-up and goes on across connections.
        public var firstSequence: UInt8 = 0
        /// How many weighings its memory holds; the oldest gives way.
        public var memoryLimit = 200
        /// After how long it repeats an unacknowledged frame.
        ///
        /// One repeat was captured, after 4.8 s.
        public var repeatAfter = Duration.milliseconds(4800)

        /// A profile as captured.
        public init() {}
    }

    /// Everything that can be made to go wrong.
    ///
    /// Numbers called *every* count from 1: 3 means the third, sixth, ninth…
    ///
    /// A frame whose bytes a fault has cut or damaged gets no acknowledgement, so the scale repeats it, and then
    /// sound.
    public struct Faults: Sendable, Hashable {
        /// Every n-th new frame of the scale is first sent with a wrong checksum.
        public var badChecksumEvery: Int?
        /// Every n-th command of the host is obeyed but not acknowledged.
        ///
        /// Its repeat is.
        public var loseAcknowledgementEvery: Int?
        /// Every n-th new frame of the scale is sent twice with the same number.
        public var repeatEvery: Int?
        /// Every n-th frame of the host is not heard, acknowledgements included.
        public var deafEvery: Int?
        /// The next new frame of the scale stops after this many bytes; once.
        public var cutAt: Int?
        /// This many bytes that mean nothing, head bytes among them, come before each frame.
        public var garbage = 0
        /// Everything is written in pieces of this many bytes; frames sent at one moment are joined first.
        public var pieces: Int?
        /// The battery falls out after this many records of a memory transfer; once.
        public var powerOffAfterRecords: Int?
        /// Every n-th record sent has a weight nibble above 9.
        public var badDigitEvery: Int?
        /// Every n-th record sent is dated month 0, day 0.
        public var zeroDateEvery: Int?
        /// Memory counts are announced as this, whatever is sent.
        public var announcedCount: UInt8?
        /// A weighing takes place as soon as a link is open, before any `23`: its weight in tenths of a kilogram;
        /// once.
        public var weighOnLink: Int?

        /// No faults.
        public init() {}
    }
}
