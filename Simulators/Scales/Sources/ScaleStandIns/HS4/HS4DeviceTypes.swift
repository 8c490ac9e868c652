public import ScaleProtocols

extension HS4Device {
    /// How a scale may differ.
    public struct Profile: Sendable, Hashable {
        public var link = HS4Host.Settings.Link.lowEnergy
        /// What its log-in wants; nil: it lets every program in.
        public var key: ScaleKey?
        public var identity = ScaleIdentity(
            protocolName: "com.jiuan.BWSV01", name: "Body Scale", firmware: "1.0.1", hardware: "1.0.0",
            manufacturer: "iHealth", model: "HS4 11070")
        public var skewSeconds = 0
        public var memoryLimit = 200
        /// Whether the reply that says "no more" holds a record itself.
        public var tailHoldsRecord = true
        /// After how long it repeats what was not acknowledged.
        public var repeatAfter = Duration.seconds(1)

        public init() {}
    }

    /// What can be made to go wrong; *every* counts from 1.
    public struct Faults: Sendable, Hashable {
        /// Every n-th message of the host is not heard.
        public var deafEvery: Int?
        /// Every n-th message is first sent with a wrong checksum in its last frame.
        public var badChecksumEvery: Int?
        /// Every n-th message is sent twice with the same number.
        public var repeatEvery: Int?
        /// Every n-th message of several pieces lacks its first one the first time.
        public var losePieceEvery: Int?
        /// Every n-th message of several pieces comes backwards.
        public var shuffleEvery: Int?
        /// This many bytes that mean nothing come before each message.
        public var garbage = 0
        /// Everything is written in pieces of this many bytes.
        public var pieces: Int?
        /// The battery falls out after this many records of a transfer; once.
        public var powerOffAfterRecords: Int?
        /// The log-in is refused.
        public var refusesLogIn = false
        /// The scale asks this often to begin the log-in again.
        public var logInAgain = 0
        /// It does not answer the log-in at all.
        public var ignoresLogIn = false
        /// It refuses to measure.
        public var refusesMeasurement = false

        public init() {}
    }
}
