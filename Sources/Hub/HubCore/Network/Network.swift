import HubSettings
import HubWire
import ZeroMQ

/// The current state of the entrance for other machines.
struct Network {
    /// The settings of `hub.conf`, which hold until the hub ends.
    struct Setting: Sendable {
        let endpoint: TCPEndpoint
        /// No keys: any program of this machine may act as any remote instance.
        let isInsecure: Bool
        let ring: KeyRing
    }

    /// Nil if `hub.conf` names no endpoint.
    let setting: Setting?
    /// Nil without keys, or while they cannot be read.
    var hubKey: CurveSecretKey?
    /// The instance of each public key.
    private(set) var instances: [String: String] = [:]
    /// Whether the door is bound to the endpoint.
    var isOpen = false
    /// Why it is not bound, for the log and `hub status`; logged once.
    var fault: String?
    /// When binding last failed, by the door's `now`.
    var lastFailedAt: Int64?
    /// It stays closed until then, by the door's `now`.
    var pausedUntil: Int64 = 0

    /// How long a connection may take to prove its identity.
    static let patience = Duration.seconds(5)

    /// Maximum number of connections that wait for libzmq; above it, the system does not answer, and a client retries after a second.
    static let queue = 1_024

    init(_ setting: Setting?) { self.setting = setting }

    /// Replaces the valid keys.
    ///
    /// - Returns: the instances whose former key is void.
    mutating func take(_ entries: [KeyRing.Entry]) -> Set<String> {
        let former = instances
        instances = Dictionary(entries.map { ($0.publicKey, $0.instance) }, uniquingKeysWith: { first, _ in first })
        return Set(former.filter { instances[$0.key] != $0.value }.values)
    }

    func key(of instance: String) -> String? { instances.first { $0.value == instance }?.key }
}

/// The names of log-ins in libzmq's property `User-Id` of their messages.
///
/// | `User-Id` | peer |
/// |---|---|
/// | none | the owner: a local socket without log-in |
/// | an instance's name | one of its processes, by launch token |
/// | `key:` and a public key | an instance on another machine |
/// | `anyone:` | a program of this machine, with `insecure = true` |
enum PeerUserID {
    private static let keyMark = "key:"
    static let anyone = "anyone:"

    static func text(ofKey publicKey: String) -> String { keyMark + publicKey }

    /// The public key in a log-in by key.
    static func key(in text: String) -> String? {
        text.hasPrefix(keyMark) ? String(text.dropFirst(keyMark.count)) : nil
    }
}
