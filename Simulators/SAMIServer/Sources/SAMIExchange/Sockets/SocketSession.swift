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

    /// The kind of socket of a path below `/v1.1`.
    enum SocketKind: String { case websocket, live, events }

    func socket(_ path: String) -> SocketKind? {
        let parts = path.split(separator: "/")
        guard parts.count == 2, parts[0].lowercased() == "v1.1" else { return nil }
        let kind = SocketKind(rawValue: String(parts[1]))
        return kind == .events && !dialect.isLater ? nil : kind
    }

    /// The subscription that a handshake requests; `nil` for a device's socket.
    /// - Throws: ``APIError``, which the handshake answers with.
    func hearing(_ handshake: WebRequest) throws -> SocketRegistry.Subscription? {
        switch socket(handshake.path) {
        case .websocket: nil
        case .live: .messages(try liveFilter(handshake))
        case .events: .events(try eventFilter(handshake))
        case nil: throw APIError.notFound
        }
    }
}

/// One WebSocket; it is registered before its handshake is answered, so that no frame is missed in between.
final class SocketSession: SocketHandler {
    private let exchange: Exchange
    private let handshake: WebRequest
    /// `nil` for a device's socket, which sends messages.
    private let hearing: SocketRegistry.Subscription?
    private let number: Int
    private let frames: AsyncStream<SocketRegistry.Frame>

    init(_ exchange: Exchange, _ handshake: WebRequest) throws {
        (self.exchange, self.handshake) = (exchange, handshake)
        hearing = try exchange.hearing(handshake)
        (number, frames) = exchange.sockets.open(hearing)
    }

    /// Unregisters the socket if the connection ended before it was open.
    deinit { leave() }

    private func leave() {
        for (did, caller) in exchange.sockets.close(number) { exchange.reportDisconnection(did, caller) }
    }

    /// Returns when either side has ended the connection.
    func run(_ socket: StandInSocket) async throws {
        defer { leave() }
        exchange.sockets.opened(number, cut: socket.cut)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in try await read(socket) }
            group.addTask { [self] in for await frame in frames { try await pass(frame, socket) } }
            group.addTask { [self] in try await ping(socket) }
            if hearing == nil { group.addTask { [self] in try await expectRegistration(socket) } }
            // The first task that ends, ends all.
            _ = try await group.next()
            group.cancelAll()
        }
    }

    /// The faults of a frame, which have a separate path: that of the handshake, with `/frame` appended.
    private func disturbance() -> [Fault.Kind] {
        exchange.faults.draw(for: handshake.path + "/frame") { kind in
            switch kind {
            case .delay, .cutBefore, .cutAfter, .form("twice"): true
            default: false
            }
        }.map(\.kind)
    }

    /// Sends a frame of the exchange; each frame has the same delay, so that the order stays.
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

    /// Ends a device's socket if it does not register in time.
    private func expectRegistration(_ socket: StandInSocket) async throws {
        try await Task.sleep(for: .seconds(exchange.options.registrationSeconds))
        guard exchange.sockets.devices(on: number).isEmpty else {
            // The first task of a socket that ends, ends all.
            return try await Task.sleep(for: .seconds(366 * 86_400))
        }
        try await socket.send(#"{"error":{"code":400,"message":"Registration timeout"}}"#)
        try await socket.sendClose()
    }

    private func read(_ socket: StandInSocket) async throws {
        let acknowledges = try QueryParameters(handshake.query).flag("ack")
        var dialogue = hearing == nil ? DeviceDialogue(exchange, number: number, acknowledges: acknowledges) : nil
        try await socket.read { text in
            let drawn = disturbance()
            for case .delay(let seconds) in drawn { try await Task.sleep(for: .seconds(seconds)) }
            // A fault cuts a device's socket before or after its frame is processed.
            guard !drawn.contains(.cutBefore) else { return false }
            guard !exchange.faults.isSilent else { return true }
            let answer = dialogue?.answer(to: text, isTwice: drawn.contains(.form("twice")))
            guard !drawn.contains(.cutAfter) else { return false }
            if let answer { try await socket.send(answer) }
            return true
        }
    }
}
