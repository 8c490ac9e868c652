import CloudClient
import Foundation
import JSON
import PluginKit

/// What is asked of SAMI, one call each.
struct SAMIService: Sendable {
    let settings: SAMISettings
    let client: CloudClient
    /// For messages that are posted: SAMI counts these apart.
    let posts: CloudClient
    private let accounts: CloudClient

    /// - Parameter limiter: shared by all calls that read; it hears of the budget from the answers.
    init(_ settings: SAMISettings, pace: Pace, limiter: RateLimiter?) {
        self.settings = settings
        client = CloudClient(settings.address, pace: pace, limiter: limiter)
        posts = CloudClient(
            settings.address, pace: pace,
            limiter: RateLimiter(patience: .seconds(86_400), told: ServiceWatch.windows))
        accounts = CloudClient(settings.accounts, pace: pace)
    }

    /// The most objects of a page of devices and types.
    private static let pageObjects = 100
    /// The most messages of a page of a range.
    var pageMessages: Int { settings.isArtik ? 100 : 1_000 }

    // MARK: - Who and what

    static let user = CloudRequest(.get, "/users/self")

    static func devices(of user: String, from offset: Int) -> CloudRequest {
        CloudRequest(
            .get, "/users/\(user)/devices",
            query: [("offset", "\(offset)"), ("count", "\(pageObjects)"), ("includeProperties", "false")])
    }

    /// Whether a page that began at `offset` with so many objects is followed by another.
    static func isLast(_ answer: JSONTree, offset: Int, objects: Int) -> Bool {
        guard objects > 0 else { return true }
        if let total = answer["total"]?.lenientInteger { return Int64(offset + objects) >= total }
        return objects < pageObjects
    }

    static func deviceType(_ id: String) -> CloudRequest { CloudRequest(.get, "/devicetypes/\(id)") }

    static func deviceTypes(named name: String) -> CloudRequest {
        CloudRequest(.get, "/devicetypes", query: [("name", name), ("offset", "0"), ("count", "1")])
    }

    /// - Parameter version: nil for the latest.
    static func manifest(_ type: String, version: Int64?) -> CloudRequest {
        CloudRequest(.get, "/devicetypes/\(type)/manifests/\(version.map(String.init) ?? "latest")/properties")
    }

    // MARK: - Messages

    /// Messages from `start` to `end`, milliseconds since 1970, the oldest first.
    /// - Parameter cursor: the `next` of the page before.
    func messages(of device: String, from start: Int64, to end: Int64, after cursor: String?) -> CloudRequest {
        var query = [
            ("sdid", device), ("startDate", "\(max(0, start))"), ("endDate", "\(max(0, end))"), ("order", "asc"),
            ("count", "\(pageMessages)"),
        ]
        if let cursor { query.append(("offset", cursor)) }
        return CloudRequest(.get, Self.messagesPath, query: query)
    }

    static let messagesPath = "/messages"

    /// The newest messages, those first.
    static func last(_ count: Int, of device: String, with field: String? = nil) -> CloudRequest {
        var query = [("sdids", device), ("count", "\(count)")]
        if let field { query.append(("fieldPresence", field)) }
        return CloudRequest(.get, "/messages/last", query: query)
    }

    static func addDevice(_ name: String, type: String, user: String) throws -> CloudRequest {
        try .json("/devices", ["uid": user, "dtid": type, "name": name])
    }

    /// A message, as REST takes it and a registered socket does.
    static func message(_ data: [String: JSONTree], at time: Int64, device: String) -> [String: JSONTree] {
        ["sdid": .text(device), "type": .text("message"), "ts": .whole(time), "data": .object(data)]
    }

    static func post(_ message: [String: JSONTree]) -> CloudRequest {
        .bytes(messagesPath, Data(JSONTree.object(message).bytes), type: "application/json")
    }

    // MARK: - Log-in

    /// The page that asks a person, for the grant of the settings.
    func authorization() -> Authorization {
        let isCode = settings.grant == .code
        return Authorization(
            page: settings.accounts.text + "/authorize",
            parameters: [
                ("client_id", settings.clientID), ("response_type", isCode ? "code" : "token"),
                ("scope", "read,write"),
            ],
            // The documentation says that it is echoed; the captured redirects of the first tutorials had none.
            redirect: settings.redirect, state: .ifReturned, usesProofKey: isCode && settings.isArtik)
    }

    func token(for answer: AuthorizationAnswer, at now: Int64) async throws -> OAuthToken {
        guard settings.grant == .code else { return try answer.token(at: now) }
        var form = [
            ("grant_type", "authorization_code"), ("code", try answer.code()), ("redirect_uri", answer.redirect),
        ]
        // SAMI had no PKCE yet, ARTIK Cloud did.
        if let verifier = answer.verifier {
            form += [("client_id", settings.clientID), ("code_verifier", verifier.reveal())]
        }
        var request = CloudRequest.form("/token", form)
        authorizeClient(&request)
        let response = try await accounts.send(request)
        return try OAuthToken(status: response.status, body: response.body, at: now)
    }

    /// A renewed token: with the application's secret of the code flow, with the old token itself of the implicit one.
    func refreshed(_ old: OAuthToken, at now: Int64) async throws -> OAuthToken {
        var request = CloudRequest.form(
            "/token",
            [("grant_type", "refresh_token"), ("refresh_token", old.refreshToken?.reveal() ?? "")])
        if settings.grant == .code { authorizeClient(&request) } else { request.authorize(old.accessToken) }
        let response = try await accounts.send(request)
        return try OAuthToken(status: response.status, body: response.body, at: now, renewing: old)
    }

    private func authorizeClient(_ request: inout CloudRequest) {
        let text = "\(settings.clientID):\(settings.clientSecret?.reveal() ?? "")"
        request.authorize(Secret(Data(text.utf8).base64EncodedString()), scheme: "Basic")
    }

    // MARK: - Log-out

    /// Whether the service takes a token now.
    func takes(_ token: OAuthToken) async throws -> Bool {
        let answer = try await client.send(Self.user.authorized(token.accessToken), retrying: Retry(attempts: 2))
        switch answer.status {
        case 401: return false
        case 403: return true  // It knows whose it is.
        default:
            _ = try answer.successful()
            return true
        }
    }

    /// Tells the service that a token is to work no longer; whether it then does not is another question.
    /// - Throws: ``CommandFailure`` when it says no; ``CloudError``.
    func revoke(_ token: OAuthToken) async throws {
        let answer: CloudAnswer
        if settings.isArtik {
            answer = try await accounts.send(
                CloudRequest.form("/revokeToken", [("token", token.accessToken.reveal())], method: .put)
                    .authorized(token.accessToken))
        } else if let proof = try await applicationToken() {
            // The address holds both tokens, as the service wants it: it goes to the service alone.
            answer = try await accounts.send(
                CloudRequest(
                    .put, "/revokeAccessToken",
                    query: [("client_credentials", proof.reveal()), ("token", token.accessToken.reveal())]))
        } else {
            // What an app does that has no secret: it logs its person out, and with that ends all tokens that it was given.
            answer = try await accounts.send(
                CloudRequest(.get, "/logout", query: [("redirect_uri", settings.redirect)])
                    .authorized(token.accessToken))
        }
        guard (200...399).contains(answer.status) else {
            throw CommandFailure("service", "the service answered \(answer.status) to the log-out")
        }
    }

    /// The application's own token, by which SAMI lets it revoke others; nil without its secret, or where it may not have one.
    private func applicationToken() async throws -> Secret? {
        guard settings.clientSecret != nil else { return nil }
        var request = CloudRequest.form("/token", [("grant_type", "client_credentials")])
        authorizeClient(&request)
        let answer = try await accounts.send(request)
        do { return try OAuthToken(status: answer.status, body: answer.body, at: 0).accessToken } catch is LogInRefused
        {
            return nil
        }
    }
}
