import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket

/// A connection that uses HTTP, or becomes a WebSocket if its first request asks for one.
struct SocketChannel: ServerChildChannel, HTTPChannelHandler {
    typealias Frames = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
    typealias Requests = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    enum Outcome: Sendable {
        case requests(Requests)
        case socket(Frames, any SocketHandler)
        /// A rejected handshake and its answer.
        case refusal(Requests, WebAnswer)
    }

    struct Value: ServerChildChannelValue {
        let outcome: EventLoopFuture<Outcome>
        let channel: any Channel
    }

    /// `nil` if there are no WebSockets.
    let service: (any SocketService)?
    let patience: TimeAmount
    let names: OwnNames
    let responder: HTTPChannelHandler.Responder
    /// Maximum number of bytes of a request's body; a larger one gets 413.
    static let largestBody = 1 << 20
    /// Maximum number of bytes of a client's message on a WebSocket.
    private static let messageBytes = 1 << 20

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        // The library discards a request whose upgrade is refused, so it is answered here.
        let admission = NIOLoopBoundBox<SocketAdmission?>(nil, eventLoop: channel.eventLoop)
        let upgrader = NIOTypedWebSocketServerUpgrader<Outcome>(
            maxFrameSize: Self.messageBytes,
            shouldUpgrade: { channel, head in
                channel.eventLoop.makeFutureWithTask {
                    await service?.admit(WebRequest(head)) ?? .refused(WebAnswer(404))
                }.map { answer in
                    admission.value = answer
                    return if case .taken = answer { HTTPHeaders() } else { nil }
                }
            },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    guard case .taken(let talk)? = admission.value else {
                        throw ChannelError.inappropriateOperationForState
                    }
                    admission.value = nil
                    try channel.pipeline.syncOperations.addHandler(FrameGuard())
                    try channel.pipeline.syncOperations.addHandler(
                        NIOWebSocketFrameAggregator(
                            minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1_000,
                            maxAccumulatedFrameSize: Self.messageBytes))
                    return .socket(try Frames(wrappingChannelSynchronously: channel), talk)
                }
            })
        return channel.eventLoop.makeCompletedFuture {
            let configuration = NIOTypedHTTPServerUpgradeConfiguration<Outcome>(
                upgraders: [upgrader],
                notUpgradingCompletionHandler: { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                        let requests = try Requests(
                            wrappingChannelSynchronously: channel,
                            configuration: .init(isOutboundHalfClosureEnabled: true))
                        guard case .refused(let answer)? = admission.value else { return .requests(requests) }
                        return .refusal(requests, answer)
                    }
                })
            // The library's set-up, except for its handling of errors and of pipelined requests: the request reader does both itself, and two
            // answers to one error would end the program.
            let encoder = HTTPResponseEncoder()
            let extra: [any RemovableChannelHandler] = [
                ByteToMessageHandler(
                    HTTPRequestDecoder(
                        leftOverBytesStrategy: .forwardBytes, limitConfiguration: NIOHTTPDecoderLimitConfiguration())),
                ConnectionGuard(patience: patience, largestBody: Self.largestBody, names: names),
            ]
            let upgrade = NIOTypedHTTPServerUpgradeHandler(
                httpEncoder: encoder, extraHTTPHandlers: extra, upgradeConfiguration: configuration)
            try channel.pipeline.syncOperations.addHandler(encoder)
            for handler in extra { try channel.pipeline.syncOperations.addHandler(handler) }
            try channel.pipeline.syncOperations.addHandler(upgrade)
            return Value(outcome: upgrade.upgradeResultFuture, channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        guard let outcome = try? await value.outcome.get() else { return }
        switch outcome {
        case .requests(let channel): await handleHTTP(asyncChannel: channel, logger: logger)
        case .refusal(let channel, let answer):
            try? await channel.executeThenClose { _, outbound in
                var fields = answer.headers
                fields[.connection] = "close"
                fields[.contentLength] = "\(answer.body.count)"
                try await outbound.write(.head(HTTPResponse(status: .init(code: answer.status), headerFields: fields)))
                try await outbound.write(.body(ByteBuffer(bytes: answer.body)))
                try await outbound.write(.end(nil))
            }
        case .socket(let frames, let talk):
            // A client that disconnects is not an error of this program.
            try? await frames.executeThenClose { inbound, outbound in
                let socket = StandInSocket(channel: value.channel, inbound: inbound, outbound: outbound)
                do {
                    try await talk.run(socket)
                } catch {
                    guard let code = SocketFault.code(error) else { throw error }
                    try await socket.close(code)
                }
            }
        }
    }
}

extension WebRequest {
    fileprivate init(_ head: HTTPRequestHead) {
        var fields: [String: String] = [:]
        for (name, value) in head.headers where fields[name.lowercased()] == nil { fields[name.lowercased()] = value }
        self.init(head.method.rawValue, head.uri, fields: fields)
    }
}
