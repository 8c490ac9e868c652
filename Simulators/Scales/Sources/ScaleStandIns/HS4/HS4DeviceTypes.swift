public import ScaleProtocols

extension HS4Device {
    /// The properties that may differ between scales.
    public struct Profile: Sendable, Hashable {
        public var link = HS4Host.Settings.Link.lowEnergy
        /// The key for its log-in; `nil` to accept every program.
        public var key: ScaleKey?
        public var identity = ScaleIdentity(
            protocolName: "com.jiuan.BWSV01", name: "Body Scale", firmware: "1.0.1", hardware: "1.0.0",
            manufacturer: "iHealth", model: "HS4 11070")
        public var skewSeconds = 0
        public var memoryLimit = 200
        /// Whether the reply that ends the memory contains a record.
        public var tailHoldsRecord = true
        /// The delay after which it repeats unacknowledged messages.
        public var repeatAfter = Duration.seconds(1)

        public init() {}
    }

    /// The faults to simulate; *every* counts from 1.
    public struct Faults: Sendable, Hashable {
        /// Every n-th message of the host is ignored.
        public var deafEvery: Int?
        /// Every n-th message is first sent with a wrong checksum in its last frame.
        public var badChecksumEvery: Int?
        /// Every n-th message is sent twice with the same number.
        public var repeatEvery: Int?
        /// Every n-th message with several fragments lacks its first one the first time.
        public var losePieceEvery: Int?
        /// Every n-th message with several fragments is sent in reverse order.
        public var shuffleEvery: Int?
        /// This many meaningless bytes precede each message.
        public var garbage = 0
        /// All output is split into chunks of this many bytes.
        public var pieces: Int?
        /// The battery falls out after this many records of a transfer; once.
        public var powerOffAfterRecords: Int?
        /// The log-in is refused.
        public var refusesLogIn = false
        /// How often the scale asks to restart the log-in.
        public var logInAgain = 0
        /// It does not answer the log-in.
        public var ignoresLogIn = false
        /// It refuses to measure.
        public var refusesMeasurement = false

        public init() {}
    }
}
