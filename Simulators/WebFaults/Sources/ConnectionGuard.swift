import NIOCore
import NIOHTTP1

/// Keeps a connection within bounds: what cannot be read as a request, is meant for another host, is too large or does not come to its end in time is
/// answered once, and the connection closed.
///
/// Stands between the parser and everything else, which sees whole requests only, and asks for a WebSocket that are well formed: the
/// libraries behind take the end of a connection for the end of a body, and forget requests that look like a handshake and are none.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// How long a request may take to come, and a connection be without one.
    private let patience: TimeAmount
    /// Bytes of a request's body at most.
    private let largestBody: Int
    private let names: OwnNames
    /// How long the other side is still listened to after the last word: what it has sent already must not end the connection before it
    /// has read that word.
    private static let farewell = TimeAmount.seconds(1)

    private var timer: Scheduled<Void>?
    private var isFirst = true
    /// What has come of a request whose end has not; empty between two.
    private var held: [HTTPServerRequestPart] = []
    private var heldBytes = 0
    /// Requests that were passed on and whose answer has not ended.
    private var pending = 0
    /// Why nothing more is read; said when everything before is answered.
    private var lastWord: HTTPResponseStatus?
    /// The connection ends with the answers that are being made.
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

    // MARK: - What comes

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
                // An offer of another protocol need not be taken.
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
        case is ByteToMessageDecoderError: break  // More came after what could not be read.
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

    // MARK: - What goes

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

    /// Listens no more; answers as soon as everything before is answered, and closes.
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

    /// Counts from the beginning; while an answer is being made and nothing has begun to come, nothing is counted.
    private func wait(_ context: ChannelHandlerContext) {
        timer?.cancel()
        guard !isOver, lastWord == nil, !held.isEmpty || pending == 0 else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: patience) { [self] in
            if held.isEmpty { context.close(promise: nil) } else { refuse(.requestTimeout, context) }
        }
    }
}

/// What a head asks for beside a plain answer.
private enum Handshake {
    case none, good, bad
    /// A change to a protocol that is not spoken here.
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
