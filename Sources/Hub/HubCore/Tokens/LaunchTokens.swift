import Platform
import ZeroMQ

/// The launch tokens of the running processes: they decide about log-ins on the plugin endpoints.
struct LaunchTokens {
    private var tokens: [String: String] = [:]

    /// The gate's domain for connections to the owner's endpoints.
    static let ownerDomain = "owner"
    /// The gate's domain for connections to the door.
    static let doorDomain = "door"
    /// The gate's domain for connections to an instance's feed.
    static func feedDomain(of instance: String) -> String { "feed/\(instance)" }

    /// A new token: 128 random bits.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in (generator.next() as UInt64).hexadecimal(digits: 16) }.joined()
    }

    mutating func admit(_ instance: String, token: String) { tokens[instance] = token }

    /// Whether the hub has started a process of this instance that still runs.
    func isAdmitted(_ instance: String) -> Bool { tokens[instance] != nil }

    /// Makes the token of a process that has ended invalid.
    mutating func revoke(_ instance: String) { tokens[instance] = nil }

    /// - Parameter domain: the endpoint of the connection; a feed is open only to its own instance.
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

    /// Compares in constant time, so that the time does not reveal how much is right.
    private static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
