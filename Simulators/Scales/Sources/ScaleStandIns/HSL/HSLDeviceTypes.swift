public import ScaleProtocols

extension HSLDevice {
    /// A scale behind the link, with its data.
    public struct Scale: Sendable, Hashable {
        public let id: HSLDeviceID
        public var firmware = "1.0.2"
        public var hardware = "1.0.0"
        public var skewSeconds = 0
        public var memoryLimit = 200
        /// HS5: by position.
        public var users: [UInt32?] = Array(repeating: nil, count: HS5Position.count)
        /// Weighings made while no host was near, oldest first; a HS3 never forgets them, the others forget acknowledged ones.
        public internal(set) var memory: [Weighing] = []
        /// HS5: the weighings that it has uploaded to the vendor's cloud.
        public var cloud: [Weighing] = []
        /// HS4: the unit of the last measurement that a host opened.
        public internal(set) var unit: ScaleDisplayUnit?
        /// The height of the person of the last measurement, in centimetres, as the host sent it.
        public internal(set) var height: Int?
        /// HS3: whether it dials its host.
        public internal(set) var callsByItself = true

        var number = 0
        var request: Open?
        /// HS4: whether a person was admitted to a measurement.
        var isVerified = false

        public init(_ id: HSLDeviceID) { self.id = id }
    }

    /// A weighing in a scale.
    public struct Weighing: Sendable, Hashable {
        public var time: WallTime
        public var tenthsOfKilogram: Int
        public var composition: HS5Record.Composition?
        public var user: UInt32?

        public init(
            _ time: WallTime, tenthsOfKilogram: Int, composition: HS5Record.Composition? = nil, user: UInt32? = nil
        ) {
            (self.time, self.tenthsOfKilogram, self.composition, self.user) = (
                time, tenthsOfKilogram, composition, user
            )
        }
    }

    /// The state of a person's vendor account.
    public enum Account: Sendable, Hashable {
        case says(UserAuthentication)
        /// No network since then: within the ten days of the trial, which a HS5 does not have.
        case offline(since: WallTime)

        func result(for model: ScaleModel, at now: WallTime) -> UserAuthentication {
            switch self {
            case .says(let result): return result
            case .offline(let since):
                let isTrial = (0..<10 * 86400).contains(now.secondsSince2000 - since.secondsSince2000)
                return isTrial && model != .hs5 ? .trial : .networkFailed
            }
        }
    }

    /// The properties of the whole device.
    public struct Profile: Sendable, Hashable {
        public var token: HSLToken?
        public var family = HSLFamily.sim
        public var account = Account.says(.loggedIn)
        /// The seed for the nonce of each connection; use random bytes if security matters.
        public var seed: [UInt8] = []
        /// The offset in every written date; `nil` for local dates only.
        public var utcOffsetMinutes: Int?
        /// Whether a stable weight contains its time.
        public var datesWeights = true
        /// The delay from one event to the next.
        public var pace = Duration.zero

        public init() {}
    }

    struct Open: Sendable, Hashable {
        var id: Int
        var operation: HSLOperation
        var serial: UInt32?
        /// Whether it waits for weighings.
        var isMeasuring = false
    }

    /// An unacknowledged durable event.
    struct Outstanding: Sendable, Hashable {
        var device: HSLDeviceID
        var name: HSLEventName
        var weighing: Weighing
        var rid: String
        /// Whether it was reported live, and so is repeated after a reconnect; a record of the memory is still in the memory.
        var isLive: Bool
    }
}
