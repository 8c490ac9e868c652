import FoundationEssentials
import JSON
import PluginKit
import Synchronization

/// iHealth's Open API, to the extent that a scale needs it: log-in, and the weights of the logged-in account.
///
/// The only source is a description of 2017; whether the service still answers is unknown. The description does not cover the text of refusals:
/// they are detected by their status, and by OAuth's error codes if present.
struct IHealthOpenAPI: Sendable {
    /// The hub's name of the account.
    static let account = "ihealth"
    private static let logInPath = "/OpenApiV2/OAuthv2/userauthorization/"

    private let settings: OpenAPISettings
    private let program: CloudProgram
    private let refusals = Refusals()

    /// Whether the last refused renewal concerned the application rather than the person.
    private final class Refusals: Sendable {
        let isOfSoftware = Mutex(false)
    }

    /// - Throws: ``PluginFailure`` if the program that talks to the service is missing.
    init(_ settings: OpenAPISettings) throws {
        self.settings = settings
        program = try CloudProgram()
    }

    var isSoftwareRefused: Bool { refusals.isOfSoftware.withLock { $0 } }

    // MARK: The log-in

    /// The page on which a person links their account.
    var authorization: Authorization {
        Authorization(
            page: settings.address.text + Self.logInPath,
            parameters: [("client_id", settings.clientID), ("response_type", "code"), ("APIName", "OpenApiWeight")],
            redirect: settings.redirect, state: .ifReturned, usesProofKey: false,
            prompt: "Log in to iHealth there, and let your application read weights.")
    }

    /// - Parameter user: the owner of the account, as a text for people.
    func token(code: String, user: String?, at now: Int64) async throws -> OAuthToken {
        var token = try await token(
            [("grant_type", "authorization_code"), ("redirect_uri", settings.redirect), ("code", code)], at: now)
        token.user = user
        return token
    }

    /// - Throws: ``LogInRefused`` if the log-in has ended.
    func renewed(_ old: OAuthToken, at now: Int64) async throws -> OAuthToken {
        guard let refresh = old.refreshToken else { throw LogInRefused("the log-in cannot be renewed") }
        var token = try await token(
            [
                ("response_type", "refresh_token"), ("refresh_token", refresh.reveal()),
                ("UserID", old.extra[Self.userKey] ?? ""), ("redirect_uri", settings.redirect),
            ], at: now)
        token.user = old.user
        token.extra = old.extra.merging(token.extra) { $1 }
        return token
    }

    private static let userKey = "user_id"

    /// Sends the request only once, because a code or a refresh token is valid for one answer.
    private func token(_ grant: [(name: String, value: String)], at now: Int64) async throws -> OAuthToken {
        let own = [("client_id", settings.clientID), ("client_secret", settings.clientSecret.reveal())]
        let answer = try await program.ask(settings.address, Self.logInPath, query: own + grant)
        let json = JSONTree(answer.body)
        refusals.isOfSoftware.withLock { $0 = false }
        guard (200...299).contains(answer.status) else {
            let word = json?["error"]?.text
            let isTemporary = ["temporarily_unavailable", "server_error", "slow_down"].contains(word)
            guard (400...403).contains(answer.status), let word, !isTemporary else {
                throw CommandFailure("service", "iHealth answered \(answer.status) instead of a token; try again later")
            }
            if ["invalid_client", "unauthorized_client"].contains(word) {
                refusals.isOfSoftware.withLock { $0 = true }
            }
            throw LogInRefused(String(word.prefix(60)))
        }
        guard let access = json?["AccessToken"]?.text, !access.isEmpty, let user = json?["UserID"]?.text else {
            throw CommandFailure("service", "iHealth answered without a valid token; try again later")
        }
        let expires = json?["Expires"].flatMap { $0.decimal ?? $0.text.flatMap(Double.init) }
        return OAuthToken(
            accessToken: Secret(access), refreshToken: json?["RefreshToken"]?.text.map { Secret($0) },
            expiresAt: expires.flatMap { end(of: $0, at: now) }, scope: "OpenApiWeight", extra: [Self.userKey: user])
    }

    private func end(of seconds: Double, at now: Int64) -> Timestamp? {
        guard seconds.isFinite, seconds > 0 else { return nil }
        return Timestamp(microseconds: now + Int64(min(seconds, 315_360_000)) * 1_000_000)
    }

    // MARK: Weights

    /// One page of the account's weights.
    ///
    /// - Parameters:
    ///   - since: seconds since 1970; `nil` for a year ago, the service's default.
    /// - Throws: ``LogInRefused`` for an invalid token; ``CommandFailure`` for an unreadable answer; the reason why there is no answer.
    func weights(_ token: OAuthToken, page: Int, since: Int64? = nil) async throws -> OpenAPIPage {
        guard let user = token.extra[Self.userKey] else { throw LogInRefused("the log-in names no user") }
        var query = [
            ("client_id", settings.clientID), ("client_secret", settings.clientSecret.reveal()),
            ("redirect_uri", settings.redirect), ("access_token", token.accessToken.reveal()),
            ("sc", settings.serial.reveal()), ("sv", settings.right.reveal()), ("page_index", "\(page)"),
        ]
        if let since { query.append(("start_time", "\(since)")) }
        let name = user.utf8.allSatisfy { $0.isWordByte } ? user : ""
        let answer = try await program.ask(
            settings.address, "/openapiv2/user/\(name)/weight.json/", query: query, attempts: 3)
        if answer.status == 401 || answer.status == 403 { throw LogInRefused("iHealth does not know the token") }
        guard (200...299).contains(answer.status), let page = OpenAPIPage(answer.body) else {
            throw CommandFailure("service", "iHealth answered without valid weights; try again later")
        }
        return page
    }

    /// Tests whether the service answers.
    func isThere() async -> String {
        do {
            _ = try await program.ask(settings.address, Self.logInPath)
            return "iHealth's Open API answers at \(settings.address.host)."
        } catch {
            return "iHealth's Open API cannot be reached now (\(error))."
        }
    }
}

extension UInt8 {
    /// Whether the byte is a letter or digit of ASCII, `-` or `_`, the characters of a user's id.
    fileprivate var isWordByte: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) || self == 0x2D
            || self == 0x5F
    }
}
