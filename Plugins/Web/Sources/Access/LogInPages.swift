import Hummingbird
import PluginKit

/// The log-in of a browser: a link that `hub web` prints, and a button.
///
/// The link alone does not log in, because preview programs follow links.
struct LogInPages: Sendable {
    let parts: WebParts
    let attempts: LogInRateLimit

    /// The page for visitors without a link: a button for a user of the proxy whom a rule admits, or the way to a link.
    func advice(_ route: RequestRoute) -> Response {
        let frame = PageFrame(title: "Log in", base: route.base)
        if let user = parts.proxyUser(route) {
            let seen: HTML = user.person.map { "the values of \($0) alone" } ?? "everything, as the owner"
            let words: HTML = "<p>You are the user \(user.id) of the proxy, and see \(seen).</p>"
            return frame.page(form("user", user.id, words))
        }
        return frame.page(
            """
            <p>Type <code>hub web</code> on the hub's machine, and open the link that it prints. For someone with access
            to their own values alone: <code>hub web --person NAME</code>.</p>
            \(route.user.map(ruleAdvice))
            """)
    }

    /// The rule to write for a user whom the proxy names and no rule admits.
    private func ruleAdvice(_ id: String) -> HTML {
        """
        <p>The proxy names you <code>\(id)</code>, and no rule lets you in. To let you see everything, the owner adds
        <code>"\(id)=owner"</code> to <code>proxy_users</code> of this page; <code>"\(id)=person:NAME"</code> shows the values of
        that person alone.</p>
        """
    }

    func question(_ link: String, _ route: RequestRoute) throws -> Response {
        guard let link = AccessKey(link) else { throw Self.unknown }
        return PageFrame(title: "Log in", base: route.base).page(form("link", link.text))
    }

    private func form(_ name: String, _ value: String, _ words: HTML = HTML()) -> HTML {
        """
        <form method="post" action="\(url: "/login")">\(FormFields.hidden(name, value))\(words)
        <p>This browser stays logged in for thirty days after it was used last.</p>
        <noscript><p>Without JavaScript it only reads.</p></noscript>
        <button class="main" autofocus>Log in</button></form>
        """
    }

    private static let unknown = RequestRefusal(
        .forbidden, "This link lets no one in",
        "A link is good for one log-in within ten minutes. Type hub web on the hub's machine for another.")

    func answer(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let form = try await WebForm(request)
        let formToken = form["token"].flatMap { AccessKey($0) }
        if let id = form["user"] {
            guard let user = parts.proxyUser(visit.route), user.id == id else {
                throw RequestRefusal(
                    .forbidden, "No rule lets this user in", "Open the page again: it shows the missing rule.")
            }
            let session = try await parts.access.logIn(user, formToken: formToken, at: parts.now)
            return redirect(to: "/", visit.route, cookie: session)
        }
        if let link = AccessKey(try form.text("link")),
            let session = try await parts.access.logIn(with: link, formToken: formToken, at: parts.now)
        {
            // A valid link works even after failures of others, because behind a proxy all have one address.
            return redirect(to: "/", visit.route, cookie: session)
        }
        guard attempts.mayTry(visit.peer.text) else {
            throw RequestRefusal(
                .tooManyRequests, "Too many log-ins failed", "Wait a minute, and try again.", retryAfter: 60)
        }
        attempts.fail(visit.peer.text)
        parts.hub.logger.warning("a log-in with a link that lets no one in", metadata: ["peer": "\(visit.peer.text)"])
        throw Self.unknown
    }

    func end(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (_, viewer) = try await WebForm.read(request, visit)
        try await parts.access.end(viewer.session)
        await parts.events.end(viewer.session.hash)
        return redirect(to: "/login", visit.route, cookie: nil)
    }

    private func redirect(to path: String, _ route: RequestRoute, cookie: AccessKey?) -> Response {
        Response(status: .seeOther, headers: [.location: path, .setCookie: route.cookie.header(cookie)])
    }
}
