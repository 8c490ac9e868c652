public import Foundation
public import HubWire
public import Samples

/// A token as services issue it and as the hub stores it (Protocol §11).
///
/// Its description omits the secrets.
public struct OAuthToken: Hashable, Sendable, CustomStringConvertible {
    /// The token that each request to the service carries.
    public var accessToken: Secret
    /// Renews the token without a person; `nil` if the service issues none.
    public var refreshToken: Secret?
    /// When the access token expires; `nil` if the service does not report it.
    public var expiresAt: Timestamp?
    /// The access that the token grants, in the service's words.
    public var scope: String?
    /// The token type, almost always `Bearer`.
    public var type: String
    /// The account as the person knows it: a name or an address, which `hub status` shows.
    public var user: String?
    /// Additional texts that the plugin stores with the token, such as an id that every request needs.
    public var extra: [String: String]

    /// Creates a token from its parts, for a service whose answer does not follow RFC 6749.
    public init(
        accessToken: Secret, refreshToken: Secret? = nil, expiresAt: Timestamp? = nil, scope: String? = nil,
        type: String = "Bearer", user: String? = nil, extra: [String: String] = [:]
    ) {
        (self.accessToken, self.refreshToken, self.expiresAt) = (accessToken, refreshToken, expiresAt)
        (self.scope, self.type, self.user, self.extra) = (scope, type, user, extra)
    }

    /// Reads the answer of a token endpoint (RFC 6749 §5.1).
    ///
    /// - Parameters:
    ///   - response: the body of the answer, a JSON object.
    ///   - now: microseconds since 1970, from which `expires_in` counts; ``PluginContext/clock`` has it.
    ///   - former: the token being renewed; its refresh token and scope stay in use if the answer has none.
    /// - Throws: ``CommandFailure`` if the answer is not a token.
    public init(response: Data, at now: Int64, renewing former: OAuthToken? = nil) throws {
        struct Response: Decodable {
            var access_token: String
            var refresh_token: String?
            var expires_in: Double?
            var scope: String?
            var token_type: String?
        }
        // A decoding error contains the decoded data, which may include the token.
        guard let read = try? JSONDecoder().decode(Response.self, from: response), !read.access_token.isEmpty else {
            throw CommandFailure("service", "the service's answer is not a token; try again later")
        }
        self.init(
            accessToken: Secret(read.access_token),
            refreshToken: read.refresh_token.map { Secret($0) } ?? former?.refreshToken,
            expiresAt: read.expires_in.flatMap { Self.end(now, $0) }, scope: read.scope ?? former?.scope,
            type: read.token_type ?? "Bearer", user: former?.user, extra: former?.extra ?? [:])
    }

    /// Reads the answer of a token endpoint, including refusals (RFC 6749 §5.2).
    ///
    /// - Throws: ``LogInRefused`` if the service rejects the code, the refresh token or this client; ``CommandFailure`` with code `service` for any
    ///   other answer. The request can be tried again after the latter.
    public init(status: Int, body: Data, at now: Int64, renewing former: OAuthToken? = nil) throws {
        struct Refusal: Decodable {
            var error: String
            var error_description: String?
        }
        if (200...299).contains(status) {
            try self.init(response: body, at: now, renewing: former)
            return
        }
        if (400...403).contains(status), let refusal = try? JSONDecoder().decode(Refusal.self, from: body),
            !["temporarily_unavailable", "server_error", "slow_down"].contains(refusal.error)
        {
            throw LogInRefused(refusal.error + (refusal.error_description.map { ": \($0)" } ?? ""))
        }
        throw CommandFailure("service", "the service answered \(status) instead of a token; try again later")
    }

    static func end(_ now: Int64, _ seconds: Double) -> Timestamp? {
        // At most ten years, so that a huge number does not overflow.
        guard seconds.isFinite, seconds >= 0 else { return nil }
        return Timestamp(microseconds: now + Int64(min(seconds, 315_360_000) * 1_000_000))
    }

    /// A text with the expiry and without the secrets.
    public var description: String { "<token\(expiresAt.map { " until \($0.text)" } ?? "")>" }
}

extension OAuthToken: Codable {
    /// `access_token`, `refresh_token`, `expires_at`, `scope`, `token_type`, `user`, and any other member that is a text.
    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    private static let known: Set<String> = [
        "access_token", "refresh_token", "expires_at", "scope", "token_type", "user",
    ]

    /// Reads a token that ``encode(to:)`` wrote and the hub stored.
    ///
    /// - Throws: a `DecodingError` if a member is missing or has another form, and a `Timestamp.ParseError` for `expires_at`. Their texts may quote
    ///   the token: never log them.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        func text(_ name: String) throws -> String? { try members.decodeIfPresent(String.self, forKey: Key(name)) }
        let extra = members.allKeys.filter { !Self.known.contains($0.stringValue) }.compactMap { key in
            (try? members.decode(String.self, forKey: key)).map { (key.stringValue, $0) }
        }
        self.init(
            accessToken: Secret(try members.decode(String.self, forKey: Key("access_token"))),
            refreshToken: try text("refresh_token").map { Secret($0) },
            expiresAt: try text("expires_at").map { try Timestamp(parsing: $0) }, scope: try text("scope"),
            type: try text("token_type") ?? "Bearer", user: try text("user"),
            extra: Dictionary(extra, uniquingKeysWith: { first, _ in first }))
    }

    /// Writes the secrets in plain text, for the hub and for the write-ahead copy.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        for (name, value) in extra where !Self.known.contains(name) { try members.encode(value, forKey: Key(name)) }
        try members.encode(accessToken.reveal(), forKey: Key("access_token"))
        try members.encodeIfPresent(refreshToken?.reveal(), forKey: Key("refresh_token"))
        try members.encodeIfPresent(expiresAt?.text, forKey: Key("expires_at"))
        try members.encodeIfPresent(scope, forKey: Key("scope"))
        try members.encode(type, forKey: Key("token_type"))
        try members.encodeIfPresent(user, forKey: Key("user"))
    }
}
