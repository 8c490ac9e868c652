public import WebFaults

extension Exchange: SocketService {
    public func refusal(of handshake: WebRequest) async -> WebAnswer? {
        for fault in faults.draw(for: handshake.path) {
            switch fault.kind {
            case .delay(let seconds): try? await Task.sleep(for: .seconds(seconds))
            case .status(let status): return WebAnswer(status)
            case .tooMany: return APIError(429, "Rate limit exceeded").answer
            case .form("expired"): return APIError.unauthorized.answer
            default: break
            }
        }
        do {
            switch Self.socket(handshake.path) {
            case .websocket: return nil
            case .live:
                _ = try liveFilter(handshake)
                return nil
            case nil: return APIError.notFound.answer
            }
        } catch {
            return (error as? APIError)?.answer ?? WebAnswer(500)
        }
    }

    public func talk(_ handshake: WebRequest, _ socket: StandInSocket) async throws {
        try await SocketSession(exchange: self, handshake: handshake, socket: socket).run()
    }
}

/// One open WebSocket, from its handshake to its end.
struct SocketSession {
    let exchange: Exchange
    let handshake: WebRequest
    let socket: StandInSocket

    /// Returns when either side has ended it.
    func run() async throws {
        let isLive = Exchange.socket(handshake.path) == .live
        let (number, frames) = exchange.sockets.open(isLive ? try exchange.liveFilter(handshake) : nil)
        defer { exchange.sockets.close(number) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await read(isLive ? nil : number) }
            group.addTask { for await frame in frames { try await socket.send(frame) } }
            group.addTask { try await ping() }
            if !isLive { group.addTask { try await expectRegistration(number) } }
            // The first that ends, ends all.
            _ = try await group.next()
            group.cancelAll()
        }
    }

    /// SAMI's pings are frames of JSON.
    private func ping() async throws {
        while true {
            try await Task.sleep(for: .seconds(exchange.options.pingSeconds))
            guard !exchange.faults.isSilent else { continue }
            let time = exchange.dialect.isLater ? #","ts":\#(exchange.now)"# : ""
            try await socket.send(#"{"type":"ping"\#(time)}"#)
        }
    }

    /// Ends a device's socket on which nobody has registered in time.
    private func expectRegistration(_ number: Int) async throws {
        try await Task.sleep(for: .seconds(exchange.options.registrationSeconds))
        guard exchange.sockets.devices(on: number).isEmpty else {
            // Of the tasks of a socket the first that ends, ends all.
            return try await Task.sleep(for: .seconds(366 * 86_400))
        }
        try await socket.send(#"{"error":{"code":400,"message":"Registration timeout"}}"#)
        try await socket.sayGoodbye()
    }

    /// - Parameter number: of a device socket; a live one is not listened to.
    private func read(_ number: Int?) async throws {
        let acknowledges = try Question(handshake.query).flag("ack")
        var dialogue = number.map { DeviceDialogue(exchange, number: $0, acknowledges: acknowledges) }
        try await socket.read { text in
            let drawn = exchange.faults.draw(for: handshake.path)
            // A device's socket that is disturbed is cut, before or after what was said is done.
            guard !drawn.contains(where: { $0.kind == .cutBefore }) else { return false }
            guard !exchange.faults.isSilent else { return true }
            let answer = dialogue?.answer(to: text, isTwice: drawn.contains { $0.kind == .form("twice") })
            guard !drawn.contains(where: { $0.kind == .cutAfter }) else { return false }
            if let answer { try await socket.send(answer) }
            return true
        }
    }
}
