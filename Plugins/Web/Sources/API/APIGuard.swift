import HTTPTypes
import Hummingbird
import PluginKit

/// Lets in programs with a token, and browsers that are logged in.
struct APIGuard: RouterMiddleware {
    let parts: WebParts
    let attempts: Attempts

    func handle(
        _ request: Request, context: Visit, next: (Request, Visit) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.viewer = try await viewer(request, context)
        return try await next(request, context)
    }

    private static let unknown = Refusal(
        .unauthorized, "This needs a token",
        "Make one with hub web token new NAME, and send it as Authorization: Bearer TOKEN. It may have been revoked.")

    private func viewer(_ request: Request, _ visit: Visit) async throws -> Viewer {
        guard let field = request.headers[.authorization] else { return try await browser(request) }
        let words = field.split(separator: " ")
        if words.count == 2, words[0].lowercased() == "bearer", let token = AccessKey(words[1]),
            let grant = try await parts.access.grant(ofToken: token)
        {
            return Viewer(token: token, person: grant.person, scope: grant.scope ?? .read)
        }
        guard attempts.mayTry(visit.address) else {
            throw Refusal(
                .tooManyRequests, "Too many tokens were wrong", "Wait a minute, and try again.", retryAfter: 60)
        }
        attempts.fail(visit.address)
        parts.hub.logger.warning("a token that lets no one in", metadata: ["peer": "\(visit.address)"])
        throw Self.unknown
    }

    /// What a browser writes carries the token of a page's forms, which another place cannot know.
    private func browser(_ request: Request) async throws -> Viewer {
        guard let viewer = try await parts.viewer(request) else { throw Self.unknown }
        guard
            request.method == .get || request.method == .head || request.headers[.formToken] == viewer.session.formToken
        else {
            throw Refusal(
                .forbidden, "This is not of this log-in", "Send the token of a form of the page as X-Form-Token.",
                member: "X-Form-Token")
        }
        return viewer
    }
}

extension WebParts {
    /// Who is logged in, by the cookie of their browser.
    func viewer(_ request: Request) async throws -> Viewer? {
        let name = SessionCookie.name(isSecure: settings.isSecure)
        guard let session = request.cookies[name].flatMap({ AccessKey($0.value) }),
            let grant = try await access.grant(of: session, at: now)
        else { return nil }
        return Viewer(session: session, person: grant.person)
    }
}

extension HTTPField.Name {
    static let formToken = HTTPField.Name("X-Form-Token")!
}
