import NIOCore
import NIOHTTP1

/// Enforces the limits of a connection: refuses unreadable, oversized, late and misdirected requests once, and closes the connection.
///
/// It stands between the parser and the other handlers, which receive only whole requests and only well-formed WebSocket handshakes. The
/// libraries behind it take the end of a connection for the end of a body, and drop requests that resemble a handshake.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// How long a request may take to arrive, and a connection may be idle.
    private let patience: TimeAmount
    /// Maximum number of bytes of a request's body.
    private let largestBody: Int
    private let names: OwnNames
    /// How long to keep reading after the last answer, so that data already sent by the other side does not end the connection before it has
    /// read that answer.
    private static let farewell = TimeAmount.seconds(1)

    private var timer: Scheduled<Void>?
    private var isFirst = true
    /// The received parts of an unfinished request; empty between requests.
    private var held: [HTTPServerRequestPart] = []
    private var heldBytes = 0
    /// The number of forwarded requests without a complete answer.
    private var pending = 0
    /// The reason for reading nothing more; sent after all earlier answers.
    private var lastWord: HTTPResponseStatus?
    /// Whether the connection ends after the answers in progress.
    private var isLast = false
    private var isOver = false

    init(patience: TimeAmount, largestBody: Int, names: OwnNames) {
        (self.patience, self.largestBody, self.names) = (patience, largestBody, names)
    }

    func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { wait(context) } }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelActive(context: ChannelHandlerContext) {
        wait(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        isOver = true
        context.fireChannelInactive()
    }

    // MARK: - Incoming

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver, lastWord == nil else { return }
        let part = unwrapInboundIn(data)
        held.append(part)
        switch part {
        case .head(var head):
            heldBytes = 0
            guard head.headers["host"].allSatisfy(names.include) else { return refuse(.misdirectedRequest, context) }
            switch Handshake(head, isFirst: isFirst) {
            case .none, .good: break
            case .foreign:
                // An offered upgrade to another protocol need not be accepted.
                head.headers.remove(name: "upgrade")
                held = [.head(head)]
            case .bad: return refuse(.badRequest, context)
            }
            isFirst = false
            wait(context)
        case .body(let bytes):
            heldBytes += bytes.readableBytes
            if heldBytes > largestBody { refuse(.payloadTooLarge, context) }
        case .end:
            let request = held
            (held, pending) = ([], pending + 1)
            timer?.cancel()
            for part in request { context.fireChannelRead(wrapInboundOut(part)) }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if isOver { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case is HTTPParserError: if !isOver { refuse(.badRequest, context) }
        case is ByteToMessageDecoderError: break  // More bytes arrived after unreadable ones.
        default: context.fireErrorCaught(error)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed where isOver: context.close(promise: nil)
        case is ChannelShouldQuiesceEvent:
            isLast = true
            if pending == 0 { context.close(promise: nil) }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    // MARK: - Outgoing

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOver else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        guard case .end = unwrapOutboundIn(data) else {
            context.write(data, promise: promise)
            return
        }
        pending -= 1
        guard pending == 0, isLast || lastWord != nil else {
            context.write(data, promise: promise)
            return wait(context)
        }
        let isWritten = promise ?? context.eventLoop.makePromise()
        context.writeAndFlush(data, promise: isWritten)
        if let lastWord { refuse(lastWord, context) } else { leave(context, after: isWritten.futureResult) }
    }

    /// Stops reading; sends the refusal when all earlier requests are answered, and closes the connection.
    private func refuse(_ status: HTTPResponseStatus, _ context: ChannelHandlerContext) {
        (lastWord, held) = (status, [])
        timer?.cancel()
        guard pending == 0 else { return }
        let head = HTTPResponseHead(
            version: .http1_1, status: status, headers: ["Connection": "close", "Content-Length": "0"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        leave(context, after: context.writeAndFlush(wrapOutboundOut(.end(nil))))
    }

    private func leave(_ context: ChannelHandlerContext, after lastWord: EventLoopFuture<Void>) {
        isOver = true
        let bound = context.loopBound
        lastWord.whenComplete { _ in bound.value.close(mode: .output, promise: nil) }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.farewell) { context.close(promise: nil) }
    }

    // MARK: - Time

    /// Restarts the time limit; it does not run while an answer is in progress and no request has begun to arrive.
    private func wait(_ context: ChannelHandlerContext) {
        timer?.cancel()
        guard !isOver, lastWord == nil, !held.isEmpty || pending == 0 else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: patience) { [self] in
            if held.isEmpty { context.close(promise: nil) } else { refuse(.requestTimeout, context) }
        }
    }
}

/// The kind of upgrade that a request asks for.
private enum Handshake {
    case none, good, bad
    /// An upgrade to an unsupported protocol.
    case foreign

    init(_ head: HTTPRequestHead, isFirst: Bool) {
        let headers = head.headers
        let wanted = headers[canonicalForm: "upgrade"].map { $0.lowercased() }
        guard head.method != .CONNECT else {
            self = .bad
            return
        }
        guard wanted.contains("websocket") else {
            self = wanted.isEmpty ? .none : .foreign
            return
        }
        let keys = headers["sec-websocket-key"]
        let isGood =
            isFirst && wanted == ["websocket"] && head.method == .GET && headers["sec-websocket-version"] == ["13"]
            && keys.count == 1 && keys[0].utf8.count == 24
            && headers[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
            && headers["content-length"].allSatisfy { $0 == "0" } && headers["transfer-encoding"].isEmpty
        self = isGood ? .good : .bad
    }
}
