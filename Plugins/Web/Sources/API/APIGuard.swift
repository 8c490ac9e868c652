import HTTPTypes
import Hummingbird
import PluginKit

/// Admits programs with a token, and logged-in browsers.
struct APIGuard: RouterMiddleware {
    let parts: WebParts
    let attempts: LogInRateLimit

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        guard request.headers[.authorization] != nil else {
            let browser = try await browser(request, context.route)
            context.viewer = browser.viewer
            return browser.renewed(try await next(request, context))
        }
        context.viewer = try await program(request, context)
        return try await next(request, context)
    }

    private static let unknown = RequestRefusal(
        .unauthorized, "This needs a token",
        "Make one with hub web token new NAME, and send it as Authorization: Bearer TOKEN. It may have been revoked.")

    private func program(_ request: Request, _ visit: WebRequestContext) async throws -> Viewer {
        let words = (request.headers[.authorization] ?? "").split(separator: " ")
        if words.count == 2, words[0].lowercased() == "bearer", let token = AccessKey(words[1]),
            let grant = try await parts.access.grant(ofToken: token)
        {
            return Viewer(token: token, person: grant.person, scope: grant.scope ?? .read)
        }
        guard attempts.mayTry(visit.peer.text) else {
            throw RequestRefusal(
                .tooManyRequests, "Too many tokens were wrong", "Wait a minute, and try again.", retryAfter: 60)
        }
        attempts.fail(visit.peer.text)
        parts.hub.logger.warning("a token that lets no one in", metadata: ["peer": "\(visit.peer.text)"])
        throw Self.unknown
    }

    /// Requires the form token for a browser's writes; only pages of this address can read it.
    private func browser(_ request: Request, _ route: RequestRoute) async throws -> KnownBrowser {
        guard let browser = try await parts.browser(request, route) else { throw Self.unknown }
        guard
            request.method == .get || request.method == .head
                || browser.viewer.sends(formToken: request.headers[.formToken])
        else {
            throw RequestRefusal(
                .forbidden, "This browser only reads here",
                "X-Form-Token: send the value that the page keeps in localStorage as hub-form-token.",
                member: "X-Form-Token")
        }
        return browser
    }
}

extension HTTPField.Name { static let formToken = HTTPField.Name("X-Form-Token")! }
