import Foundation
import Platform
import PluginKit

/// One request of a browser, limited to the parts that a log-in needs (RFC 9112).
struct RedirectRequest {
    var method: String
    /// The path without the query.
    var path: String
    var query: String?
    var host: String?
    var origin: String?
    var body: String

    /// Maximum size of a request in bytes; a token has at most a quarter of that.
    static let largest = 65_536

    enum Reading {
        case request(RedirectRequest)
        /// More data must follow.
        case unfinished
        /// Not a request, or one that is too large.
        case wrong
    }

    static func read(_ bytes: [UInt8]) -> Reading {
        let end = Array("\r\n\r\n".utf8)
        guard
            let head = (0..<max(0, bytes.count - 3)).first(where: {
                bytes[$0] == 13 && bytes[$0..<$0 + 4].elementsEqual(end)
            })
        else { return bytes.count < largest ? .unfinished : .wrong }
        var lines = String(decoding: bytes[..<head], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines.removeFirst().split(separator: " ")
        guard words.count == 3, words[2].hasPrefix("HTTP/1."), words[1].hasPrefix("/") else { return .wrong }
        var fields: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { return .wrong }
            let name = line[..<colon].lowercased()
            guard fields[name] == nil || name != "host" && name != "content-length" else { return .wrong }
            fields[name] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        guard let length = Int(fields["content-length"] ?? "0"), (0...largest).contains(length),
            fields["transfer-encoding"] == nil
        else { return .wrong }
        let body = bytes[(head + 4)...]
        guard body.count >= length else { return .unfinished }
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return .request(
            RedirectRequest(
                method: String(words[0]), path: String(target[0]), query: target.count > 1 ? String(target[1]) : nil,
                host: fields["host"]?.lowercased(), origin: fields["origin"]?.lowercased(),
                body: String(decoding: body.prefix(length), as: UTF8.self)))
    }

    /// The meaning of a request.
    enum Meaning: Equatable {
        /// The service's answer: the address with everything that was added to it.
        case answer(String)
        /// The browser may have the answer in the address's fragment, which browsers do not send.
        case readFragment
        /// An answer without the mark of this log-in: any page on the web can make the person's browser send one (RFC 6749 §10.12).
        case foreign
        case refused(Int)
    }

    /// - Parameter state: the mark that the answer must contain.
    func meaning(at address: RedirectAddress, expecting state: String) -> Meaning {
        // A page of another site whose name resolves to this address must neither read nor answer.
        guard host == address.authority else { return .refused(421) }
        guard path == address.path else { return .refused(404) }
        switch method {
        case "GET":
            let names = (query ?? "").split(separator: "&").compactMap { $0.split(separator: "=").first }
            let isAnswer = names.contains { ["code", "error", "access_token"].contains($0) }
            guard isAnswer, let query else { return .readFragment }
            guard Self.member("state", of: query) == state else { return .foreign }
            return .answer("\(address.text)?\(query)")
        case "POST":
            guard origin == "http://\(address.authority)" else { return .refused(403) }
            let part = body.filter { !$0.isNewline }
            guard !part.isEmpty else { return .refused(400) }
            guard Self.member("state", of: part) == state else { return .foreign }
            return .answer("\(address.text)#\(part)")
        default: return .refused(405)
        }
    }

    /// The first member with this name in a query or a fragment, decoded.
    static func member(_ name: String, of text: String) -> String? { FormText.read(text)[name] }
}

/// The pages shown in the browser.
enum RedirectPage {
    /// A page that sends the fragment and removes it from the address and the history.
    static let fragment = page(
        "One moment", "The answer is being handed to the hub.",
        script: """
            const part = location.hash.slice(1);
            history.replaceState(null, "", location.pathname);
            const say = (title, text) => {
              document.title = document.querySelector("h1").textContent = title;
              document.querySelector("p").textContent = text;
            };
            if (part) {
              fetch(location.pathname, { method: "POST", body: part })
                .then(answer => answer.text())
                .then(said => { const [title, ...rest] = said.split(": "); say(title, rest.join(": ")); })
                .catch(() => say("Too late", "The log-in is not waiting any more; look at the terminal."));
            } else {
              say("No answer", "This address waits for the answer of a log-in, and there is none in it.");
            }
            """)

    static func page(_ title: String, _ text: String, script: String? = nil) -> String {
        """
        <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
        <title>\(Markup.escaped(title))</title><style>:root { color-scheme: light dark; font-family: sans-serif; }
        body { max-width: 34em; margin: 15vh auto; padding: 0 1em; }</style>
        <h1>\(Markup.escaped(title))</h1><p>\(Markup.escaped(text))</p>\(script.map { "<script>\($0)</script>" } ?? "")</html>

        """
    }

    /// - Parameter location: the redirection target.
    static func response(
        _ status: Int, _ body: String, type: String = "text/html; charset=utf-8", location: String? = nil
    ) -> [UInt8] {
        let reasons = [
            200: "OK", 302: "Found", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
            410: "Gone", 421: "Misdirected Request",
        ]
        let head = """
            HTTP/1.1 \(status) \(reasons[status] ?? "")
            Content-Type: \(type)
            Content-Length: \(body.utf8.count)
            Connection: close
            Cache-Control: no-store
            Referrer-Policy: no-referrer
            X-Content-Type-Options: nosniff
            Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'

            """ + (location.map { "Location: \($0)\n" } ?? "")
        return Array((head.replacingOccurrences(of: "\n", with: "\r\n") + "\r\n" + body).utf8)
    }
}
