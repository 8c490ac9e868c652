import Foundation
import HTTPTypes
import Platform

/// The page at `/`, which explains how to set up a phone.
///
/// It needs no log-in, contains no token, and loads no other resources.
struct PhoneSetupPage: Sendable {
    let address: String

    var answer: IngestAnswer {
        var answer = IngestAnswer(.ok)
        answer.type = "text/html; charset=utf-8"
        answer.body = Array(text.utf8)
        answer.fields = [
            (
                .contentSecurityPolicy,
                "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            ),
            (.referrerPolicy, "no-referrer"),
        ]
        return answer
    }

    private var text: String {
        let address = Markup.escaped(address)
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Health hub: set up a phone</title>
            <style>
            body { font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
            code, pre { font-family: ui-monospace, monospace; background: #8882; border-radius: .3rem; padding: .1rem .3rem; }
            pre { padding: .6rem; overflow-x: auto; } h2 { margin-top: 2rem; } dt { font-weight: 600; }
            @media (prefers-color-scheme: dark) { body { background: #161616; color: #eee; } }
            </style></head><body>
            <h1>Set up a phone</h1>
            <p>On the hub's machine: <code>hub ingest new NAME</code>, such as <code>hub ingest new anna-iphone</code>. It prints a token
            once. Every app sends it in the header <code>Authorization</code> with the value <code>Bearer TOKEN</code>.</p>
            <h2>Health Auto Export (iPhone)</h2>
            <p>Scan the code of <code>hub ingest new</code> with the camera, or make a REST automation by hand: URL
            <code>\(address)/ingest/hae</code>, the header above, format JSON, export version 2. Best are these automations:</p>
            <ul><li>all metrics but sleep and sums: Summarize off, hourly, batch requests on</li>
            <li>steps, energy, distance: Summarize on, grouped by Hours</li>
            <li>sleep alone: Summarize off</li><li>workouts with routes, grouped by Minutes</li></ul>
            <h2>HC Webhook (Android)</h2>
            <p>URL <code>\(address)/ingest/hc-webhook</code> with the header above; full resolution if you want every reading.</p>
            <h2>HCGateway (Android)</h2>
            <p>Server <code>\(address)</code>; user name is the part of the token before the dot, password the part after it.</p>
            <h2>openScale-sync (Android)</h2>
            <p>Webhook <code>\(address)/ingest/openscale</code>, Authorization <code>Bearer TOKEN</code>.</p>
            <h2>ble-scale-sync</h2>
            <p>Webhook exporter with the URL <code>\(address)/ingest/ble-scale-sync</code> and the header above.</p>
            <h2>Shortcuts, Tasker, curl</h2>
            <pre>curl -fsS --retry 5 --retry-all-errors -H "Authorization: Bearer $TOKEN" \\
              -H 'Content-Type: application/json' -d '{"weight":80.4}' \(address)/ingest/plain</pre>
            <p>One record, or <code>{"records":[…]}</code>; with <code>type</code>, <code>value</code>, <code>unit</code>,
            <code>start</code>. Without <code>start</code> it is of now.</p>
            </body></html>

            """
    }
}

extension HTTPField.Name {
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
