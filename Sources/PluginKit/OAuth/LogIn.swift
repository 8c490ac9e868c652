import HubSettings
import HubWire

/// Whose log-in it was, and the token it gave.
public struct LogIn: Sendable {
    /// The plugin's own name of the account, the same as its ``TokenKeeper`` has; 1 to 128 bytes.
    public var account: String
    /// What the service has given; the hub keeps it, and this plugin gets it from its ``TokenKeeper``.
    public var token: OAuthToken

    /// A log-in that has succeeded; the token should have been tried.
    public init(account: String, token: OAuthToken) { (self.account, self.token) = (account, token) }
}

/// What became of a token at its service, as `hub logout` tells it.
///
/// Say no more than is known: a person who reads `revoked` takes the token for harmless.
public enum Revocation: String, Encodable, Sendable {
    /// The service was told, and has refused the token since: a call with it was tried.
    case revoked
    /// The service was told, and said yes; whether the token still works was not tried.
    case accepted
    /// The service did not take the token any more before it was told.
    case unknown
}

/// What the command `logout` answers.
private struct LogOutReport: Encodable, Sendable {
    var service: Revocation
}

/// What `hub login` prints.
private struct LogInReport: Encodable, Sendable {
    var account: String
    var user: String?
    var expires: String?
    var renewable: Bool
}

extension Command {
    /// `hub login NAME`: a person logs in to the plugin's service; the token is with the hub, on its disk, before the person hears of it.
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
    /// A service that gives long-lived tokens on a page of its own needs no more than
    /// `OAuthToken(accessToken: Secret(try await call.ask("Paste the token.", url: page, isSecret: true)))`.
    /// - Parameters:
    ///   - help: one sentence that says where the person logs in.
    ///   - arguments: what `hub login` takes besides the name, declared as settings are.
    ///   - body: leads the log-in and tries the token; throws ``LogInRefused`` when the service says no.
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
    /// For services that have an endpoint for that; without this command `hub logout` only forgets.
    /// - Parameters:
    ///   - help: one sentence that says what is revoked.
    ///   - body: returns when the service has revoked the token, or does not know it any more. Throws when it could not
    ///     be told, or still takes the token; then the hub keeps it, and a person can try again.
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
