public import PluginKit

/// A service's log-in by OAuth 2 (RFC 6749): its addresses, the plugin's registration there, and its differences from the standard.
///
/// ```swift
/// let client = CloudClient(try ServiceAddress(hub.settings), pace: Pace(hub))
/// let oauth = OAuthClient(
///     client, page: "https://example.org/oauth2/authorize", path: "/oauth2/token", id: id, secret: secret,
///     redirect: redirect, scope: "weight:read")
/// var token = try await oauth.logIn(call)  // For `Command.logIn`.
/// let account = CloudAccount(hub, oauth)  // For all other calls.
/// let answer = try await account.send(CloudRequest(.get, "/weights"), with: client)
/// ```
///
/// A request for a token is sent once and at once: a code or a refresh token is good for one answer, some for only seconds.
public struct OAuthClient: Sendable {
    /// How a person's consent becomes a token.
    public enum Grant: Sendable {
        /// The page gives a code, which the plugin exchanges (RFC 6749 §4.1).
        case code
        /// The page gives the token itself (RFC 6749 §4.2).
        case implicit
    }

    /// How the plugin proves to the token endpoint who it is.
    public enum Proof: Sendable {
        /// With `client_id` and `client_secret` among the members.
        case form
        /// With the id and the secret in the header.
        case basic
        /// Without a secret: a renewal carries the old access token, an exchange only the id.
        case token
    }

    /// Reads the token endpoint's answer; the arguments are the answer, the time, and the token that is renewed.
    public typealias Reading = @Sendable (CloudAnswer, Int64, OAuthToken?) throws -> OAuthToken

    /// The host of the token endpoint.
    public var client: CloudClient
    /// The URL of the page on which a person agrees.
    public var page: String
    /// The path of the token endpoint.
    public var path: String
    /// The id of the plugin's registration at the service.
    public var id: String
    /// Its secret; nil if it has none.
    public var secret: Secret?
    /// The registered address to which the page sends the browser back.
    public var redirect: String
    /// The requested access in the service's words; empty if its page takes none.
    public var scope: String
    /// How a person's consent becomes a token.
    public var grant = Grant.code
    /// How the plugin proves to the token endpoint who it is.
    public var proof = Proof.form
    /// Further parameters of the page.
    public var parameters: [(name: String, value: String)] = []
    /// How the page returns `state`.
    public var state = Authorization.StateRule.required
    /// Whether the service supports PKCE.
    public var usesProofKey = true
    /// The text shown next to the page's address.
    public var prompt = "Log in there and agree."
    /// Further members of each request for a token, such as `action=requesttoken`.
    public var members: [(name: String, value: String)] = []
    /// The method of a request for a token; GET puts the members into the query.
    public var method = CloudRequest.Method.post
    /// For a service whose answer does not follow RFC 6749.
    public var reading: Reading = { try OAuthToken(status: $0.status, body: $0.body, at: $1, renewing: $2) }

    /// A log-in as the standard has it; change the other properties for a service that differs.
    public init(
        _ client: CloudClient, page: String, path: String, id: String, secret: Secret?, redirect: String, scope: String
    ) {
        (self.client, self.page, self.path) = (client, page, path)
        (self.id, self.secret, self.redirect, self.scope) = (id, secret, redirect, scope)
    }

    // MARK: - Log-in

    /// Sends the person to the page, and returns the token; test it against the service before you return it.
    ///
    /// - Throws: ``LogInRefused``; ``CommandFailure`` with a remedy; `CancellationError`.
    public func logIn(_ call: CommandCall) async throws -> OAuthToken {
        let answer = try await call.authorize(
            Authorization(
                page: page,
                parameters: [("client_id", id), ("response_type", grant == .code ? "code" : "token")]
                    + (scope.isEmpty ? [] : [("scope", scope)]) + parameters,
                redirect: redirect, state: state, usesProofKey: usesProofKey && grant == .code, prompt: prompt))
        let now = call.hub.clock.now()
        guard grant == .code else { return try answer.token(at: now) }
        var form = [
            ("grant_type", "authorization_code"), ("code", try answer.code()), ("redirect_uri", answer.redirect),
        ]
        if let verifier = answer.verifier {
            if proof == .basic { form.append(("client_id", id)) }
            form.append(("code_verifier", verifier.reveal()))
        }
        do { return try await token(form, at: now) } catch let error as CloudError { throw CommandFailure(error) }
    }

    // MARK: - Tokens

    /// Renews a token.
    ///
    /// - Throws: ``LogInRefused`` if the log-in has ended; ``CloudError`` or ``CommandFailure`` if the same call may succeed later.
    public func renewed(_ old: OAuthToken, at now: Int64) async throws -> OAuthToken {
        try await token(
            [("grant_type", "refresh_token"), ("refresh_token", old.refreshToken?.reveal() ?? "")], at: now,
            renewing: old)
    }

    /// Asks for a token with the members of any grant.
    ///
    /// - Parameter former: the token to renew.
    /// - Throws: as ``renewed(_:at:)``.
    public func token(
        _ grant: [(name: String, value: String)], at now: Int64, renewing former: OAuthToken? = nil
    ) async throws -> OAuthToken {
        var all = members + grant
        switch proof {
        case .form: all += [("client_id", id)] + (secret.map { [("client_secret", $0.reveal())] } ?? [])
        case .token: if former == nil { all.append(("client_id", id)) }
        case .basic: break
        }
        var request = method == .get ? CloudRequest(.get, path, query: all) : .form(path, all, method: method)
        (request.hasEffect, request.isRepeatable) = (true, false)
        switch proof {
        case .form: break
        case .basic: request.authorizeBasic(id, secret ?? Secret(""))
        case .token: if let former { request.authorize(former.accessToken) }
        }
        return try reading(try await client.send(request), now, former)
    }

    /// Whether the service knows `id` and `secret`, found out with an invented refresh token.
    ///
    /// - Throws: as ``renewed(_:at:)``, except ``LogInRefused``.
    public func isRegistered(at now: Int64) async throws -> Bool {
        do {
            _ = try await token([("grant_type", "refresh_token"), ("refresh_token", "none")], at: now)
        } catch let refusal as LogInRefused {
            return !["invalid_client", "unauthorized_client"].contains { refusal.reason.hasPrefix($0) }
        }
        return true
    }
}

extension CommandFailure {
    /// The failure of a command because the service cannot be reached, or gives no usable answer.
    public init(_ error: CloudError) { self.init("service", error.message) }
}
