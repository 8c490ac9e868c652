import HubSettings
import HubWire
import Logging
import ZeroMQ

/// The entrance for other machines: the door's endpoint on the network, and the keys.
///
/// A part of the door.
@DoorActor
final class Network {
    /// The settings of `hub.conf`, which hold until the hub ends.
    struct Setting: Sendable {
        let endpoint: TCPEndpoint
        /// No keys: any program of this machine may act as any remote instance.
        let isInsecure: Bool
        let ring: KeyRing
    }

    private let door: Door
    /// Nil if `hub.conf` names no endpoint.
    let setting: Setting?
    /// Nil without keys, or while they cannot be read.
    private var hubKey: CurveSecretKey?
    /// The instance of each public key.
    private(set) var instances: [String: String] = [:]
    /// Whether the door is bound to the endpoint.
    private var isOpen = false
    /// Why it is not bound, for the log and `hub status`; logged once.
    private(set) var fault: String?
    /// When binding last failed, by the door's `now`.
    private var lastFailedAt: Int64?
    /// It stays closed until then, by the door's `now`.
    private var pausedUntil: Int64 = 0

    private static let pauseLength = Duration.seconds(10)

    /// How long a connection may take to prove its identity.
    nonisolated static let patience = Duration.seconds(5)

    /// Maximum number of connections that wait for libzmq; above it, the system does not answer, and a client retries after a second.
    nonisolated static let queue = 1_024

    init(of door: Door) { (self.door, setting) = (door, door.facts.network) }

    /// Opens the door to the network, if `hub.conf` says so, and the feeds of instances on other machines.
    ///
    /// Endpoints that cannot be opened are retried; meanwhile the hub works for its own machine.
    func open() {
        guard let setting else { return }
        do throws(HubError) {
            if !setting.isInsecure {
                hubKey = try setting.ring.hubKeys().secretKey
                _ = take(try setting.ring.entries())
            }
        } catch {
            fault = error.message
            return door.logger.error("the network stays closed", metadata: ["error": "\(error.message)"])
        }
        bind()
        followInstances()
    }

    private func bind() {
        guard door.isBound, let setting, !isOpen, pausedUntil <= door.now else { return }
        do throws(ZeroMQError) {
            try prepareSocket(for: setting)
            try door.socket?.bind(setting.endpoint.description)
            isOpen = true
            fault = nil
            door.logger.notice("the door is open to the network", metadata: ["endpoint": "\(setting.endpoint)"])
        } catch {
            // After a close, libzmq needs a moment to release the port.
            if fault == nil, error.code != .addressInUse || lastFailedAt != nil {
                fault = "\(setting.endpoint) cannot be opened: \(error.reason)"
                door.logger.error("the network stays closed", metadata: ["error": "\(error)"])
            }
            lastFailedAt = door.now
            let delay = fault == nil ? Duration.milliseconds(50) : .seconds(2)
            door.loop.schedule(after: delay) { [weak self] in self?.bind() }
        }
    }

    /// Sets options for the next bind; they do not affect endpoints that are already bound.
    private func prepareSocket(for setting: Setting) throws(ZeroMQError) {
        try door.socket?.set(.zapDomain, to: LaunchTokens.doorDomain)
        // A connection that does not prove its identity in time is ended; local peers keep libzmq's half minute.
        try door.socket?.set(.handshakeInterval, to: Self.patience)
        try door.socket?.set(.backlog, to: Self.queue)
        try door.socket?.set(.tcpKeepalive, to: true)
        try door.socket?.set(.tcpKeepaliveIdle, to: 60)
        try door.socket?.set(.tcpKeepaliveInterval, to: 20)
        try door.socket?.set(.tcpKeepaliveCount, to: 3)
        try door.socket?.set(.ipv6, to: setting.endpoint.isIPv6)
        if let hubKey {
            try door.socket?.set(.curveServer, to: true)
            try door.socket?.set(.curveSecretKey, to: hubKey)
        } else {
            try door.socket?.set(.plainServer, to: false)
        }
    }

    /// Ends all network connections, and lets them reconnect.
    ///
    /// libzmq cannot end one connection of a socket; it can release an endpoint with all of its connections.
    private func renew() {
        guard let setting, isOpen else { return }
        isOpen = false
        lastFailedAt = nil
        do throws(ZeroMQError) {
            try door.socket?.unbind(setting.endpoint.description)
        } catch {
            door.logger.error("the network could not be closed", metadata: ["error": "\(error)"])
        }
        bind()
    }

    /// Makes room for connections: ends those without proof, the longest silent first; if that is not enough, ends all for a while.
    ///
    /// - Parameters:
    ///   - open: the number of open files and connections.
    ///   - limit: the maximum of that number.
    func relieve(open: Int, of limit: Int) {
        guard isOpen, let setting else { return }
        let ports = [setting.endpoint.port] + door.facts.instances.values.compactMap { $0.remote?.feedPort }
        let ended = SilentConnections.end(
            on: Set(ports.compactMap { UInt16(exactly: $0) }),
            proof: SilentConnections.bytesOfProof(isInsecure: setting.isInsecure), count: open - limit * 3 / 8)
        guard ended == 0 else {
            return door.logOfSessions(
                .warning, "connections over the network that did not authenticate were ended", ["count": "\(ended)"])
        }
        pause(because: "\(open) files and connections are open, of \(limit)")
    }

    /// Closes the network for a while, because its connections use up resources that the hub needs.
    func pause(because reason: String) {
        guard isOpen else { return }
        door.logger.error(
            "the network is closed for a while", metadata: ["reason": "\(reason)", "for": "\(Self.pauseLength)"])
        pausedUntil = door.now + Self.pauseLength.milliseconds
        renew()
        door.feeds.pauseNetwork()
        door.loop.schedule(after: Self.pauseLength) { [weak self] in
            self?.bind()
            self?.door.feeds.wakeNetwork()
        }
    }

    /// Opens and closes feeds to match `hub.conf`.
    func followInstances() {
        guard let setting, setting.isInsecure || hubKey != nil else { return }
        var endpoints: [String: String] = [:]
        for (instance, policy) in door.facts.instances {
            guard let port = policy.remote?.feedPort, let endpoint = setting.endpoint.with(port: port) else { continue }
            endpoints[instance] = endpoint.description
        }
        door.feeds.follow(remote: endpoints, key: hubKey)
    }

    // MARK: - Keys

    /// Reads the keys again, and ends sessions with a revoked key at once.
    ///
    /// The hub sends these sessions an error, answers later messages with `forbidden`, and then ends their connections. At the door this
    /// ends all network connections, because libzmq cannot end a single one; the others reconnect at once and lose nothing.
    /// - Returns: the number of keys, and the instances whose former key is void.
    func reloadKeys() throws(HubError) -> (keys: Int, revoked: [String]) {
        guard let setting, !setting.isInsecure else { return (0, []) }
        let entries = try setting.ring.entries()
        let revoked = take(entries).sorted()
        for instance in revoked {
            door.logger.notice("a key was revoked", metadata: ["instance": "\(instance)"])
            let reason = "the key of \(instance) has been revoked; ask for a new one"
            door.perform(door.sessions.expel(instance, because: reason))
            door.feeds.renew(of: instance)
        }
        if !revoked.isEmpty {
            // The last messages get a moment to leave.
            door.loop.schedule(after: .milliseconds(200)) { [weak self] in self?.renew() }
        }
        return (entries.count, revoked)
    }

    /// Replaces the valid keys.
    ///
    /// - Returns: the instances whose former key is void.
    private func take(_ entries: [KeyRing.Entry]) -> Set<String> {
        let former = instances
        instances = Dictionary(entries.map { ($0.publicKey, $0.instance) }, uniquingKeysWith: { first, _ in first })
        return Set(former.filter { instances[$0.key] != $0.value }.values)
    }

    func key(of instance: String) -> String? { instances.first { $0.value == instance }?.key }

    /// Whether an instance on another machine cannot connect because it has no key.
    func lacksKey(_ instance: String) -> Bool { setting?.isInsecure == false && key(of: instance) == nil }
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
