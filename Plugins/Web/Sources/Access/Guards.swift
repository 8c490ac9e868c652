import Foundation
import HTTPTypes
import HealthText
import Hummingbird
import PluginKit

/// Refuses requests for other host names, such as those of another site whose name resolves to this machine.
struct HostGuard: RouterMiddleware {
    let settings: WebSettings

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        let hosts = context.route.hosts ?? settings.hosts
        guard let host = request.head.authority?.lowercased(), hosts.contains(host) else {
            throw RequestRefusal(
                .misdirectedRequest, "This page does not have that name",
                "A browser may call it \(settings.shownHosts.sorted().joined(separator: " or ")). For another name, add it to hosts in "
                    + "the section of this plugin in hub.conf.")
        }
        if request.method != .get, request.method != .head { try refuseOthers(request, than: hosts) }
        return try await next(request, context)
    }

    /// Refuses a form from another site, by the headers with which browsers name the origin.
    private func refuseOthers(_ request: Request, than hosts: Set<String>) throws {
        let site = request.headers[.secFetchSite]
        let isOther = site.map { $0 != "same-origin" && $0 != "none" } ?? false
        let origin = request.headers[.origin].map { origin in
            origin.range(of: "://").map { String(origin[$0.upperBound...]).lowercased() } ?? origin
        }
        guard !isOther, origin.map(hosts.contains) ?? true else {
            throw RequestRefusal(
                .forbidden, "This was sent from another page", "Open the page itself, and do it there.")
        }
    }
}

/// Refuses methods that no address takes.
struct MethodGuard: RouterMiddleware {
    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        guard API.methods.contains(request.method) || request.method == .head else {
            throw RequestRefusal(
                .methodNotAllowed, "This method is not allowed here", "Addresses of this page take GET, HEAD and POST.",
                allowed: "GET, HEAD, POST")
        }
        return try await next(request, context)
    }
}

/// Admits logged-in browsers, and redirects others to the log-in.
struct SessionGuard: RouterMiddleware {
    let parts: WebParts

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        guard let browser = try await parts.browser(request, context.route) else {
            guard request.method == .get || request.method == .head else {
                throw RequestRefusal(
                    .forbidden, "You are not logged in", "Type hub web on the hub's machine, and open the link.")
            }
            return Response(status: .seeOther, headers: [.location: "/login"])
        }
        var context = context
        context.viewer = browser.viewer
        return browser.renewed(try await next(request, context))
    }
}

/// A logged-in browser.
struct KnownBrowser: Sendable {
    let viewer: Viewer
    /// The cookie again if the session was extended, because the browser forgets it after a time.
    let cookie: String?

    /// Adds the cookie to an answer, unless the answer sets another one, as at the end of a session.
    func renewed(_ answer: Response) -> Response {
        guard let cookie, answer.headers[.setCookie] == nil else { return answer }
        var answer = answer
        answer.headers[.setCookie] = cookie
        return answer
    }
}

extension WebParts {
    /// The logged-in browser, by its cookie.
    func browser(_ request: Request, _ route: RequestRoute) async throws -> KnownBrowser? {
        guard let session = request.cookies[route.cookie.name].flatMap({ AccessKey($0.value) }),
            let (grant, isRenewed) = try await access.grant(of: session, at: now), admits(grant, route)
        else { return nil }
        return KnownBrowser(
            viewer: Viewer(session: session, person: grant.person, formToken: grant.formToken),
            cookie: isRenewed ? route.cookie.header(session) : nil)
    }
}

/// The session cookie of a browser.
struct SessionCookie: Sendable {
    let isSecure: Bool
    /// Programs at other paths of the host do not get the cookie.
    let base: BasePath

    /// The name; its prefix makes browsers accept the cookie only over HTTPS.
    ///
    /// With `__Host-` no other site can set it either, but that prefix allows no path.
    var name: String { !isSecure ? "hub" : base == .none ? "__Host-hub" : "__Secure-hub" }

    /// The field that sets the cookie, or with nil removes it.
    func header(_ session: AccessKey?) -> String {
        let value = session.map { "\($0.text); Max-Age=2592000" } ?? "; Max-Age=0"
        return "\(name)=\(value); Path=\(base.text)/; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
    }
}

/// A refused request, with words for people.
struct RequestRefusal: Error {
    let status: HTTPResponse.Status
    let title: String
    let advice: String
    var retryAfter: Int?
    /// The member of the request that is wrong, for programs.
    var member: String?
    /// A code for programs.
    var code: String?
    /// The methods that the address takes.
    var allowed: String?

    init(
        _ status: HTTPResponse.Status, _ title: String, _ advice: String, retryAfter: Int? = nil, member: String? = nil,
        allowed: String? = nil
    ) {
        (self.status, self.title, self.advice, self.retryAfter) = (status, title, advice, retryAfter)
        (self.member, self.allowed) = (member, allowed)
    }
}

/// The refusal for an unknown address, and for a page that the viewer may not see.
let noSuchPage = RequestRefusal(.notFound, "There is nothing at this address", "The first page leads on.")

/// Finds the way of each request, turns errors into pages, or into problems for programs, and adds the security headers and the base path to
/// every answer.
struct ErrorPages: RouterMiddleware {
    let hub: PluginContext
    let settings: WebSettings

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        var (context, response) = (context, Response(status: .ok))
        do {
            context.route = try RequestRoute(
                request.head, isTrusted: settings.proxies.trust(context.peer), settings)
            response = try await next(request, context)
        } catch {
            let told = refusal(error)
            response =
                request.uri.path.hasPrefix(API.root + "/") ? Problem.response(told) : page(told, context.route.base)
        }
        if let next = response.headers[.location] { response.headers[.location] = context.route.base.address(of: next) }
        for field in PageAnswer.guards(isFramed: context.route.isFramed) where response.headers[field.name] == nil {
            response.headers.append(field)
        }
        return response
    }

    private func refusal(_ error: any Error) -> RequestRefusal {
        switch error {
        case let error as any HTTPResponseError where error.status == .notFound: noSuchPage
        case let refusal as RequestRefusal: refusal
        case let error as AskError: RequestRefusal(error)
        case let failure as CommandFailure: RequestRefusal(failure)
        case let fault as UnreadableResult:
            RequestRefusal(.badGateway, "The hub's answer is not understood", fault.description)
        case let error as any HTTPResponseError:
            RequestRefusal(error.status, error.status.reasonPhrase, "The request is not one of this page.")
        default: unexpected(error)
        }
    }

    private func unexpected(_ error: any Error) -> RequestRefusal {
        hub.logger.error("an answer could not be made", metadata: ["error": "\(error)"])
        return RequestRefusal(
            .internalServerError, "This answer could not be made", "hub logs \(hub.instance) says more.")
    }

    private func page(_ refusal: RequestRefusal, _ base: BasePath) -> Response {
        var response = PageFrame(title: refusal.title, base: base).page(
            "<p>\(refusal.advice)</p><p><a href=\"\(url: "/")\">The first page</a></p>", refusal.status)
        if let seconds = refusal.retryAfter { response.headers[.retryAfter] = "\(seconds)" }
        return response
    }
}

extension HTTPField.Name { static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")! }
