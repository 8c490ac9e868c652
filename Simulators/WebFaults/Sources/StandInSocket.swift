import NIOCore
import NIOWebSocket

/// Handles the WebSockets of a service.
public protocol SocketService: Sendable {
    /// Decides about a handshake.
    func admit(_ handshake: WebRequest) async -> SocketAdmission
}

public enum SocketAdmission: Sendable {
    /// The answer that replaces the WebSocket.
    case refused(WebAnswer)
    case taken(any SocketHandler)
}

/// One WebSocket, from before its handshake is answered, so that no event after that point is missed.
public protocol SocketHandler: AnyObject, Sendable {
    /// Runs the conversation once the socket is open, which may never happen; when it returns or throws, the socket is closed.
    func run(_ socket: StandInSocket) async throws
}

/// The service's side of an open WebSocket with text frames.
///
/// Any task may send; only one may read.
public struct StandInSocket: Sendable {
    let channel: any Channel
    let inbound: NIOAsyncChannelInboundStream<WebSocketFrame>
    let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>

    /// Returns when the frame has been written, which may never happen, because the other side need not read.
    public func send(_ text: String) async throws {
        try await outbound.write(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)))
    }

    /// Sends a normal close (status 1000); the other side ends the connection.
    public func sendClose() async throws { try await close(.normalClosure) }

    /// Ends the connection immediately without a close frame, even if a sender is waiting.
    public func cut() { channel.close(promise: nil) }

    /// Calls `body` with each text until the other side has ended the connection, or `body` returns false.
    /// - Throws: the error that `body` throws; the fault of the other side, which is reported to it.
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
