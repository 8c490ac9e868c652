import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
public import PluginKit

/// A client for one web service.
///
/// Cheap to create and to copy: all clients of a process share its connections, which close when the last client is released. May
/// be used from any task. Its errors and logs never contain a token, a query or a body.
///
/// ```swift
/// let client = CloudClient(try ServiceAddress(hub.settings), pace: Pace(hub))
/// let profile = try await client.send(CloudRequest(.get, "/api/2/accounts/profile/").authorized(token)).successful()
/// ```
public struct CloudClient: Sendable {
    /// Limits on the duration and size of an exchange; times by the machine's clock.
    public struct Limits: Hashable, Sendable {
        /// Maximum time to establish a connection.
        public var connect = Duration.seconds(10)
        /// Maximum time without a byte from the service.
        public var silence = Duration.seconds(30)
        /// Maximum time until the last byte of the answer, so that a very slow service is cut off.
        public var whole = Duration.seconds(120)
        /// Maximum size of the answer's body.
        public var answerBytes = 8 << 20

        public init() {}
    }

    public let address: ServiceAddress
    public let limits: Limits
    /// The clock that waits are measured with.
    public let pace: ClientClock
    /// The request budget, shared by all clients with this limiter; nil if no budget is known.
    public let limiter: RateLimiter?
    private let agent: String
    private let transport: Transport

    /// - Parameter agent: the program's name for `User-Agent`.
    public init(
        _ address: ServiceAddress, pace: ClientClock, limits: Limits = Limits(), limiter: RateLimiter? = nil,
        agent: String = "health-hub"
    ) {
        (self.address, self.pace, self.limits, self.limiter, self.agent) = (address, pace, limits, limiter, agent)
        transport = .shared(.init(connect: limits.connect, silence: limits.silence))
    }

    /// Sends a request once and reads the whole answer, whatever its status; a redirect is returned as an answer.
    ///
    /// If there is a budget, the request waits for it. Ends at once if the task is cancelled.
    /// - Throws: ``CloudError``; `CancellationError`.
    public func send(_ request: CloudRequest) async throws -> CloudAnswer {
        let exchange = HTTPExchange(request, at: address)
        try await limiter?.turn(pace, exchange)
        try Task.checkCancellation()
        let answer = try await perform(request, exchange)
        limiter?.note(answer, pace)
        return answer
    }

    private func perform(_ request: CloudRequest, _ exchange: HTTPExchange) async throws -> CloudAnswer {
        let end = NIODeadline.now() + TimeAmount(limits.whole)
        do {
            let response = try await transport.http.execute(prepared(request, exchange), deadline: end)
            exchange.noteHead()
            let body = try await read(response, until: end, exchange)
            return CloudAnswer(
                status: Int(response.status.code), headers: response.headers.map { ($0.name, $0.value) }, body: body,
                what: exchange.what, hasEffect: exchange.hasEffect)
        } catch {
            // A cancelled exchange can fail with many different errors.
            try Task.checkCancellation()
            throw exchange.read(error)
        }
    }

    private func prepared(_ request: CloudRequest, _ exchange: HTTPExchange) -> HTTPClientRequest {
        var prepared = HTTPClientRequest(url: request.url(at: address))
        prepared.method = HTTPMethod(rawValue: request.method.description)
        for (name, value) in request.headers { prepared.headers.add(name: name, value: value) }
        if !prepared.headers.contains(name: "User-Agent") { prepared.headers.add(name: "User-Agent", value: agent) }
        if !prepared.headers.contains(name: "Accept") {
            prepared.headers.add(name: "Accept", value: "application/json")
        }
        if let (scheme, secret) = request.authorization {
            prepared.headers.replaceOrAdd(name: "Authorization", value: "\(scheme) \(secret.reveal())")
        }
        if let (type, bytes) = request.body {
            prepared.headers.replaceOrAdd(name: "Content-Type", value: type)
            prepared.body = .stream(SentBody(bytes, exchange), length: .known(Int64(bytes.count)))
        }
        return prepared
    }

    private func read(
        _ response: HTTPClientResponse, until end: NIODeadline, _ exchange: HTTPExchange
    ) async throws -> Data {
        let tooLarge = exchange.error(
            .tooLarge, "the answer is larger than the \(limits.answerBytes) bytes that are taken")
        if let length = response.headers.first(name: "Content-Length").flatMap({ Int($0) }), length > limits.answerBytes
        {
            throw tooLarge
        }
        var body = Data()
        for try await part in response.body {
            guard body.count + part.readableBytes <= limits.answerBytes else { throw tooLarge }
            guard NIODeadline.now() < end else { throw exchange.timedOut }
            body.append(contentsOf: part.readableBytesView)
        }
        try Task.checkCancellation()
        return body
    }
}

/// A body of one part, which reports that the request's head was sent before it.
private struct SentBody: AsyncSequence, Sendable {
    let bytes: Data
    let exchange: HTTPExchange

    init(_ bytes: Data, _ exchange: HTTPExchange) { (self.bytes, self.exchange) = (bytes, exchange) }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: Data?
        let exchange: HTTPExchange

        mutating func next() async throws -> ByteBuffer? {
            exchange.noteBegin()
            defer { rest = nil }
            return rest.map { ByteBuffer(bytes: $0) }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: bytes, exchange: exchange) }
}
