package import HubWire
import Logging
import ZeroMQ

// The transport between the machine and libzmq.
extension HubLink {
    /// Sends a message, or drops it if no session is open.
    func send(_ message: ClientMessage) {
        if let action = machine.message(message) { perform([action]) }
    }

    /// Sends a message that needs no answer; drops it if no session is open or the hub does not read.
    package func sendIfReady(_ message: ClientMessage) {
        if outgoing.isEmpty { send(message) }
    }

    func send(_ message: OutgoingMessage) {
        if outgoing.isEmpty, transfer(message) { return }
        // One HELLO or PING in the queue is enough.
        if message.verb == .ping, outgoing.contains(where: { $0.verb == .ping }) { return }
        if message.verb == .hello { outgoing.removeAll() }
        outgoing.append(message)
        watchSocket()
    }

    /// Whether the socket accepted the message.
    private func transfer(_ message: OutgoingMessage) -> Bool {
        guard isConnected else { return false }
        var frames = Multipart()
        for frame in message.frames { frames.append(frame) }
        do {
            return try socket?.sendMultipart(frames) != .wouldBlock
        } catch {
            logger.error("sending failed", metadata: ["zeromq.error": "\(error)"])
            return true
        }
    }

    private func flush() {
        while let message = outgoing.first, transfer(message) { outgoing.removeFirst() }
        watchSocket()
    }

    /// Watches for writability only while connected, because a socket without a connection reports that it is writable.
    private func watchSocket() {
        watch?.interest = outgoing.isEmpty || !isConnected ? .readable : [.readable, .writable]
    }

    func isReady(_ ready: Readiness) {
        if ready.contains(.writable) { flush() }
        guard ready.contains(.readable) else { return }
        for _ in 0..<PollLoop.messagesPerTurn {
            do {
                guard case .complete? = try socket?.receiveMultipart(into: &incoming) else { return }
            } catch {
                return logger.error("receiving failed", metadata: ["zeromq.error": "\(error)"])
            }
            receive()
        }
    }

    private func receive() {
        guard incoming.count >= 2 else { return }
        let (verb, body, count) = (incoming.bytes(of: 0), incoming.bytes(of: 1), incoming.count)
        let decoded: Result<HubMessage, WireError> = verb.withUnsafeBytes { verb in
            body.withUnsafeBytes { body in
                do throws(WireError) {
                    return .success(try HubMessage.decode(verb: verb, body: body, frameCount: count))
                } catch {
                    return .failure(error)
                }
            }
        }
        switch decoded {
        case .success(let message): step { $0.receive(message, at: $1) }
        case .failure(let error):
            logger.error("the hub sent an unreadable message", metadata: ["hub.error": "\(error)"])
            let verb = verb.withUnsafeBytes { Verb($0) }
            step { $0.receive(malformed: error, verb: verb, at: $1) }
        }
    }

    func monitorIsReady() {
        while let event = try? monitor?.receive() {
            switch event.kind {
            case .handshakeSucceeded: connected()
            case .handshakeRefused:
                fail(WireError(.forbidden, address.refusal, closed: true))
            case .handshakeMismatched:
                fail(WireError(.forbidden, address.mismatch, closed: true))
            case .handshakeFailed: askForLogIn()
            case .disconnected: disconnected()
            default: break
            }
        }
    }

    /// Finds out whether the hub closed the connection because it requires another kind of log-in, without having had time to report it.
    private func askForLogIn() {
        // Keep a probe that waits for an answer: on a busy machine, replacing it each time would mean that none is ever read.
        if let greetingBegan, .now - greetingBegan < .seconds(5) { return }
        guard let greeting = try? PeerGreeting(of: address.door, in: context) else { return }
        greetingBegan = .now
        loop.watch(greeting.socket) { [weak self] _ in self?.assumeIsolated { $0.readGreeting() } }
        self.greeting = consume greeting
    }

    private func readGreeting() {
        guard let kind = try? greeting?.receive() else { return }
        greeting = nil
        greetingBegan = nil
        if kind != address.mechanism { fail(WireError(.forbidden, address.mismatch, closed: true)) }
    }

    /// Handles a new connection, which is a new peer to the hub: a session that the machine takes for open no longer exists.
    ///
    /// The answer to a PING (`hello-first`) reports that immediately instead of after the heartbeat's timeout (R4.2).
    private func connected() {
        isConnected = true
        outgoing.removeAll { $0.verb != .hello }
        send(.ping(.emptyObject))
        flush()
    }

    private func disconnected() {
        isConnected = false
        watchSocket()
        lost("the connection ended")
    }
}
