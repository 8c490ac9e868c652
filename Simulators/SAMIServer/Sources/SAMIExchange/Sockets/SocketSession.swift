public import WebFaults

extension Exchange: SocketService {
    public func admit(_ handshake: WebRequest) async -> SocketAdmission {
        for fault in faults.draw(for: handshake.path) {
            switch fault.kind {
            case .delay(let seconds): try? await Task.sleep(for: .seconds(seconds))
            case .status(let status): return .refused(WebAnswer(status))
            case .tooMany: return .refused(APIError(429, "Rate limit exceeded").answer)
            case .form("expired"): return .refused(APIError.unauthorized.answer)
            default: break
            }
        }
        do {
            return .taken(try SocketSession(self, handshake))
        } catch {
            return .refused((error as? APIError)?.answer ?? WebAnswer(500))
        }
    }
}

/// One WebSocket: registered before its handshake is answered, so that nothing is missed between.
final class SocketSession: SocketTalk {
    private let exchange: Exchange
    private let handshake: WebRequest
    /// Nil for a device's socket, which is listened to.
    private let hearing: SocketRegistry.Subscription?
    private let number: Int
    private let frames: AsyncStream<SocketRegistry.Frame>

    init(_ exchange: Exchange, _ handshake: WebRequest) throws {
        (self.exchange, self.handshake) = (exchange, handshake)
        hearing = try exchange.hearing(handshake)
        (number, frames) = exchange.sockets.open(hearing)
    }

    /// Where the connection ended before it was open.
    deinit { leave() }

    private func leave() {
        for (did, caller) in exchange.sockets.close(number) { exchange.tellDisconnected(did, caller) }
    }

    /// Returns when either side has ended it.
    func run(_ socket: StandInSocket) async throws {
        defer { leave() }
        exchange.sockets.opened(number, cut: socket.cut)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in try await read(socket) }
            group.addTask { [self] in for await frame in frames { try await pass(frame, socket) } }
            group.addTask { [self] in try await ping(socket) }
            if hearing == nil { group.addTask { [self] in try await expectRegistration(socket) } }
            // The first that ends, ends all.
            _ = try await group.next()
            group.cancelAll()
        }
    }

    /// What goes wrong with a frame, which has a path of its own: that of the handshake, and `/frame`.
    private func disturbance() -> [Fault.Kind] {
        exchange.faults.draw(for: handshake.path + "/frame") { kind in
            switch kind {
            case .delay, .cutBefore, .cutAfter, .form("twice"): true
            default: false
            }
        }.map(\.kind)
    }

    /// Sends what the exchange has to tell; late by the same time for each frame, so that the order stays.
    private func pass(_ frame: SocketRegistry.Frame, _ socket: StandInSocket) async throws {
        let drawn = disturbance()
        for case .delay(let seconds) in drawn { try await Task.sleep(until: frame.time + .seconds(seconds)) }
        if !drawn.contains(.cutBefore) { try await socket.send(frame.text) }
        if drawn.contains(.cutBefore) || drawn.contains(.cutAfter) { socket.cut() }
    }

    /// SAMI's pings are frames of JSON.
    private func ping(_ socket: StandInSocket) async throws {
        while true {
            try await Task.sleep(for: .seconds(exchange.options.pingSeconds))
            guard !exchange.faults.isSilent else { continue }
            let time = exchange.dialect.isLater ? #","ts":\#(exchange.now)"# : ""
            try await socket.send(#"{"type":"ping"\#(time)}"#)
        }
    }

    /// Ends a device's socket without a registration in time.
    private func expectRegistration(_ socket: StandInSocket) async throws {
        try await Task.sleep(for: .seconds(exchange.options.registrationSeconds))
        guard exchange.sockets.devices(on: number).isEmpty else {
            // Of the tasks of a socket the first that ends, ends all.
            return try await Task.sleep(for: .seconds(366 * 86_400))
        }
        try await socket.send(#"{"error":{"code":400,"message":"Registration timeout"}}"#)
        try await socket.sayGoodbye()
    }

    private func read(_ socket: StandInSocket) async throws {
        let acknowledges = try Question(handshake.query).flag("ack")
        var dialogue = hearing == nil ? DeviceDialogue(exchange, number: number, acknowledges: acknowledges) : nil
        try await socket.read { text in
            let drawn = disturbance()
            for case .delay(let seconds) in drawn { try await Task.sleep(for: .seconds(seconds)) }
            // A device's socket that is disturbed is cut, before or after what was said is done.
            guard !drawn.contains(.cutBefore) else { return false }
            guard !exchange.faults.isSilent else { return true }
            let answer = dialogue?.answer(to: text, isTwice: drawn.contains(.form("twice")))
            guard !drawn.contains(.cutAfter) else { return false }
            if let answer { try await socket.send(answer) }
            return true
        }
    }
}
