import NIOCore
import NIOWebSocket

/// What a service does with WebSockets.
public protocol SocketService: Sendable {
    /// What becomes of a handshake.
    func admit(_ handshake: WebRequest) async -> SocketAdmission
}

public enum SocketAdmission: Sendable {
    /// Answered with this instead of a WebSocket.
    case refused(WebAnswer)
    case taken(any SocketTalk)
}

/// One WebSocket, from before its handshake is answered: what happens from then on is the other side's to hear.
public protocol SocketTalk: AnyObject, Sendable {
    /// Leads the talk once the socket is open, which it may never be; when this returns or throws, the socket is closed.
    func run(_ socket: StandInSocket) async throws
}

/// An open WebSocket of text frames, from the service's side.
///
/// Any task may send; one reads.
public struct StandInSocket: Sendable {
    let channel: any Channel
    let inbound: NIOAsyncChannelInboundStream<WebSocketFrame>
    let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>

    /// Returns when the frame is with the system, which may be never: the other side need not read.
    public func send(_ text: String) async throws {
        try await outbound.write(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)))
    }

    /// Says that all is said (status 1000); the other side ends the connection.
    public func sayGoodbye() async throws { try await close(.normalClosure) }

    /// Ends the connection at once and without a word, also where a sender waits.
    public func cut() { channel.close(promise: nil) }

    /// Calls `body` with each text until the other side has ended the connection, or `body` returns false.
    /// - Throws: what `body` throws; what the other side is told of its own fault.
    public func read(_ body: (String) async throws -> Bool) async throws {
        for try await frame in inbound {
            switch frame.opcode {
            case .text:
                guard let text = String(validating: frame.unmaskedData.readableBytesView, as: UTF8.self) else {
                    throw SocketFault(.dataInconsistentWithMessage)
                }
                guard try await body(text) else { return }
            case .ping:
                try await outbound.write(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData))
            case .connectionClose:
                try await outbound.write(
                    WebSocketFrame(fin: true, opcode: .connectionClose, data: frame.unmaskedData))
                return
            case .pong: break
            default: throw SocketFault(.unacceptableData)
            }
        }
    }

    func close(_ code: WebSocketErrorCode) async throws {
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        try await outbound.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
    }
}
