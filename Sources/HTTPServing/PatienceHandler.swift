import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Keeps a connection within bounds of time, and ends it with its last answer.
///
/// A head comes within ten seconds, a body at a kilobyte a second and within two minutes. After an answer with `Connection: close` nothing more
/// is read: who sends a gigabyte to a door that said no is not listened to.
final class PatienceHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limits: PatienceLimits
    private var timer: Scheduled<Void>?
    private var deadline: NIODeadline?
    private var received = 0
    private var isReadingBody = false
    private var isLast = false
    private var isOver = false

    /// Requests of this connection that are not answered to their end.
    private var pending = 0
    private let open: OpenRequests
    private let book: ConnectionBook
    private var hasPlace = false

    init(_ limits: PatienceLimits, _ open: OpenRequests, _ book: ConnectionBook) {
        (self.limits, self.open, self.book) = (limits, open, book)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        if let codec = try? pipeline.handler(type: HTTP1ToHTTPServerCodec.self) {
            try? pipeline.addHandler(RequestTargetGuard(farewell: limits.farewell), position: .before(codec))
        }
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard !hasPlace else { return }
        guard book.open(context.channel) else {
            isOver = true
            return context.close(promise: nil)
        }
        hasPlace = true
        wait(context, limits.head)
    }

    func channelInactive(context: ChannelHandlerContext) {
        book.close(context.channel)
        timer?.cancel()
        open.end(pending)
        pending = 0
        context.fireChannelInactive()
    }

    private func wait(_ context: ChannelHandlerContext, _ time: TimeAmount) {
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head:
            (isReadingBody, received, deadline) = (true, 0, .now() + limits.body)
            pending += 1
            open.begin()
            book.change(context.channel, to: .receiving)
            look(context)
        case .body(let bytes): received += bytes.readableBytes
        case .end:
            isReadingBody = false
            book.change(context.channel, to: pending > 0 ? .answering : .waiting)
            timer?.cancel()
        }
        context.fireChannelRead(data)
    }

    /// Whether the body still comes as fast as it should.
    private func look(_ context: ChannelHandlerContext) {
        timer?.cancel()
        let before = received
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limits.pace) { [self] in
            guard isReadingBody else { return }
            let isLate = deadline.map { .now() > $0 } ?? false
            if isLate || received - before < limits.bytes { context.close(promise: nil) } else { look(context) }
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            isLast = head.headerFields[.connection] == "close"
            context.write(data, promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            let (promise, channel) = (promise ?? context.eventLoop.makePromise(of: Void.self), context.channel)
            promise.futureResult.assumeIsolated().whenComplete { [self] _ in
                guard pending > 0 else { return }
                pending -= 1
                open.end(1)
                if pending == 0, !isReadingBody { book.change(channel, to: .waiting) }
            }
            guard isLast else {
                context.write(data, promise: promise)
                if !isReadingBody { wait(context, limits.idle) }
                return
            }
            isOver = true
            timer?.cancel()
            context.writeAndFlush(data, promise: promise)
            context.close(mode: .output, promise: nil)
            timer = context.eventLoop.assumeIsolated().scheduleTask(in: limits.farewell) { context.close(promise: nil) }
        }
    }
}
