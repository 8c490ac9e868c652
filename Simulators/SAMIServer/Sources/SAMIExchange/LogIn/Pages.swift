import Platform
import WebFaults

/// The pages for a person: small, without scripts, and without external resources.
enum Pages {
    static func logIn(query: String, mistake: String?) -> WebAnswer {
        page(
            "Log in",
            """
            \(mistake.map { "<p class=mistake>\(Markup.escaped($0))</p>" } ?? "")
            <form method=post action="/login">
              <input type=hidden name=query value="\(Markup.escaped(query))">
              <label>User name or e-mail <input name=name autocomplete=username autofocus required></label>
              <label>Password <input name=password type=password autocomplete=current-password required></label>
              <button id=login>Log in</button>
            </form>
            """, status: mistake == nil ? 200 : 403)
    }

    /// - Parameters:
    ///   - rights: lines such as `Withings Device: read`.
    ///   - redirect: the address that receives the answer; `nil` for none.
    static func consent(
        application: String, user: String, rights: [String], query: String, mark: String, redirect: String?,
        action: String = "/consent"
    ) -> WebAnswer {
        page(
            "Allow \(application)?",
            """
            <p>You are <b>\(Markup.escaped(user))</b>. <b>\(Markup.escaped(application))</b> asks for:</p>
            <ul>\(rights.map { "<li>\(Markup.escaped($0))</li>" }.joined())</ul>
            <form method=post action="\(action)">
              <input type=hidden name=query value="\(Markup.escaped(query))">
              <input type=hidden name=mark value="\(Markup.escaped(mark))">
              <button id=allow name=decision value=allow>Allow</button>
              <button id=deny name=decision value=deny class=quiet>Deny</button>
            </form>
            """, redirect: redirect)
    }

    /// The page at the root address.
    /// - Parameter counts: such as `30 messages`.
    static func start(base: String, dialect: String, counts: [String]) -> WebAnswer {
        page(
            "A data exchange",
            """
            <p>This server works as SAMI or ARTIK Cloud did, on your machine. Dialect: \(Markup.escaped(dialect)).
            It holds \(Markup.escaped(counts.joined(separator: ", "))).</p>
            <p>Apps and SDKs need these:</p>
            <ul>
              <li>REST: <code>\(Markup.escaped(base))/v1.1</code></li>
              <li>WebSockets: <code>\(Markup.escaped(base.replacing("http", with: "ws", maxReplacements: 1)))/v1.1</code></li>
              <li>Log-in: <code>\(Markup.escaped(base))/authorize</code></li>
            </ul>
            <p>The README of hub-sami-server explains how to point each here, and lists the calls below <code>/control/</code>.</p>
            """)
    }

    static func message(_ title: String, _ text: String, status: Int = 200) -> WebAnswer {
        page(title, "<p>\(Markup.escaped(text))</p>", status: status)
    }

    private static func page(
        _ title: String, _ body: String, status: Int = 200, redirect: String? = nil
    ) -> WebAnswer {
        .html(
            """
            <!doctype html>
            <html lang=en>
            <meta charset=utf-8>
            <meta name=viewport content="width=device-width, initial-scale=1">
            <title>\(Markup.escaped(title))</title>
            <style>
            :root { color-scheme: light dark; font: 17px/1.5 system-ui, sans-serif }
            body { max-width: 24rem; margin: 12vh auto; padding: 0 1rem }
            label { display: block; margin: 1rem 0 }
            input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .5rem }
            button { font: inherit; padding: .5rem 1.5rem; margin-right: .5rem }
            .quiet { opacity: .7 }
            .mistake { color: #c22 }
            </style>
            <h1>\(Markup.escaped(title))</h1>
            \(body)
            </html>

            """, status, formsLeadTo: redirect)
    }
}
