import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// A service that a ``StandIn`` serves on a socket.
public protocol StandInService: Sendable {
    /// Names of faults that only the service can produce.
    static var forms: [String] { get }

    /// Carries out a request and logs it, in one step that a crash cannot split.
    ///
    /// - Parameter faults: the faults that will affect the answer, for the log and for the service's own forms.
    func answer(_ request: WebRequest, faults: [Fault]) throws -> WebAnswer

    /// Logs a request that was not carried out.
    /// - Parameter status: the status of the answer; `nil` if the connection was cut.
    func note(_ request: WebRequest, status: Int?, fault: Fault) throws

    /// Answers requests below `/control/`, which tests and people send to the stand-in itself; `nil` for unknown ones.
    func control(_ request: WebRequest) throws -> WebAnswer?

    /// Whether faults apply to this path; pages for people are exempt.
    func isDisturbed(_ path: String) -> Bool
}

/// A stand-in for a web service: a real socket, a service behind it, and faults in between.
///
/// The paths below `/control/` are `faults` (GET lists, POST adds, PUT replaces, DELETE ends them; a JSON list of texts), `clock` (GET, PUT a
/// JSON text), and those of the service. A page of another origin cannot use them, and a foreign host name gets 421.
public struct StandIn<Service: StandInService>: Sendable {
    public let service: Service
    public let faults: FaultQueue
    public let clock: SettableClock
    /// How long a request may take to arrive, and a connection may be idle, in real time.
    private let patience: Duration
    private let maximumConnections: Int

    /// - Parameters:
    ///   - patience: longer than the minute for which many clients keep a connection, so that they end it first.
    ///   - connections: the maximum number; further ones wait until one ends.
    public init(
        _ service: Service, faults: FaultQueue, clock: SettableClock, patience: Duration = .seconds(75),
        connections: Int = 512
    ) {
        (self.service, self.faults, self.clock, self.patience) = (service, faults, clock, patience)
        maximumConnections = connections
    }

    /// Serves until the task is cancelled.
    /// - Parameters:
    ///   - port: 0 for any free port.
    ///   - sockets: handles WebSockets, for a service that has them.
    ///   - onListening: receives the actual port.
    /// - Throws: an error if the address is not available.
    public func run(
        host: String, port: Int, sockets: (any SocketService)? = nil,
        onListening: @escaping @Sendable (Int) async -> Void
    ) async throws {
        var logger = Logger(label: "stand-in")
        logger.logLevel = .critical
        let names = OwnNames(listeningAt: host)
        let application = Application(
            responder: Responder(standIn: self),
            server: HTTPServerBuilder { [patience] in
                SocketChannel(service: sockets, patience: TimeAmount(patience), names: names, responder: $0)
            },
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port), serverName: nil, reuseAddress: true,
                availableConnectionsDelegate: MaximumAvailableConnections(maximumConnections, logger: logger)),
            onServerRunning: { await onListening($0.localAddress?.port ?? port) }, logger: logger)
        try await application.run()
    }

    // MARK: - One request

    private struct Connection: RequestContext {
        var coreContext: CoreRequestContextStorage
        let channel: any Channel

        init(source: ApplicationRequestContextSource) {
            (coreContext, channel) = (CoreRequestContextStorage(source: source), source.channel)
        }
    }

    private struct Responder: HTTPResponder {
        let standIn: StandIn

        func respond(to request: Request, context: Connection) async throws -> Response {
            let body = try await request.body.collect(upTo: SocketChannel.largestBody)
            var fields: [String: String] = [:]
            for field in request.headers { fields[field.name.canonicalName] = field.value }
            fields["host"] = request.head.authority
            let whole = WebRequest(
                request.method.rawValue, request.uri.string, fields: fields, body: Array(body.readableBytesView))
            do {
                return try await standIn.respond(to: whole, on: context.channel)
            } catch let error as CancellationError {
                throw error
            } catch {
                context.logger.critical("the stand-in failed", metadata: ["error": "\(error)"])
                return StandIn.response(WebAnswer(500, body: Array("the stand-in failed: \(error)\n".utf8)))
            }
        }
    }

    private func respond(to request: WebRequest, on channel: any Channel) async throws -> Response {
        if request.path.hasPrefix("/control/") { return Self.response(try control(request)) }
        guard service.isDisturbed(request.path) else {
            return Self.response(try service.answer(request, faults: []))
        }
        let drawn = faults.draw(for: request.path)
        for case .delay(let seconds) in drawn.map(\.kind) { try await Task.sleep(for: .seconds(seconds)) }
        let end = drawn.first { fault in
            switch fault.kind {
            case .delay, .form: false
            default: true
            }
        }
        if let end, let answer = Self.refusal(end) {
            try service.note(request, status: answer.status, fault: end)
            return Self.response(answer)
        }
        if let end, case .cutBefore = end.kind {
            try service.note(request, status: nil, fault: end)
            return await Self.cut(channel)
        }
        let answer = try service.answer(request, faults: drawn)
        switch end?.kind {
        case .cutAfter: return await Self.cut(channel)
        case .cutInside: return Self.torn(answer)
        case .half:
            var half = answer
            half.body.removeLast((half.body.count + 1) / 2)
            return Self.response(half)
        default: return Self.response(answer)
        }
    }

    /// The answer that replaces carrying out the request.
    private static func refusal(_ fault: Fault) -> WebAnswer? {
        switch fault.kind {
        case .status(let status): WebAnswer(status)
        case .tooMany(let seconds): WebAnswer(429, fields: seconds.map { [("Retry-After", "\($0)")] } ?? [])
        case .html:
            WebAnswer(
                502, fields: [("Content-Type", "text/html")],
                body: Array("<html><body><h1>502 Bad Gateway</h1></body></html>\n".utf8))
        default: nil
        }
    }

    private static func response(_ answer: WebAnswer) -> Response {
        Response(
            status: .init(code: answer.status), headers: answer.headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }

    /// The first half of the answer, although its full length is announced.
    private static func torn(_ answer: WebAnswer) -> Response {
        let half = ByteBuffer(bytes: answer.body.prefix(answer.body.count / 2))
        return Response(
            status: .init(code: answer.status), headers: answer.headers,
            body: ResponseBody(contentLength: max(answer.body.count, 2)) { writer in
                try await writer.write(half)
                throw WebFaultsError("the answer is cut here")
            })
    }

    /// Cuts the connection; the returned response cannot be sent.
    private static func cut(_ channel: any Channel) async -> Response {
        channel.close(mode: .all, promise: nil)
        try? await channel.closeFuture.get()
        return Response(status: .internalServerError)
    }
}

extension WebAnswer {
    var headers: HTTPFields {
        var headers = HTTPFields()
        for (name, value) in fields {
            guard let name = HTTPField.Name(name) else { continue }
            headers.append(HTTPField(name: name, value: value))
        }
        return headers
    }
}

// MARK: - Requests to the stand-in itself

extension StandIn {
    private func control(_ request: WebRequest) throws -> WebAnswer {
        if let origin = request.fields["origin"], origin != "http://\(request.fields["host"] ?? "")" {
            return WebAnswer(403, body: Array("of another origin\n".utf8))
        }
        do {
            switch (request.method, request.path.dropFirst("/control/".count)) {
            case ("GET", "faults"): break
            case ("POST", "faults"): faults.add(try read(request))
            case ("PUT", "faults"): faults.replace(try read(request))
            case ("DELETE", "faults"): faults.replace([])
            case ("GET", "clock"): return clockAnswer
            case ("PUT", "clock"):
                guard let text = request.json?.text else {
                    throw WebFaultsError("clock: expected a JSON text, such as \"2026-01-01T00:00:00Z@3600\"")
                }
                try clock.set(text)
                return clockAnswer
            default:
                return try service.control(request) ?? WebAnswer(404, body: Array("there is no such control\n".utf8))
            }
            return .json(.list(faults.faults.map { .text("\($0)") }))
        } catch let error as WebFaultsError {
            return .json(["error": .text(error.description)], 400)
        }
    }

    private var clockAnswer: WebAnswer {
        .json(["microseconds": .number("\(clock.now())"), "rate": .number("\(clock.rate)")])
    }

    private func read(_ request: WebRequest) throws(WebFaultsError) -> [Fault] {
        guard let items = request.json?.list else {
            throw WebFaultsError("faults: expected a JSON list of texts, such as [\"cut-after@update*1\"]")
        }
        var read: [Fault] = []
        for item in items { read.append(try Fault(item.text ?? "", forms: faults.forms)) }
        return read
    }
}
