import JSON
import Platform
import PluginKit

/// The shared secret of both ends of an HSL link; its description contains only its length.
public struct HSLToken: Sendable, Hashable, CustomStringConvertible {
    private let bytes: [UInt8]

    /// Returns `nil` for an empty text.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        bytes = Array(text.utf8)
    }

    public var description: String { "<token of \(bytes.count) bytes>" }

    /// The hex of HMAC-SHA-256 under the token, over the connector's nonce followed by the device's, both as bytes.
    public func proof(connector: [UInt8], device: [UInt8]) -> String {
        Digests.authenticate(connector + device, key: bytes).hexadecimal
    }

    /// Compares in constant time, whatever part of `proof` is correct.
    func accepts(_ proof: String, connector: [UInt8], device: [UInt8]) -> Bool {
        let (right, given) = (Array(self.proof(connector: connector, device: device).utf8), Array(proof.utf8))
        guard right.count == given.count else { return false }
        return zip(right, given).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// Counts the recent wrong proofs of each machine, and allows at most five a minute.
///
/// A guesser thus makes little progress, and does not lock out the program that knows the token.
struct FailedProofLimit: Sendable {
    private var byAddress: [String: [Duration]] = [:]

    static let limit = 5
    /// Maximum number of separately counted machines; all others are counted as one.
    private static let addresses = 256

    private func name(_ address: String?) -> String {
        let name = address ?? ""
        return byAddress[name] == nil && byAddress.count >= Self.addresses ? "others" : name
    }

    /// Whether to check this machine's next proof.
    mutating func isAttemptAllowed(_ address: String?, at now: Duration) -> Bool {
        byAddress = byAddress.mapValues { $0.filter { now < $0 + .seconds(60) } }.filter { !$0.value.isEmpty }
        return byAddress[name(address), default: []].count < Self.limit
    }

    mutating func note(_ address: String?, at now: Duration) { byAddress[name(address), default: []].append(now) }
}

/// The user that a bridge opens the scale for; a bridge with the vendor's library passes the user on to it.
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

    /// A text without the identity.
    public var description: String { "<user of a scale>" }

    var json: JSONTree {
        JSONTree.members([
            "userID": .text(userID), "height": height.map { JSONTree($0) }, "clientID": clientID.map { .text($0) },
            "clientSecret": clientSecret.map { .text($0) },
        ])
    }
}

extension HSLSession {
    /// The requests of a connector, and its time limits.
    public struct Settings: Sendable, Hashable {
        /// The model of the scales to serve; other models behind the same link are left to other connectors.
        public var model: ScaleModel
        /// The connector's name and version, as reported to the other side.
        public var implementation = "health-hub"
        public var version = ProductVersion.current
        /// `nil` on a link that only this machine can reach.
        public var token: HSLToken?
        public var user = HSLUser(userID: "hub@localhost")
        /// The unit that a HS4 displays.
        public var unit = ScaleDisplayUnit.kilograms
        /// HS5: the user whose measurement is open until a command names another; `nil` for none, and weighings come from the memory.
        public var measures: UInt32?
        /// The time from the connection to the other side's first line and its proof.
        public var helloTimeout = Duration.seconds(10)
        /// The silence after which the other side is pinged, and how long it may take to answer.
        public var pingAfter = Duration.seconds(20)
        public var pongTimeout = Duration.seconds(10)
        public var authenticationTimeout = Duration.seconds(10)
        public var resultTimeout = Duration.seconds(3)
        /// The maximum time between the events of one weighing.
        public var weighingTimeout = Duration.seconds(4)
        /// The maximum time between the records of a memory.
        public var recordTimeout = Duration.seconds(6)
        /// The pause after a failed request.
        public var retryAfter = Duration.seconds(5)
        /// The pause after a person was not admitted.
        public var verifyAgainAfter = Duration.seconds(60)
        /// The interval for reading the memory: of a HS5, and of a HS4 whose memory could not be read.
        public var memoryEvery = Duration.seconds(60)
        /// The pause after records could not be stored: the device repeats them in a new session.
        public var reconnectAfter = Duration.seconds(30)

        public init(model: ScaleModel) { self.model = model }
    }
}
