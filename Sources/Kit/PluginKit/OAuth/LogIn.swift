import HubWire

/// The result of a log-in: the account and its token.
public struct LogIn: Sendable {
    /// The plugin's own name of the account, 1 to 128 bytes; its ``TokenKeeper`` must use the same name.
    public var account: String
    /// The token from the service; the hub stores it, and the plugin reads it through its ``TokenKeeper``.
    public var token: OAuthToken

    /// Creates the result of a successful log-in; test the token against the service first.
    public init(account: String, token: OAuthToken) { (self.account, self.token) = (account, token) }
}

/// The state of a token at its service after a log-out, as `hub logout` reports it.
///
/// Do not claim more than is known: a person reading `revoked` takes the token for harmless.
public enum Revocation: String, Encodable, Sendable {
    /// The service confirmed the revocation, and a call with the token was refused afterwards.
    case revoked
    /// The service confirmed the revocation; the plugin did not test whether the token still works.
    case accepted
    /// The service had already rejected the token before the plugin asked to revoke it.
    case unknown
}

/// The result of the command `logout`.
private struct LogOutReport: Encodable, Sendable {
    var service: Revocation
}

/// The result that `hub login` prints.
private struct LogInReport: Encodable, Sendable {
    var account: String
    var user: String?
    var expires: String?
    var renewable: Bool
}

extension Command {
    /// `hub login NAME`: a person logs in to the plugin's service; the hub has the token on its disk before the person sees the result.
    ///
    /// ```swift
    /// .logIn(help: "Logs in to Exist.") { plugin, call in
    ///     let answer = try await call.authorize(Authorization(
    ///         page: "https://exist.io/oauth2/authorize",
    ///         parameters: [("client_id", id), ("response_type", "code"), ("scope", "health_write")],
    ///         redirect: try call.hub.settings.text("redirect"), state: .ifReturned, usesProofKey: false))
    ///     let token = try await plugin.exchange(answer.code(), answer.redirect)
    ///     return LogIn(account: "me", token: token)
    /// }
    /// ```
    ///
    /// For a service that shows long-lived tokens on one of its pages, this is enough:
    /// `OAuthToken(accessToken: Secret(try await call.ask("Paste the token.", url: page, isSecret: true)))`.
    /// - Parameters:
    ///   - help: one sentence that names the place of the log-in.
    ///   - arguments: the arguments of `hub login` after the name, declared like settings.
    ///   - body: runs the log-in and tests the token; it throws ``LogInRefused`` if the service refuses.
    public static func logIn(
        help: String, arguments: [SettingDeclaration] = [],
        _ body: @escaping @Sendable (P, CommandCall) async throws -> LogIn
    ) -> Command {
        Command(Manifest.logIn, help: help, arguments: arguments) { plugin, call in
            let logIn: LogIn
            do {
                logIn = try await body(plugin, call)
            } catch let refusal as LogInRefused {
                throw CommandFailure("refused", "the service refuses the log-in: \(refusal.reason); begin again")
            }
            try await TokenKeeper(call.hub, account: logIn.account) { $0 }.put(logIn.token)
            await call.hub.noteLogIn()
            return LogInReport(
                account: logIn.account, user: logIn.token.user, expires: logIn.token.expiresAt?.text,
                renewable: logIn.token.refreshToken != nil)
        }
    }

    /// `hub logout NAME`: asks the service to revoke a token, before the hub forgets it.
    ///
    /// For services with a revocation endpoint. Without this command, `hub logout` only makes the hub forget the token.
    /// - Parameters:
    ///   - help: one sentence that names the thing that is revoked.
    ///   - body: returns when the service has revoked the token, or no longer knows it. It throws if the service could not be reached or still
    ///     accepts the token. The hub then keeps the token, and a person can try again.
    public static func logOut(
        help: String, _ body: @escaping @Sendable (P, CommandCall, OAuthToken) async throws -> Revocation
    ) -> Command {
        let account = SettingDeclaration("account", .string(), help: "The plugin's name of it.", required: true)
        return Command(Manifest.logOut, help: help, arguments: [account]) { plugin, call in
            let keeper = TokenKeeper(call.hub, account: try call.arguments.text("account")) { $0 }
            guard let token = try await keeper.current() else { return nil }
            return LogOutReport(service: try await body(plugin, call, token))
        }
    }
}

extension Manifest {
    /// The names of the commands behind `hub login` and `hub logout`.
    static let (logIn, logOut) = ("login", "logout")
}
