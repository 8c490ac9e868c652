public import ScaleProtocols

extension HS5Device {
    /// The properties that may differ between scales.
    public struct Profile: Sendable, Hashable {
        public var id = HS5SenderID(checked: [2, 0, 0, 0, 0x50, 1])
        /// The key for its log-in; `nil` to accept every program.
        public var key: ScaleKey?
        public var identity = ScaleIdentity(
            protocolName: "com.jiuan.BFSV01", name: "iHealth HS5", firmware: "1.0.2", hardware: "1.0.0",
            manufacturer: "iHealth", model: "HS5 11070")
        public var skewSeconds = 0
        public var memoryLimit = 200
        /// The number of records in one packet, at most 15.
        public var packetRecords = 15
        /// The delay after which it repeats an unconfirmed message of a weighing, and the number of repetitions.
        public var repeatAfter = Duration.milliseconds(700)
        public var repeats = 8

        public init() {}
    }

    /// The faults to simulate; *every* counts from 1.
    public struct Faults: Sendable, Hashable {
        /// Every n-th message of the host is lost.
        public var deafEvery: Int?
        /// Every n-th datagram of the scale is lost.
        public var loseEvery: Int?
        /// Every n-th datagram has a wrong checksum.
        public var badChecksumEvery: Int?
        /// Every n-th datagram is sent twice.
        public var repeatEvery: Int?
        /// The scale disappears after this many packets of records; once.
        public var powerOffAfterPackets: Int?
        /// How often it reports that it is busy.
        public var busy = 0
        public var refusesLogIn = false
        public var ignoresLogIn = false
        public var refusesMeasurement = false
        /// People weigh with shoes on.
        public var losesComposition = false
        /// Changes to the users fail.
        public var refusesUsers = false
        /// How long the scale is silent before this message of a weighing.
        public var silence: [HS5Command: Duration] = [:]

        public init() {}
    }
}
