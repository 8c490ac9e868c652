import ZeroMQ

/// The launch tokens of the processes that run now: who may log in on the plugin endpoints, and as whom.
struct LaunchTokens {
    private var tokens: [String: String] = [:]

    /// What the gate is told of those who come to the owner's endpoints.
    static let ownerDomain = "owner"
    /// What the gate is told of those who come to the door.
    static let doorDomain = "door"
    /// What the gate is told of those who come to an instance's feed.
    static func feedDomain(of instance: String) -> String { "feed/\(instance)" }

    /// A new token: 128 random bits.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    mutating func admit(_ instance: String, token: String) { tokens[instance] = token }

    /// Whether a process of this instance runs that the hub has started.
    func isAdmitted(_ instance: String) -> Bool { tokens[instance] != nil }

    /// The process has ended; its token opens nothing any more.
    mutating func revoke(_ instance: String) { tokens[instance] = nil }

    /// - Parameter domain: where the peer wants in; a feed is its own instance's only.
    func verdict(on credentials: ZAPRequest.Credentials, domain: String) -> ZAPRequest.Verdict {
        guard case .plain(let name, let password) = credentials,
            let instance = String(validating: name, as: UTF8.self), let token = tokens[instance]
        else { return .refuse("no process of this name was started by the hub") }
        guard Self.isEqual(Array(token.utf8), password) else { return .refuse("wrong launch token") }
        guard domain == Self.doorDomain || domain == Self.feedDomain(of: instance) else {
            return .refuse("the feed of another instance")
        }
        return .allow(userID: instance)
    }

    /// Compares in a time that does not tell how much is right.
    private static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
