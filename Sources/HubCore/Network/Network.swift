import HubSettings
import ZeroMQ

/// The way in from other machines, as the door knows it at the moment.
struct Network {
    /// What `hub.conf` says; it holds until the hub ends.
    struct Setting: Sendable {
        let endpoint: TCPEndpoint
        /// No keys: any program of this machine may be any remote instance.
        let isInsecure: Bool
        let ring: KeyRing
    }

    /// Nil when `hub.conf` names no endpoint.
    let setting: Setting?
    /// Nil without keys, or while they cannot be read.
    var hubKey: CurveSecretKey?
    /// By public key: which instance it is of.
    private(set) var instances: [String: String] = [:]
    /// Whether the door is bound there.
    var isOpen = false
    /// Why it is not, for the log and `hub status`; told once.
    var fault: String?
    /// When it last could not be opened, by the door's `now`.
    var lastFailedAt: Int64?
    /// It stays closed until then, by the door's `now`.
    var restsUntil: Int64 = 0

    /// How long a connection may take to prove whose it is.
    static let patience = Duration.seconds(5)

    /// So many connections may wait for libzmq to take them: beyond, the system is silent, and a client calls again after a second.
    static let queue = 1_024

    init(_ setting: Setting?) { self.setting = setting }

    /// Takes the keys that are valid from now on.
    ///
    /// - Returns: the instances whose former key is void.
    mutating func take(_ entries: [KeyRing.Entry]) -> Set<String> {
        let former = instances
        instances = Dictionary(entries.map { ($0.publicKey, $0.instance) }, uniquingKeysWith: { first, _ in first })
        return Set(former.filter { instances[$0.key] != $0.value }.values)
    }

    func key(of instance: String) -> String? { instances.first { $0.value == instance }?.key }
}

/// How libzmq names those who logged in, in the property `User-Id` of their messages.
///
/// | `User-Id` | who |
/// |---|---|
/// | none | the owner: a local socket without log-in |
/// | an instance's name | one of its processes, by launch token |
/// | `key:` and a public key | an instance on another machine |
/// | `anyone:` | a program of this machine, where `insecure = true` |
enum LogIn {
    private static let keyMark = "key:"
    static let anyone = "anyone:"

    static func text(ofKey publicKey: String) -> String { keyMark + publicKey }

    /// The public key in a log-in by key.
    static func key(in text: String) -> String? {
        text.hasPrefix(keyMark) ? String(text.dropFirst(keyMark.count)) : nil
    }
}
