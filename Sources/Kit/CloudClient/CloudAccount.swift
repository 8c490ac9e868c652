public import PluginKit

/// Makes calls with the log-in that the hub stores for this plugin; create one for each account.
///
/// The token is renewed shortly before its end, and once if the service refuses it with 401; several calls at a time wait for one renewal.
/// ``TokenKeeper`` stores a renewed token before it is used.
public struct CloudAccount: Sendable {
    /// The plugin's own name of its account, for a plugin that has only one.
    public static let name = "me"

    /// Renews the token, and passes it to the hub.
    public let keeper: TokenKeeper
    private let hub: PluginContext

    /// Uses the token that `hub login` has brought; makes no call yet.
    ///
    /// - Parameter margin: how long before its expiry a token is renewed.
    public init(
        _ hub: PluginContext, _ oauth: OAuthClient, account: String = name, margin: Duration = .seconds(60)
    ) {
        self.hub = hub
        keeper = TokenKeeper(hub, account: account, margin: margin) { old in
            try await oauth.renewed(old, at: hub.clock.now())
        }
    }

    /// Sends a request with the token; if the service refuses the token, repeats it once with another token.
    ///
    /// - Returns: the answer with any status; 401 means that the service refuses both tokens.
    /// - Throws: ``TokenError``, ``AskError``, ``CloudError``; `CancellationError`.
    public func send(
        _ request: CloudRequest, with client: CloudClient, retrying retry: Retry = Retry(attempts: 1)
    ) async throws -> CloudAnswer {
        try await attempt { try await client.send(request.authorized($0.accessToken), retrying: retry) }
    }

    /// Runs a call with a token; if its answer is 401, repeats it once with another token.
    public func attempt(
        isolation: isolated (any Actor)? = #isolation, _ call: (OAuthToken) async throws -> CloudAnswer
    ) async throws -> CloudAnswer {
        let token = try await keeper.token()
        let answer = try await call(token)
        guard answer.status == 401 else { return answer }
        return try await call(try await keeper.token(insteadOf: token))
    }

    /// Looks for a token, so that `hub status` shows a missing log-in at once, and not only when a call needs it (R11.9).
    ///
    /// - Throws: `CancellationError`.
    public func look() async throws {
        do {
            _ = try await keeper.token()
        } catch let error as TokenError {
            hub.logger.warning("there is no token", metadata: ["reason": "\(error.message)"])
        } catch let error as AskError {
            guard error.code != .stopping else { throw CancellationError() }
            hub.logger.warning("the hub gave no token", metadata: ["reason": "\(error)"])
        }
    }

    /// Has the service revoke a token, and checks that it no longer works, for `Command.logOut`.
    ///
    /// A token that the service refuses now is renewed first, because it could still be renewed, and so become valid again.
    /// - Parameters:
    ///   - remedy: the advice for a person if the service confirms the revocation and still accepts the token.
    ///   - accepts: whether the service accepts the token.
    ///   - revoke: asks the service to revoke the token.
    /// - Throws: ``CommandFailure`` if the service cannot be reached, or still accepts the token.
    public func revoke(
        _ token: OAuthToken, orElse remedy: String, accepts: (OAuthToken) async throws -> Bool,
        by revoke: (OAuthToken) async throws -> Void
    ) async throws -> Revocation {
        var token = token
        do {
            if try await !accepts(token) {
                guard token.refreshToken != nil else { return .unknown }
                token = try await keeper.token(insteadOf: token)
            }
            try await revoke(token)
            guard try await accepts(token) else { return .revoked }
        } catch let error as TokenError {
            if error.needsLogIn { return .unknown }
            throw CommandFailure("service", error.message)
        } catch let error as CloudError {
            throw CommandFailure(error)
        }
        throw CommandFailure(
            "service", "the service was asked to revoke the token, but still accepts it; \(remedy)")
    }
}
