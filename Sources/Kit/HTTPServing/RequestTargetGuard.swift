import NIOCore
import NIOHTTP1

/// Rejects requests with an ambiguous host (RFC 9112, 3.2): several `Host` lines, none, or a target with the name of another host.
///
/// It runs before the conversion to the types used later, which keep only the first `Host` and drop the host name of a target.
final class RequestTargetGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private var isOver = false
    /// How long the client may take to read the rejection.
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

    /// The error as text; `nil` if the request is valid.
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
