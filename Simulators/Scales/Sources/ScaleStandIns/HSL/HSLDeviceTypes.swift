public import ScaleProtocols

extension HSLDevice {
    /// A scale behind the link, and what it holds.
    public struct Scale: Sendable, Hashable {
        public let id: HSLDeviceID
        public var firmware = "1.0.2"
        public var hardware = "1.0.0"
        public var skewSeconds = 0
        public var memoryLimit = 200
        /// HS5: by position.
        public var users: [UInt32?] = Array(repeating: nil, count: HS5Position.count)
        /// What it weighed while no host was near, oldest first; a HS3 never forgets, the others what is acknowledged.
        public internal(set) var memory: [Weighing] = []
        /// HS5: what it has put into the vendor's cloud.
        public var cloud: [Weighing] = []
        /// HS4: the unit of the last measurement that a host asked for.
        public internal(set) var unit: ScaleDisplayUnit?
        /// The height of the person of the last measurement, in centimetres, as the host says.
        public internal(set) var height: Int?
        /// HS3: whether it calls its host by itself.
        public internal(set) var callsByItself = true

        var number = 0
        var request: Open?
        /// HS4: a person was admitted to a measurement.
        var isVerified = false

        public init(_ id: HSLDeviceID) { self.id = id }
    }

    /// A weighing as a scale holds it.
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

    /// What the vendor's account says of a person.
    public enum Account: Sendable, Hashable {
        case says(UserAuthentication)
        /// No network since then: the trial of ten days, which a HS5 has not.
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

    /// Forgets what hosts have asked for so far.
    public mutating func forgetRequests() {
        for place in scales.indices { (scales[place].unit, scales[place].height) = (nil, nil) }
    }

    /// What the whole device is like.
    public struct Profile: Sendable, Hashable {
        public var token: HSLToken?
        public var family = HSLFamily.sim
        public var account = Account.says(.loggedIn)
        /// What the nonce of each connection is made from: random, where it matters.
        public var seed: [UInt8] = []
        /// Of every date it writes; nil: dates are local alone.
        public var utcOffsetMinutes: Int?
        /// Whether a stable weight says when it was.
        public var datesWeights = true
        /// From one event to the next.
        public var pace = Duration.zero

        public init() {}
    }

    /// What can be made to go wrong; *every* counts from 1.
    public struct Faults: Sendable, Hashable {
        /// Every n-th line of the connector is not heard.
        public var deafEvery: Int?
        /// Every n-th event comes twice, as after an acknowledgement that was lost.
        public var repeatEvery: Int?
        /// Every n-th line follows one that is not JSON.
        public var badLineEvery: Int?
        /// Everything is written in pieces of this many bytes.
        public var pieces: Int?
        /// The battery falls out after this many records of a memory; once.
        public var powerOffAfterRecords: Int?
        public var announcedCount: Int?
        public var refusesMemory = false
        public var losesComposition = false
        public var refusesUsers = false
        /// HS5: it says that it is busy, so many times.
        public var busy = 0
        /// Nothing is said about the person.
        public var ignoresAuthentication = false
        public var wrongProof = false
        /// No acknowledgement is heard.
        public var losesAcknowledgements = false
        /// A line longer than the protocol allows; once.
        public var overlongLine = false

        public init() {}
    }

    struct Open: Sendable, Hashable {
        var id: Int
        var operation: HSLOperation
        var serial: UInt32?
        /// Weighings are awaited.
        var isMeasuring = false
    }

    /// A durable event that was not acknowledged.
    struct Outstanding: Sendable, Hashable {
        var device: HSLDeviceID
        var name: HSLEventName
        var weighing: Weighing
        var rid: String
        /// Told as it happened, so repeated after a reconnect; a record of the memory is in the memory still.
        var isLive: Bool
    }
}
