import Hummingbird
import PluginKit

/// The log-in of a browser: a link that `hub web` prints, and a button.
///
/// The link alone does not log in, because preview programs follow links.
struct LogInPages: Sendable {
    let parts: WebParts
    let attempts: LogInRateLimit

    /// The page for visitors without a link.
    var advice: Response {
        PageFrame(title: "Log in").page(
            """
            <p>Type <code>hub web</code> on the hub's machine, and open the link that it prints. For someone with access
            to their own values alone: <code>hub web --person NAME</code>.</p>
            """)
    }

    func question(_ link: String) throws -> Response {
        guard let link = AccessKey(link) else { throw Self.unknown }
        return PageFrame(title: "Log in").page(
            """
            <form method="post" action="/login"><input type="hidden" name="link" value="\(link.text)">
            <p>This browser stays logged in for thirty days after it was used last.</p>
            <noscript><p>Without JavaScript it only reads.</p></noscript>
            <button class="main" autofocus>Log in</button></form>
            """)
    }

    private static let unknown = RequestRefusal(
        .forbidden, "This link lets no one in",
        "A link is good for one log-in within ten minutes. Type hub web on the hub's machine for another.")

    func answer(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let form = try await WebForm(request)
        if let link = AccessKey(try form.text("link")),
            let session = try await parts.access.logIn(
                with: link, formToken: form["token"].flatMap { AccessKey($0) }, at: parts.now)
        {
            // A valid link works even after failures of others, because behind a proxy all have one address.
            return redirect(to: "/", cookie: session)
        }
        guard attempts.mayTry(visit.address) else {
            throw RequestRefusal(
                .tooManyRequests, "Too many log-ins failed", "Wait a minute, and try again.", retryAfter: 60)
        }
        attempts.fail(visit.address)
        parts.hub.logger.warning("a log-in with a link that lets no one in", metadata: ["peer": "\(visit.address)"])
        throw Self.unknown
    }

    func end(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (_, viewer) = try await WebForm.read(request, visit)
        try await parts.access.end(viewer.session)
        await parts.events.end(viewer.session.hash)
        return redirect(to: "/login", cookie: nil)
    }

    private func redirect(to path: String, cookie: AccessKey?) -> Response {
        Response(
            status: .seeOther,
            headers: [.location: path, .setCookie: SessionCookie.header(cookie, isSecure: parts.settings.isSecure)])
    }
}
