import HubSessions
import HubSettings
import HubWire
import Logging
import ZeroMQ

// MARK: - Opening and closing

extension Door {
    /// Opens the door to the network, if `hub.conf` says so, and the feeds of the instances that are elsewhere.
    ///
    /// What cannot be opened is tried again; the hub works for its own machine meanwhile.
    func openNetwork() {
        guard let setting = network.setting else { return }
        do throws(HubError) {
            if !setting.isInsecure {
                network.hubKey = try setting.ring.hubKeys().secretKey
                _ = network.take(try setting.ring.entries())
            }
        } catch {
            network.fault = error.message
            return logger.error("the network stays closed", metadata: ["error": "\(error.message)"])
        }
        bindDoorToNetwork()
        followRemoteInstances()
    }

    private func bindDoorToNetwork() {
        guard let setting = network.setting, !network.isOpen, network.restsUntil <= now else { return }
        do throws(ZeroMQError) {
            try guardDoor(setting)
            try socket?.bind(setting.endpoint.description)
            network.isOpen = true
            network.fault = nil
            logger.notice("the door is open to the network", metadata: ["endpoint": "\(setting.endpoint)"])
        } catch {
            // After a close libzmq needs a moment to let go of the port.
            if network.fault == nil, error.code != .addressInUse || network.lastFailedAt != nil {
                network.fault = "\(setting.endpoint) cannot be opened: \(error.reason)"
                logger.error("the network stays closed", metadata: ["error": "\(error)"])
            }
            network.lastFailedAt = now
            let pause = network.fault == nil ? Duration.milliseconds(50) : .seconds(2)
            loop.schedule(after: pause) { [weak self] in self?.assumeIsolated { $0.bindDoorToNetwork() } }
        }
    }

    /// Options for the next bind: they touch no endpoint that is bound.
    private func guardDoor(_ setting: Network.Setting) throws(ZeroMQError) {
        try socket?.set(.zapDomain, to: LaunchTokens.doorDomain)
        // Whoever has connected and does not prove itself is sent away; local peers keep libzmq's half minute.
        try socket?.set(.handshakeInterval, to: Self.networkPatience)
        try socket?.set(.backlog, to: Self.networkQueue)
        try socket?.set(.tcpKeepalive, to: true)
        try socket?.set(.tcpKeepaliveIdle, to: 60)
        try socket?.set(.tcpKeepaliveInterval, to: 20)
        try socket?.set(.tcpKeepaliveCount, to: 3)
        try socket?.set(.ipv6, to: setting.endpoint.isIPv6)
        if let key = network.hubKey {
            try socket?.set(.curveServer, to: true)
            try socket?.set(.curveSecretKey, to: key)
        } else {
            try socket?.set(.plainServer, to: false)
        }
    }

    /// How long a connection may take to prove whose it is.
    static let networkPatience = Duration.seconds(5)

    /// So many connections may wait for libzmq to take them: beyond, the system is silent, and a client calls again after a second.
    static let networkQueue = 1_024

    /// Ends all connections over the network, and lets them come again.
    ///
    /// libzmq cannot end one connection of a socket; it can let go of an endpoint, with all that came in there.
    private func renewNetwork() {
        guard let setting = network.setting, network.isOpen else { return }
        network.isOpen = false
        network.lastFailedAt = nil
        do throws(ZeroMQError) {
            try socket?.unbind(setting.endpoint.description)
        } catch {
            logger.error("the network could not be closed", metadata: ["error": "\(error)"])
        }
        bindDoorToNetwork()
    }

    /// Makes room for connections: those that have proved nothing end, the longest silent first; where that is not enough, all do for a while.
    ///
    /// - Parameters:
    ///   - open: how many files and connections are open.
    ///   - limit: how many may be.
    func relieveNetwork(open: Int, of limit: Int) {
        guard network.isOpen, let setting = network.setting else { return }
        let ports = [setting.endpoint.port] + facts.instances.values.compactMap { $0.remote?.feedPort }
        let ended = SilentConnections.end(
            on: Set(ports.compactMap { UInt16(exactly: $0) }),
            proof: SilentConnections.bytesOfProof(isInsecure: setting.isInsecure), count: open - limit * 3 / 8)
        guard ended == 0 else {
            return logOfSessions(
                .warning, "connections over the network that proved nothing were ended", ["count": "\(ended)"])
        }
        restNetwork(because: "\(open) files and connections are open, of \(limit)")
    }

    /// Closes the network for a while: somebody there uses up what the hub needs.
    func restNetwork(because reason: String) {
        guard network.isOpen else { return }
        logger.error(
            "the network is closed for a while", metadata: ["reason": "\(reason)", "for": "\(Self.restOfNetwork)"])
        network.restsUntil = now + Int64(Self.restOfNetwork / .milliseconds(1))
        renewNetwork()
        for feed in feeds where feed.isOnNetwork { feed.close() }
        loop.schedule(after: Self.restOfNetwork) { [weak self] in
            self?.assumeIsolated { door in
                door.bindDoorToNetwork()
                for instance in door.feeds.filter(\.isOnNetwork).compactMap(\.grant?.instance) {
                    door.wakeFeed(of: instance)
                }
            }
        }
    }

    private static let restOfNetwork = Duration.seconds(10)

    /// Opens and closes feeds as `hub.conf` now says.
    func followRemoteInstances() {
        guard let setting = network.setting, setting.isInsecure || network.hubKey != nil else { return }
        var wanted: [String: String] = [:]
        for (instance, policy) in facts.instances {
            guard let port = policy.remote?.feedPort, let endpoint = setting.endpoint.with(port: port) else { continue }
            wanted[instance] = endpoint.description
        }
        for feed in feeds where feed.isOnNetwork {
            if let instance = feed.grant?.instance, wanted[instance] != feed.endpoint { closeFeed(of: instance) }
        }
        for (instance, endpoint) in wanted where feed(of: instance) == nil {
            let domain = LaunchTokens.feedDomain(of: instance)
            let security: Feed.Security =
                network.hubKey.map { .key($0, domain: domain) } ?? .anyone(domain: domain)
            feeds.append(
                Feed(endpoint, security, grant: facts.reading(of: instance), changes: feedChanges))
            wakeFeed(of: instance)
        }
    }
}

// MARK: - Keys

extension Door {
    /// Judges a log-in on the network, which has proved that it has its key.
    func verdict(onKey key: CurveKey, domain: String) -> ZAPRequest.Verdict {
        guard let instance = network.instances[key.z85] else { return .refuse("no such key") }
        guard facts.instances[instance]?.remote != nil else { return .refuse("hub.conf does not expect this instance") }
        guard domain == LaunchTokens.doorDomain || domain == LaunchTokens.feedDomain(of: instance) else {
            return .refuse("the feed of another instance")
        }
        return .allow(userID: LogIn.text(ofKey: key.z85))
    }

    /// Who comes without any proof, where `hub.conf` asks for none.
    func verdictOnNobody() -> ZAPRequest.Verdict {
        network.setting?.isInsecure == true ? .allow(userID: LogIn.anyone) : .refuse("a log-in is needed")
    }

    /// Where a message comes from; nil when its log-in is not valid any more.
    func endpoint(of logIn: String?) -> Endpoint? {
        guard let logIn, !logIn.isEmpty else { return .owner }
        if logIn == LogIn.anyone { return .remote(user: nil) }
        guard let key = LogIn.key(in: logIn) else { return .plugin(user: logIn) }
        guard let instance = network.instances[key], facts.instances[instance]?.remote != nil else { return nil }
        return .remote(user: instance)
    }

    /// Reads the keys anew; what was revoked ends now.
    ///
    /// Its sessions are told, its messages are answered with `forbidden` from now on, and then its connections end. At the door all
    /// connections over the network do, because libzmq cannot end one: the others come back at once and lose nothing.
    /// - Returns: how many keys there are, and the instances whose former key is void.
    func reloadKeys() throws(HubError) -> (keys: Int, revoked: [String]) {
        guard let setting = network.setting, !setting.isInsecure else { return (0, []) }
        let entries = try setting.ring.entries()
        let revoked = network.take(entries).sorted()
        for instance in revoked {
            logger.notice("a key was revoked", metadata: ["instance": "\(instance)"])
            perform(sessions.expel(instance, because: "the key of \(instance) has been revoked; ask for a new one"))
            if let feed = feed(of: instance), feed.isOnNetwork {
                feed.close()
                wakeFeed(of: instance)
            }
        }
        if !revoked.isEmpty {
            // The last words get a moment to leave.
            loop.schedule(after: .milliseconds(200)) { [weak self] in self?.assumeIsolated { $0.renewNetwork() } }
        }
        return (entries.count, revoked)
    }
}
