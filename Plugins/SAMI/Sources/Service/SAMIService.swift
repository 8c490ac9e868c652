import CloudClient
import Foundation
import JSON
import PluginKit

/// The calls of SAMI's API.
struct SAMIService: Sendable {
    let settings: SAMISettings
    let client: CloudClient
    /// Posts messages, which SAMI counts separately.
    let posts: CloudClient
    private let accounts: CloudClient

    /// - Parameter limiter: shared by all calls that read; it learns the budget from the answers.
    init(_ settings: SAMISettings, pace: ClientClock, limiter: RateLimiter?) {
        self.settings = settings
        client = CloudClient(settings.address, pace: pace, limiter: limiter)
        posts = CloudClient(
            settings.address, pace: pace,
            limiter: RateLimiter(patience: .seconds(86_400), told: ServiceWatch.windows))
        accounts = CloudClient(settings.accounts, pace: pace)
    }

    /// Maximum number of objects in a page of devices or types.
    private static let pageObjects = 100
    /// Maximum number of messages in a page of a range.
    var pageMessages: Int { settings.isArtik ? 100 : 1_000 }

    // MARK: - The user and the devices

    static let user = CloudRequest(.get, "/users/self")

    static func devices(of user: String, from offset: Int) -> CloudRequest {
        CloudRequest(
            .get, "/users/\(user)/devices",
            query: [("offset", "\(offset)"), ("count", "\(pageObjects)"), ("includeProperties", "false")])
    }

    /// Whether the page with this many objects at `offset` is the last.
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

    /// Messages from `start` to `end`, milliseconds since 1970, oldest first.
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

    /// The newest messages, newest first.
    static func last(_ count: Int, of device: String, with field: String? = nil) -> CloudRequest {
        var query = [("sdids", device), ("count", "\(count)")]
        if let field { query.append(("fieldPresence", field)) }
        return CloudRequest(.get, "/messages/last", query: query)
    }

    static func addDevice(_ name: String, type: String, user: String) throws -> CloudRequest {
        try .json("/devices", ["uid": user, "dtid": type, "name": name])
    }

    /// A message as REST and a registered socket accept it.
    static func message(_ data: [String: JSONTree], at time: Int64, device: String) -> [String: JSONTree] {
        ["sdid": .text(device), "type": .text("message"), "ts": .whole(time), "data": .object(data)]
    }

    static func post(_ message: [String: JSONTree]) -> CloudRequest {
        .bytes(messagesPath, Data(JSONTree.object(message).bytes), type: "application/json")
    }

    // MARK: - Log-in

    /// SAMI renews a token for its secret in the code flow, and for the old token in the implicit flow.
    var oauth: OAuthClient {
        let isCode = settings.grant == .code
        var oauth = OAuthClient(
            accounts, page: settings.accounts.text + "/authorize", path: "/token", id: settings.clientID,
            secret: settings.clientSecret, redirect: settings.redirect, scope: "read,write")
        (oauth.grant, oauth.proof) = isCode ? (.code, .basic) : (.implicit, .token)
        // The documentation says that `state` is returned; captured redirects of the first tutorials had none.
        oauth.state = .ifReturned
        // SAMI did not have PKCE yet; ARTIK Cloud did.
        oauth.usesProofKey = settings.isArtik
        return oauth
    }

    // MARK: - Log-out

    /// Whether the service accepts a token now.
    func takes(_ token: OAuthToken) async throws -> Bool {
        let answer = try await client.send(Self.user.authorized(token.accessToken), retrying: Retry(attempts: 2))
        switch answer.status {
        case 401: return false
        case 403: return true  // The service knows the token's user.
        default:
            _ = try answer.successful()
            return true
        }
    }

    /// Asks the service to revoke a token; the caller must check whether the token still works.
    /// - Throws: ``CommandFailure`` if the service refuses; ``CloudError``.
    func revoke(_ token: OAuthToken) async throws {
        let answer: CloudAnswer
        if settings.isArtik {
            answer = try await accounts.send(
                CloudRequest.form("/revokeToken", [("token", token.accessToken.reveal())], method: .put)
                    .authorized(token.accessToken))
        } else if let proof = try await applicationToken() {
            // The service wants both tokens in the address, which goes only to the service.
            answer = try await accounts.send(
                CloudRequest(
                    .put, "/revokeAccessToken",
                    query: [("client_credentials", proof.reveal()), ("token", token.accessToken.reveal())]))
        } else {
            // An app without a secret logs its user out, which ends all its tokens.
            answer = try await accounts.send(
                CloudRequest(.get, "/logout", query: [("redirect_uri", settings.redirect)])
                    .authorized(token.accessToken))
        }
        guard (200...399).contains(answer.status) else {
            throw CommandFailure("service", "the service answered \(answer.status) to the log-out")
        }
    }

    /// The application's own token, with which SAMI lets it revoke others; nil without its secret, or if the service refuses it.
    private func applicationToken() async throws -> Secret? {
        guard settings.clientSecret != nil else { return nil }
        var oauth = oauth
        oauth.proof = .basic
        do {
            return try await oauth.token([("grant_type", "client_credentials")], at: 0).accessToken
        } catch is LogInRefused {
            return nil
        }
    }
}
