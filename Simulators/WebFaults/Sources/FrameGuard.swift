import NIOCore
import NIOWebSocket

/// Ends a WebSocket whose other side violates the rules of frames (RFC 6455 §5), which the library does not check.
///
/// Every frame of a client must be masked, reserved bits must not be set, operations must be known, and a close frame must have a valid code.
final class FrameGuard: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        let frame = unwrapInboundIn(data)
        guard Self.isGood(frame) else {
            isOver = true
            context.fireErrorCaught(SocketFault(.protocolError))
            return
        }
        context.fireChannelRead(data)
    }

    private static func isGood(_ frame: WebSocketFrame) -> Bool {
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return false }
        switch frame.opcode {
        case .continuation, .text, .binary, .ping, .pong: return true
        case .connectionClose: return isReason(frame.unmaskedData)
        default: return false
        }
    }

    private static func isReason(_ data: ByteBuffer) -> Bool {
        var data = data
        guard data.readableBytes > 0 else { return true }
        guard let code = data.readInteger(as: UInt16.self) else { return false }
        guard (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code) else {
            return false
        }
        return String(validating: data.readableBytesView, as: UTF8.self) != nil
    }
}

/// The reason why this side closes a WebSocket.
struct SocketFault: Error {
    let code: WebSocketErrorCode

    init(_ code: WebSocketErrorCode) { self.code = code }

    /// The close code for an error on a connection; `nil` if the other side is not at fault.
    static func code(_ error: any Error) -> WebSocketErrorCode? {
        switch error {
        case let fault as SocketFault: fault.code
        case NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments:
            .messageTooLarge
        case is NIOWebSocketFrameAggregator.Error: .protocolError
        default: nil
        }
    }
}
