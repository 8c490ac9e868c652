import CloudClient
import Foundation
import PluginKit

/// The calls of Exist's API.
struct ExistService: Sendable {
    let client: CloudClient
    let oauth: OAuthClient

    init(_ settings: ExistSettings, pace: ClientClock) {
        client = CloudClient(settings.address, pace: pace)
        var oauth = OAuthClient(
            client, page: settings.address.text + "/oauth2/authorize", path: "/oauth2/access_token",
            id: settings.clientID ?? "", secret: settings.clientSecret ?? Secret(""), redirect: settings.redirect,
            scope: settings.scopes)
        (oauth.state, oauth.usesProofKey) = (.ifReturned, false)
        oauth.prompt = "Log in to Exist and allow access."
        self.oauth = oauth
    }

    /// Maximum number of objects in one call.
    static let batch = 35

    struct Profile: Decodable, Sendable {
        var username: String
        var timezone: String
        var local_time: String?
    }

    static let profile = CloudRequest(.get, "/api/2/accounts/profile/")

    static func owned(page: Int) -> CloudRequest {
        CloudRequest(
            .get, "/api/2/attributes/owned/",
            query: [("limit", "100"), ("page", "\(page)"), ("include_inactive", "true")])
    }

    static func values(of names: [String], days: Int, page: Int) -> CloudRequest {
        CloudRequest(
            .get, "/api/2/attributes/with-values/",
            query: [
                ("limit", "100"), ("page", "\(page)"), ("days", "\(days)"),
                ("attributes", names.joined(separator: ",")),
            ])
    }

    enum Action: String { case acquire, release, create, update }

    /// A write call; it may be repeated without a further effect.
    static func write(_ action: Action, _ objects: [String]) -> CloudRequest {
        var request = CloudRequest.bytes(
            "/api/2/attributes/\(action.rawValue)/", Data("[\(objects.joined(separator: ","))]".utf8),
            type: "application/json")
        if action != .update { request.query = [("success_objects", "1")] }
        request.isRepeatable = true
        return request
    }

    // MARK: - Tokens

    /// Fetches the profile of a token's owner, and so checks the token.
    /// - Throws: ``LogInRefused`` if the token is invalid.
    func profile(_ token: OAuthToken) async throws -> Profile {
        try Self.profile(in: await profileAnswer(token))
    }

    func profileAnswer(_ token: OAuthToken) async throws -> CloudAnswer {
        try await client.send(Self.profile.authorized(token.accessToken))
    }

    /// - Throws: ``LogInRefused`` if the answer says that the token is invalid.
    static func profile(in answer: CloudAnswer) throws -> Profile {
        if answer.status == 401 || answer.status == 403 { throw LogInRefused("Exist does not know this token") }
        return try answer.successful().json(Profile.self)
    }
}

/// Builds JSON texts by hand, because the digits of numbers matter.
enum JSONDigits {
    /// A JSON string with its quotes.
    static func text(_ text: String) -> String {
        let bytes = (try? JSONEncoder().encode(text)) ?? Data("\"\"".utf8)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func update(_ name: String, _ date: LocalDate, _ value: ExistValue) -> String {
        "{\"name\":\(text(name)),\"date\":\"\(date.text)\",\"value\":\(value.digits)}"
    }
}
