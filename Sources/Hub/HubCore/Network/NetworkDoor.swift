import HubSettings
import HubWire
import Logging
import ZeroMQ

// MARK: - Opening and closing

extension Door {
    /// Opens the door to the network, if `hub.conf` says so, and the feeds of instances on other machines.
    ///
    /// Endpoints that cannot be opened are retried; meanwhile the hub works for its own machine.
    func openNetwork() {
        guard let setting = gate.network.setting else { return }
        do throws(HubError) {
            if !setting.isInsecure {
                gate.network.hubKey = try setting.ring.hubKeys().secretKey
                _ = gate.network.take(try setting.ring.entries())
            }
        } catch {
            gate.network.fault = error.message
            return logger.error("the network stays closed", metadata: ["error": "\(error.message)"])
        }
        bindDoorToNetwork()
        followRemoteInstances()
    }

    private func bindDoorToNetwork() {
        guard isBound, let setting = gate.network.setting, !gate.network.isOpen, gate.network.pausedUntil <= now else {
            return
        }
        do throws(ZeroMQError) {
            try guardDoor(setting)
            try socket?.bind(setting.endpoint.description)
            gate.network.isOpen = true
            gate.network.fault = nil
            logger.notice("the door is open to the network", metadata: ["endpoint": "\(setting.endpoint)"])
        } catch {
            // After a close, libzmq needs a moment to release the port.
            if gate.network.fault == nil, error.code != .addressInUse || gate.network.lastFailedAt != nil {
                gate.network.fault = "\(setting.endpoint) cannot be opened: \(error.reason)"
                logger.error("the network stays closed", metadata: ["error": "\(error)"])
            }
            gate.network.lastFailedAt = now
            let pause = gate.network.fault == nil ? Duration.milliseconds(50) : .seconds(2)
            loop.schedule(after: pause) { [weak self] in self?.bindDoorToNetwork() }
        }
    }

    /// Sets options for the next bind; they do not affect endpoints that are already bound.
    private func guardDoor(_ setting: Network.Setting) throws(ZeroMQError) {
        try socket?.set(.zapDomain, to: LaunchTokens.doorDomain)
        // A connection that does not prove its identity in time is ended; local peers keep libzmq's half minute.
        try socket?.set(.handshakeInterval, to: Network.patience)
        try socket?.set(.backlog, to: Network.queue)
        try socket?.set(.tcpKeepalive, to: true)
        try socket?.set(.tcpKeepaliveIdle, to: 60)
        try socket?.set(.tcpKeepaliveInterval, to: 20)
        try socket?.set(.tcpKeepaliveCount, to: 3)
        try socket?.set(.ipv6, to: setting.endpoint.isIPv6)
        if let key = gate.network.hubKey {
            try socket?.set(.curveServer, to: true)
            try socket?.set(.curveSecretKey, to: key)
        } else {
            try socket?.set(.plainServer, to: false)
        }
    }

    /// Ends all network connections, and lets them reconnect.
    ///
    /// libzmq cannot end one connection of a socket; it can release an endpoint with all of its connections.
    private func renewNetwork() {
        guard let setting = gate.network.setting, gate.network.isOpen else { return }
        gate.network.isOpen = false
        gate.network.lastFailedAt = nil
        do throws(ZeroMQError) {
            try socket?.unbind(setting.endpoint.description)
        } catch {
            logger.error("the network could not be closed", metadata: ["error": "\(error)"])
        }
        bindDoorToNetwork()
    }

    /// Makes room for connections: ends those without proof, the longest silent first; if that is not enough, ends all for a while.
    ///
    /// - Parameters:
    ///   - open: the number of open files and connections.
    ///   - limit: the maximum of that number.
    func relieveNetwork(open: Int, of limit: Int) {
        guard gate.network.isOpen, let setting = gate.network.setting else { return }
        let ports = [setting.endpoint.port] + facts.instances.values.compactMap { $0.remote?.feedPort }
        let ended = SilentConnections.end(
            on: Set(ports.compactMap { UInt16(exactly: $0) }),
            proof: SilentConnections.bytesOfProof(isInsecure: setting.isInsecure), count: open - limit * 3 / 8)
        guard ended == 0 else {
            return logOfSessions(
                .warning, "connections over the network that did not authenticate were ended", ["count": "\(ended)"])
        }
        pauseNetwork(because: "\(open) files and connections are open, of \(limit)")
    }

    /// Closes the network for a while, because its connections use up resources that the hub needs.
    func pauseNetwork(because reason: String) {
        guard gate.network.isOpen else { return }
        logger.error(
            "the network is closed for a while", metadata: ["reason": "\(reason)", "for": "\(Self.networkPause)"])
        gate.network.pausedUntil = now + Int64(Self.networkPause / .milliseconds(1))
        renewNetwork()
        feeds.pauseNetwork()
        loop.schedule(after: Self.networkPause) { [weak self] in
            self?.bindDoorToNetwork()
            self?.feeds.wakeNetwork()
        }
    }

    private static let networkPause = Duration.seconds(10)

    /// Opens and closes feeds to match `hub.conf`.
    func followRemoteInstances() {
        guard let setting = gate.network.setting, setting.isInsecure || gate.network.hubKey != nil else { return }
        var endpoints: [String: String] = [:]
        for (instance, policy) in facts.instances {
            guard let port = policy.remote?.feedPort, let endpoint = setting.endpoint.with(port: port) else { continue }
            endpoints[instance] = endpoint.description
        }
        feeds.follow(remote: endpoints, key: gate.network.hubKey)
    }
}

// MARK: - Keys

extension Door {
    /// Reads the keys again, and ends sessions with a revoked key at once.
    ///
    /// The hub sends these sessions an error, answers later messages with `forbidden`, and then ends their connections. At the door this
    /// ends all network connections, because libzmq cannot end a single one; the others reconnect at once and lose nothing.
    /// - Returns: the number of keys, and the instances whose former key is void.
    func reloadKeys() throws(HubError) -> (keys: Int, revoked: [String]) {
        guard let setting = gate.network.setting, !setting.isInsecure else { return (0, []) }
        let entries = try setting.ring.entries()
        let revoked = gate.network.take(entries).sorted()
        for instance in revoked {
            logger.notice("a key was revoked", metadata: ["instance": "\(instance)"])
            perform(sessions.expel(instance, because: "the key of \(instance) has been revoked; ask for a new one"))
            feeds.renew(of: instance)
        }
        if !revoked.isEmpty {
            // The last messages get a moment to leave.
            loop.schedule(after: .milliseconds(200)) { [weak self] in self?.renewNetwork() }
        }
        return (entries.count, revoked)
    }
}
