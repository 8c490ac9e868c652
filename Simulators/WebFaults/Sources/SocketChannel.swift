import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket

/// A connection that is HTTP, or becomes a WebSocket when its first request asks for one.
struct SocketChannel: ServerChildChannel, HTTPChannelHandler {
    typealias Frames = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
    typealias Requests = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    enum Outcome: Sendable {
        case requests(Requests)
        case socket(Frames, WebRequest)
        /// A handshake that was not taken, and what it is answered with.
        case refusal(Requests, WebAnswer)
    }

    struct Value: ServerChildChannelValue {
        let outcome: EventLoopFuture<Outcome>
        let channel: any Channel
    }

    let service: any SocketService
    let responder: HTTPChannelHandler.Responder
    /// A message of a client at most.
    private static let messageBytes = 1 << 20

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        // The library forgets a request whose upgrade is refused: it is answered here.
        let refusal = NIOLoopBoundBox<WebAnswer?>(nil, eventLoop: channel.eventLoop)
        let upgrader = NIOTypedWebSocketServerUpgrader<Outcome>(
            maxFrameSize: Self.messageBytes,
            shouldUpgrade: { channel, head in
                channel.eventLoop.makeFutureWithTask { await service.refusal(of: WebRequest(head)) }.map { answer in
                    refusal.value = answer
                    return answer == nil ? HTTPHeaders() : nil
                }
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOWebSocketFrameAggregator(
                            minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1_000,
                            maxAccumulatedFrameSize: Self.messageBytes))
                    return .socket(try Frames(wrappingChannelSynchronously: channel), WebRequest(head))
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
                        return refusal.value.map { .refusal(requests, $0) } ?? .requests(requests)
                    }
                })
            let outcome = try channel.pipeline.syncOperations.configureUpgradableHTTPServerPipeline(
                configuration: .init(upgradeConfiguration: configuration))
            return Value(outcome: outcome, channel: channel)
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
        case .socket(let channel, let handshake):
            // A client that goes away is no error of ours.
            try? await channel.executeThenClose { inbound, outbound in
                try await service.talk(handshake, StandInSocket(inbound: inbound, outbound: outbound))
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
