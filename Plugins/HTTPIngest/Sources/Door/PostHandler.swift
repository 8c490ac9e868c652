import HTTPTypes
import Hummingbird
import JSON
import Logging
import NIOCore
import PhonePayloads
import Platform
import PluginKit

/// Authenticates a request, stores its records, and replies.
struct PostHandler: HTTPResponder {
    let intake: Intake
    let page: PhoneSetupPage
    let limits: IngestLimits
    let turns = PostConcurrencyLimit(most: 8)

    /// A request with the address of its sender.
    struct PostContext: RequestContext {
        var coreContext: CoreRequestContextStorage
        let address: String

        init(source: ApplicationRequestContextSource) {
            coreContext = CoreRequestContextStorage(source: source)
            address = source.channel.remoteAddress?.ipAddress ?? "-"
        }
    }

    private var hub: any IngestHub { intake.hub }

    func respond(to request: Request, context: PostContext) async throws -> Response {
        let answer = await answer(request, context)
        // The rest of an unread body is not read.
        return answer.response(hasBody: request.method != .head)
    }

    private func answer(_ request: Request, _ visit: PostContext) async -> IngestAnswer {
        let path = request.uri.path
        if path == "/" || path == "/index.html" {
            guard request.method == .get || request.method == .head else {
                return .error(
                    .methodNotAllowed, "the page is read with GET", isLast: true, more: [(.allow, "GET, HEAD")])
            }
            return page.answer
        }
        guard let place = PostEndpoint(path) else {
            return .error(
                .notFound, "there is nothing at this address; \(PostEndpoint.list) are taken with POST", isLast: true)
        }
        switch request.method {
        case .get, .head: return IngestAnswer(.noContent)
        case .post, .put: break
        default:
            return .error(
                .methodNotAllowed, "posts come with POST or PUT", isLast: true, more: [(.allow, "POST, PUT, GET, HEAD")]
            )
        }
        if case .login = place { return await logIn(request, visit) }
        do {
            return try await take(request, place, visit)
        } catch {
            // The connection was cut, or the disk is full.
            hub.logger.error("a post could not be taken", metadata: ["error": "\(error)"])
            return .error(
                .serviceUnavailable, "the post could not be kept on this machine's disk; come again later",
                retryAfter: 60, isLast: true)
        }
    }

    // MARK: - Authentication

    private func token(_ request: Request, _ visit: PostContext) async throws -> PhoneToken? {
        let fields = request.headers
        var text = fields[.xAPIKey] ?? fields[.apiKey]
        if let authorization = fields[.authorization] {
            let words = authorization.split(separator: " ", maxSplits: 1)
            text = words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : authorization
        }
        return try await token(text ?? "", visit)
    }

    private func token(_ text: String, _ visit: PostContext) async throws -> PhoneToken? {
        if let token = try await intake.tokens.owner(of: text, at: hub.clock.now()) { return token }
        hub.logger.warning(
            "a post without a known token", metadata: ["peer": "\(visit.address)", "empty": "\(text.isEmpty)"])
        try await Task.sleep(for: limits.guess)
        return nil
    }

    private static func unauthorized(_ status: HTTPResponse.Status = .unauthorized) -> IngestAnswer {
        .error(
            status,
            "the token is missing, wrong or revoked: the header is Authorization: Bearer TOKEN, and hub ingest new "
                + "makes tokens", isLast: true, more: [(.wwwAuthenticate, "Bearer realm=\"health hub\"")])
    }

    // MARK: - Reading the post

    private func take(_ request: Request, _ place: PostEndpoint, _ visit: PostContext) async throws -> IngestAnswer {
        guard let token = try await token(request, visit) else { return Self.unauthorized(place.refusal) }
        guard token.formats.isEmpty || token.formats.contains(place.word) else {
            return .error(.forbidden, "the token \(token.name) is not for \(place.word)", isLast: true)
        }
        if let fault = contentFault(request) { return fault }
        let coding = request.headers[.contentEncoding]
        guard let coding = ContentCoding(coding) else { return .unread }
        let most = intake.settings.maximumBytes
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > most {
            return IngestAnswer(.size, most: most)
        }
        let body = BodyBytes(folder: intake.hub.state.directory)
        do {
            try await read(request, into: BodyWriter(body, coding: coding, most: most))
        } catch let fault as BodyWriter.BodyError {
            return IngestAnswer(fault, most: most)
        } catch let error as FileError {
            throw error
        } catch {
            // The connection was cut or is too slow, so the sender will hardly read the answer.
            return .error(.requestTimeout, "the post was not received completely", isLast: true)
        }
        let post = Intake.Post(
            body: body, format: place.format, token: token, grouping: request.headers[.grouping],
            repeats: request.headers[.idempotencyKey])
        guard !hub.isStopping, await hasTurn(token) else {
            if hub.isStopping { return await keep(post, Self.stopping) }
            // Each reading of a scale is a separate record, so none has to wait for another.
            let other = "another post of \(token.name) is still being taken"
            if post.format == .bleScaleSync { return await keep(post, other) }
            return .error(.tooManyRequests, "\(other); come again later", retryAfter: 10)
        }
        return await answer(post, place)
    }

    private func read(_ request: Request, into writer: BodyWriter) async throws {
        for try await buffer in request.body { try writer.append(buffer) }
        try writer.end()
    }

    /// Waits for the token's turn, because an app may send several automations at once.
    private func hasTurn(_ token: PhoneToken) async -> Bool {
        let end = ContinuousClock.now + limits.turn
        while !turns.take(token.id) {
            guard ContinuousClock.now < end, !hub.isStopping else { return false }
            do { try await Task.sleep(for: .milliseconds(50)) } catch { return false }
        }
        return true
    }

    private func contentFault(_ request: Request) -> IngestAnswer? {
        guard let type = request.headers[.contentType] else { return nil }
        let plain = type.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        if plain.hasPrefix("multipart/") || plain == "text/csv" {
            return .error(.unsupportedMediaType, "choose JSON as export format", isLast: true)
        }
        guard plain.hasSuffix("json") || plain == "application/octet-stream" || plain.isEmpty else {
            return .error(
                .unsupportedMediaType, "send JSON, with the header Content-Type: application/json", isLast: true)
        }
        return nil
    }

    private func busy(_ text: String) -> IngestAnswer { .error(.serviceUnavailable, text, retryAfter: 30) }

    // MARK: - Storing

    private func answer(_ post: Intake.Post, _ place: PostEndpoint) async -> IngestAnswer {
        let (intake, turns) = (intake, turns)
        do {
            let report = try await PostTimeLimit.run(post.isForgotten ? limits.forgotten : limits.post) {
                defer { turns.releaseSlot(post.token.id) }
                return try await intake.take(post)
            }
            guard let report else { return await keep(post, Self.away) }
            hub.logger.info(
                "a post",
                metadata: [
                    "token": "\(post.token.name)", "format": "\(place.word)", "bytes": "\(post.body.count)",
                    "received": "\(report.received)", "stored": "\(report.stored)", "duplicate": "\(report.duplicate)",
                    "retracted": "\(report.retracted)", "rejected": "\(report.rejections)",
                ])
            await intake.complaints.tell(report, of: post.token.name)
            // The app or script looks only at the status.
            if report.isTotalRejection(post.format) { return .json(report.json, .unprocessableContent) }
            if case .healthConnectGateway = post.format { return .json(["success": true, "report": report.json]) }
            return .json(report.json)
        } catch let error as PhoneError {
            await intake.complaints.tell(error.description, of: post.token.name)
            return .refused(error)
        } catch Intake.IntakeError.revoked {
            return Self.unauthorized(place.refusal)
        } catch let error as GiveError {
            return error.code == .stopping ? await keep(post, Self.stopping) : busy(error.message)
        } catch {
            hub.logger.error("a post could not be taken", metadata: ["error": "\(error)"])
            return busy("the post could not be taken: the disk of the hub's machine may be full; come again later")
        }
    }

    private static let away = "the hub does not answer"
    private static let stopping = "the hub is being stopped"

    /// Answers a post that the hub does not take now.
    ///
    /// If the sender will not repeat the post, it is kept on disk and the answer says so; the status is still a failure.
    private func keep(_ post: Intake.Post, _ why: String) async -> IngestAnswer {
        do {
            guard let report = try await intake.keep(post), report.stored > 0 else {
                return busy("\(why); send the same again later")
            }
            await intake.complaints.tell(report, of: post.token.name)
            return busy(
                "\(why); the post is kept on disk, and stored when the hub is there: it need not be sent again")
        } catch let error as PhoneError {
            return .refused(error)
        } catch {
            hub.logger.error("a post could not be kept", metadata: ["error": "\(error)"])
            return busy("\(why), and the post could not be kept; send the same again later")
        }
    }

    // MARK: - HCGateway

    /// Logs in HCGateway's app: its name and password are the two halves of a token, which the answer returns.
    private func logIn(_ request: Request, _ visit: PostContext) async -> IngestAnswer {
        let refused = Self.unauthorized(.forbidden)
        // The body is only a few bytes, which no app compresses.
        if ContentCoding(request.headers[.contentEncoding]) != ContentCoding.none {
            return .unread
        }
        guard let buffer = try? await request.body.collect(upTo: 4_096),
            let fields = LogInFields(Array(buffer.readableBytesView)),
            let found = try? await token(fields.token, visit),
            found.formats.isEmpty || found.formats.contains("api")
        else { return refused }
        let expiry = Timestamp(microseconds: hub.clock.now() + 12 * 3_600_000_000).text
        return .json(
            ["token": .text(fields.token), "refresh": .text(fields.token), "expiry": .text(String(expiry.prefix(19)))],
            fields.isRefresh ? .ok : .created)
    }
}

extension HTTPField.Name {
    static let xAPIKey = HTTPField.Name("X-API-Key")!
    static let apiKey = HTTPField.Name("api-key")!
    static let grouping = HTTPField.Name("automation-aggregation")!
    static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
