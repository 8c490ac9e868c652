import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Enforces time limits on a connection, and closes it after its last response.
///
/// A head must arrive within ten seconds, and a body at a kilobyte per second and within two minutes. After a response with
/// `Connection: close` nothing more is read, so a client cannot keep sending a rejected body.
final class TimeoutHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limits: TimeoutLimits
    private var timer: Scheduled<Void>?
    private var deadline: NIODeadline?
    private var received = 0
    private var isReadingBody = false
    private var isLast = false
    private var isOver = false

    /// The number of requests on this connection that are not completely answered.
    private var pending = 0
    private let open: OpenRequests
    private let book: ConnectionLimiter
    private var hasPlace = false

    init(_ limits: TimeoutLimits, _ open: OpenRequests, _ book: ConnectionLimiter) {
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

    /// Checks whether the body still arrives fast enough.
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
