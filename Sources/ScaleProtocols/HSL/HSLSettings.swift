import Digests
import JSON

/// What both ends of an HSL link know and no stranger does; prints as its length.
public struct HSLToken: Sendable, Hashable, CustomStringConvertible {
    private let bytes: [UInt8]

    /// Nil for an empty text.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        bytes = Array(text.utf8)
    }

    public var description: String { "<token of \(bytes.count) bytes>" }

    /// The hex of HMAC-SHA-256 under the token, over the connector's nonce followed by the device's, both as bytes.
    public func proof(connector: [UInt8], device: [UInt8]) -> String {
        Digests.authenticate(connector + device, key: bytes).hex
    }

    /// Takes the same time however much of `proof` is right.
    func accepts(_ proof: String, connector: [UInt8], device: [UInt8]) -> Bool {
        let (right, given) = (Array(self.proof(connector: connector, device: device).utf8), Array(proof.utf8))
        guard right.count == given.count else { return false }
        return zip(right, given).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// How often each machine has sent a wrong proof of the token lately: at most five times a minute it may.
///
/// So that a guesser neither gets far nor locks out the program that knows the token.
struct WrongProofs: Sendable {
    private var byAddress: [String: [Duration]] = [:]

    static let limit = 5
    /// Beyond so many machines all others are counted as one.
    private static let addresses = 256

    private func name(_ address: String?) -> String {
        let name = address ?? ""
        return byAddress[name] == nil && byAddress.count >= Self.addresses ? "others" : name
    }

    /// Whether this machine's next proof is looked at.
    mutating func mayTry(_ address: String?, at now: Duration) -> Bool {
        byAddress = byAddress.mapValues { $0.filter { now < $0 + .seconds(60) } }.filter { !$0.value.isEmpty }
        return byAddress[name(address), default: []].count < Self.limit
    }

    mutating func note(_ address: String?, at now: Duration) { byAddress[name(address), default: []].append(now) }
}

/// For whom a bridge opens the scale; a bridge with the vendor's library hands it to that.
public struct HSLUser: Sendable, Hashable, CustomStringConvertible {
    /// An e-mail address.
    public var userID: String
    /// Centimetres.
    public var height: Int?
    public var clientID: String?
    public var clientSecret: String?

    public init(userID: String, height: Int? = nil, clientID: String? = nil, clientSecret: String? = nil) {
        (self.userID, self.height, self.clientID, self.clientSecret) = (userID, height, clientID, clientSecret)
    }

    /// Without who it is.
    public var description: String { "<user of a scale>" }

    var json: JSONTree {
        JSONTree.members([
            "userID": .text(userID), "height": height.map { JSONTree($0) }, "clientID": clientID.map { .text($0) },
            "clientSecret": clientSecret.map { .text($0) },
        ])
    }
}

extension HSLSession {
    /// What a connector wants, and how long it waits.
    public struct Settings: Sendable, Hashable {
        /// The scales it serves; those of other models behind the same link are left to others.
        public var model: ScaleModel
        /// The connector's name and version, as the other side is told.
        public var implementation = "health-hub"
        public var version = "1"
        /// Nil on a link that only this machine reaches.
        public var token: HSLToken?
        public var user = HSLUser(userID: "hub@localhost")
        /// What a HS4 displays.
        public var unit = ScaleDisplayUnit.kilograms
        /// HS5: the user whose measurement is held open until a command names another; nil: none, and weighings come from the memory.
        public var measures: UInt32?
        /// From the connection to the other side's first line and its proof.
        public var helloTimeout = Duration.seconds(10)
        /// After so long without a line the other side is asked whether it is there, and how long it may take to say so.
        public var pingAfter = Duration.seconds(20)
        public var pongTimeout = Duration.seconds(10)
        public var authenticationTimeout = Duration.seconds(10)
        public var resultTimeout = Duration.seconds(3)
        /// Between the events of one weighing.
        public var weighingTimeout = Duration.seconds(4)
        /// Between the records of a memory.
        public var recordTimeout = Duration.seconds(6)
        /// After a request that failed.
        public var retryAfter = Duration.seconds(5)
        /// After a person was not admitted.
        public var verifyAgainAfter = Duration.seconds(60)
        /// From one look at the memory to the next: of a HS5, and of a HS4 whose memory could not be read.
        public var memoryEvery = Duration.seconds(60)
        /// After records that could not be kept: the device repeats them in a new session.
        public var reconnectAfter = Duration.seconds(30)

        public init(model: ScaleModel) { self.model = model }
    }
}
