import NIOCore
import NIOWebSocket

/// What a service does with WebSockets.
public protocol SocketService: Sendable {
    /// What a handshake is answered with instead of a WebSocket; nil when it is taken.
    func refusal(of handshake: WebRequest) async -> WebAnswer?

    /// Leads the talk on an open socket; when it returns or throws, the socket is closed.
    func talk(_ handshake: WebRequest, _ socket: StandInSocket) async throws
}

/// An open WebSocket of text frames, from the service's side.
///
/// Any task may send; one reads.
public struct StandInSocket: Sendable {
    let inbound: NIOAsyncChannelInboundStream<WebSocketFrame>
    let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>

    public func send(_ text: String) async throws {
        try await outbound.write(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)))
    }

    /// Says that all is said (status 1000); the other side ends the connection.
    public func sayGoodbye() async throws {
        var data = ByteBuffer()
        data.write(webSocketErrorCode: .normalClosure)
        try await outbound.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
    }

    /// Calls `body` with each text until the other side has ended the connection, or `body` returns false.
    public func read(_ body: (String) async throws -> Bool) async throws {
        for try await frame in inbound {
            switch frame.opcode {
            case .text:
                guard try await body(String(buffer: frame.unmaskedData)) else { return }
            case .ping:
                try await outbound.write(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData))
            case .connectionClose:
                try await outbound.write(
                    WebSocketFrame(fin: true, opcode: .connectionClose, data: frame.unmaskedData))
                return
            default: break
            }
        }
    }
}
