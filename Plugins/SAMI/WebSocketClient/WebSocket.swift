import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// An open WebSocket of text frames, inside ``with(_:headers:silence:_:)``.
///
/// ```swift
/// try await WebSocket.with(address, headers: [("Authorization", "Bearer …")], silence: .seconds(40)) { socket in
///     for try await text in socket.texts { … }
/// }
/// ```
public struct WebSocket: Sendable {
    typealias Frames = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

    private let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    private let address: WebSocketAddress
    /// The texts from the server, until it closes the connection; for a single reader.
    public let texts: Texts

    /// Maximum size of a received frame.
    private static let frameBytes = 1 << 20

    /// Connects, runs `body`, and closes the connection.
    ///
    /// - Parameters:
    ///   - headers: headers in addition to those of the handshake, such as `Authorization`.
    ///   - silence: how long no data may arrive before the connection counts as dead, by the machine's clock.
    /// - Throws: ``WebSocketError``; `CancellationError`; errors of `body`.
    public static func with<Result>(
        _ address: WebSocketAddress, headers: [(name: String, value: String)] = [], silence: Duration,
        _ body: (WebSocket) async throws -> Result
    ) async throws -> Result {
        let frames = try await open(address, headers, TimeAmount(silence))
        do {
            return try await frames.executeThenClose { inbound, outbound in
                let texts = Texts(inbound: inbound, outbound: outbound, address: address)
                return try await body(WebSocket(outbound: outbound, address: address, texts: texts))
            }
        } catch {
            try Task.checkCancellation()
            throw reading(error, address)
        }
    }

    /// Returns when the system has accepted the frame.
    public func send(_ text: String) async throws {
        do {
            try await outbound.write(.masked(.text, ByteBuffer(string: text)))
        } catch {
            try Task.checkCancellation()
            throw WebSocket.reading(error, address)
        }
    }

    // MARK: - Opening

    private enum Outcome: Sendable {
        case open(Frames)
        case refused(NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>)
    }

    private static func open(
        _ address: WebSocketAddress, _ headers: [(name: String, value: String)], _ silence: TimeAmount
    ) async throws -> Frames {
        do {
            let outcome = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(.seconds(10))
                .connect(host: address.host, port: address.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try prepare(channel, address, headers, silence)
                    }
                }.get()
            switch outcome {
            case .open(let frames): return frames
            case .refused(let channel): throw try await refusal(channel, address)
            }
        } catch {
            try Task.checkCancellation()
            throw reading(error, address)
        }
    }

    private static func prepare(
        _ channel: any Channel, _ address: WebSocketAddress, _ headers: [(name: String, value: String)],
        _ silence: TimeAmount
    ) throws -> EventLoopFuture<Outcome> {
        let pipeline = channel.pipeline.syncOperations
        if address.isSecure {
            let context = try NIOSSLContext(configuration: .makeClientConfiguration())
            try pipeline.addHandler(try NIOSSLClientHandler(context: context, serverHostname: address.host))
        }
        // The timeout also covers the handshake.
        try pipeline.addHandler(IdleStateHandler(readTimeout: silence))
        try pipeline.addHandler(SilenceHandler(address: address))
        var fields = HTTPHeaders(headers)
        fields.replaceOrAdd(name: "Host", value: address.authority)
        fields.replaceOrAdd(name: "Content-Length", value: "0")
        let upgrader = NIOTypedWebSocketClientUpgrader<Outcome>(
            maxFrameSize: frameBytes,
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOWebSocketFrameAggregator(
                            minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1_000,
                            maxAccumulatedFrameSize: frameBytes))
                    return .open(try Frames(wrappingChannelSynchronously: channel))
                }
            })
        let upgrade = NIOTypedHTTPClientUpgradeConfiguration(
            upgradeRequestHead: HTTPRequestHead(
                version: .http1_1, method: .GET, uri: address.target, headers: fields),
            upgraders: [upgrader],
            notUpgradingCompletionHandler: { channel in
                channel.eventLoop.makeCompletedFuture {
                    .refused(
                        try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                            wrappingChannelSynchronously: channel))
                }
            })
        // A frame may arrive in the same packet as the answer to the handshake.
        var configuration = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: upgrade)
        configuration.leftOverBytesStrategy = .forwardBytes
        return try pipeline.configureUpgradableHTTPClientPipeline(configuration: configuration)
    }

    private static func refusal(
        _ channel: NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>, _ address: WebSocketAddress
    ) async throws -> WebSocketError {
        try await channel.executeThenClose { inbound, _ in
            for try await case .head(let head) in inbound {
                let status = Int(head.status.code)
                return WebSocketError(.refused(status), "\(address): the handshake was answered with status \(status)")
            }
            return WebSocketError(.ended, "\(address): the connection ended before the handshake was answered")
        }
    }

    fileprivate static func reading(_ error: any Error, _ address: WebSocketAddress) -> any Error {
        switch error {
        case is WebSocketError: error
        case is NIOConnectionError, ChannelError.connectTimeout:
            WebSocketError(.unreachable, "\(address): no connection")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            WebSocketError(.tls, "\(address): the connection cannot be made safe")
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error:
            WebSocketError(.malformed, "\(address): what came is not a frame that is taken")
        case is IOError, is ChannelError: WebSocketError(.ended, "\(address): the connection was cut")
        default: error
        }
    }

    /// The texts received from the server.
    public struct Texts: AsyncSequence, Sendable {
        let inbound: NIOAsyncChannelInboundStream<WebSocketFrame>
        let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
        let address: WebSocketAddress

        public func makeAsyncIterator() -> Iterator {
            Iterator(inbound: inbound.makeAsyncIterator(), outbound: outbound, address: address)
        }

        public struct Iterator: AsyncIteratorProtocol {
            var inbound: NIOAsyncChannelInboundStream<WebSocketFrame>.AsyncIterator
            let outbound: NIOAsyncChannelOutboundWriter<WebSocketFrame>
            let address: WebSocketAddress

            /// The next text; nil after the connection has ended, properly or not.
            ///
            /// - Throws: ``WebSocketError``; `CancellationError`.
            public mutating func next() async throws -> String? {
                do {
                    while let frame = try await inbound.next() {
                        switch frame.opcode {
                        case .text: return String(buffer: frame.unmaskedData)
                        case .ping: try await outbound.write(.masked(.pong, frame.unmaskedData))
                        case .connectionClose:
                            try? await outbound.write(.masked(.connectionClose, frame.unmaskedData))
                            return nil
                        default: continue
                        }
                    }
                    try Task.checkCancellation()
                    return nil
                } catch {
                    try Task.checkCancellation()
                    throw WebSocket.reading(error, address)
                }
            }
        }
    }
}

extension WebSocketFrame {
    /// A masked frame, as clients must send it.
    fileprivate static func masked(_ opcode: WebSocketOpcode, _ data: ByteBuffer) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
    }
}

/// Closes a connection without incoming data.
private final class SilenceHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let address: WebSocketAddress

    init(address: WebSocketAddress) { self.address = address }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        context.fireErrorCaught(WebSocketError(.silent, "\(address): nothing came any more"))
        context.close(promise: nil)
    }
}
