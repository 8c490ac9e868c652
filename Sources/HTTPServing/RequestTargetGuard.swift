import NIOCore
import NIOHTTP1

/// Refuses requests that do not say clearly which host they mean (RFC 9112, 3.2): several `Host` lines, none, or a
/// target with the name of another host.
///
/// It stands before the conversion to the types that the rest reads, which has only the first `Host` and no name of a
/// target.
final class RequestTargetGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private var isOver = false
    /// For how long the other side may read the refusal.
    private let farewell: TimeAmount

    init(farewell: TimeAmount) { self.farewell = farewell }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        if case .head(let head) = unwrapInboundIn(data), let fault = Self.fault(head) {
            isOver = true
            return refuse(context, fault)
        }
        context.fireChannelRead(data)
    }

    /// What is wrong with it, in words.
    static func fault(_ head: HTTPRequestHead) -> String? {
        let hosts = head.headers[canonicalForm: "host"].map(String.init)
        guard hosts.count <= 1 else { return "a request has one Host line; this one has \(hosts.count)" }
        let host = hosts.first
        guard host != nil || head.version == .http1_0 else { return "a request has a Host line; this one has none" }
        if head.uri.hasPrefix("/") || head.uri == "*" && head.method == .OPTIONS { return nil }
        let scheme = head.uri.prefix { $0 != "/" }
        guard ["http:", "https:"].contains(scheme.lowercased()), head.uri.dropFirst(scheme.count).hasPrefix("//") else {
            return "the target of a request begins with /"
        }
        let name = head.uri.dropFirst(scheme.count + 2).prefix { !"/?#".contains($0) }
        return name.lowercased() == host?.lowercased()
            ? nil : "the target of the request names another host than its Host line"
    }

    private func refuse(_ context: ChannelHandlerContext, _ fault: String) {
        let body = ByteBuffer(string: "400 Bad Request: \(fault).\n")
        let head = HTTPResponseHead(
            version: .http1_1, status: .badRequest,
            headers: [
                "Content-Type": "text/plain; charset=utf-8", "Content-Length": "\(body.readableBytes)",
                "Connection": "close",
            ])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(mode: .output, promise: nil)
        let channel = context.channel
        _ = context.eventLoop.scheduleTask(in: farewell) { channel.close(promise: nil) }
    }
}
