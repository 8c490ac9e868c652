import Foundation
import Glibc
import HTTPTypes
import HubProcess
import PluginKit
import Testing

@testable import Web

/// The page behind a proxy: base path, users of the proxy, and frames.
@Suite(.timeLimit(.minutes(3))) struct ProxyTests {
    private static let base = "/api/hassio_ingress/kX3_p-9Q"
    private static let rules = #"proxy_users = ["a1b2=owner", "c3d4=person:ben", "e5f6=person:zoe"]"#

    /// A scene behind a proxy, as Home Assistant's Supervisor is one.
    private struct Proxy {
        let scene: Scene
        private let folder: TemporaryFolder
        private let socket: String

        init(_ settings: String = rules) async throws {
            folder = try TemporaryFolder()
            socket = "\(folder.path)/page.sock"
            scene = try await Scene(settings: "socket = \"unix-accept://\(socket)\"\n\(settings)")
            try await eventually { [scene, socket] in try await scene.get("/login", socket: socket).status != 0 }
        }

        /// The mode of the socket's file.
        var mode: mode_t {
            var status = stat()
            return lstat(socket, &status) == 0 ? status.st_mode & 0o777 : 0
        }

        private static func fields(_ user: String?, _ more: [String]) -> [String] {
            ["Host: home.example:8123", "X-Ingress-Path: \(base)", "X-Forwarded-Proto: http"]
                + (user.map { ["X-Remote-User-Id: \($0)"] } ?? []) + more
        }

        func get(
            _ path: String, as user: String? = nil, cookie: String? = nil, fields: [String] = []
        ) async throws -> Scene.Answer {
            try await scene.get(path, cookie: cookie, fields: Self.fields(user, fields), socket: socket)
        }

        func post(
            _ path: String, _ form: String, as user: String? = nil, cookie: String? = nil, fields: [String] = []
        ) async throws -> Scene.Answer {
            try await scene.post(path, form, cookie: cookie, fields: Self.fields(user, fields), socket: socket)
        }

        /// A request with exactly these fields besides Host.
        func raw(_ path: String, _ fields: [String]) async throws -> Scene.Answer {
            try await scene.get(path, fields: ["Host: home.example:8123"] + fields, socket: socket)
        }

        /// Logs in as a user of the proxy, and returns the cookie.
        func logIn(_ user: String) async throws -> String {
            let answer = try await post("/login", "user=\(user)&token=\(Scene.formToken)", as: user)
            #expect(answer.status == 303 && answer.fields["location"] == "\(base)/", "\(answer)")
            return try #require(answer.fields["set-cookie"]?.split(separator: ";").first.map(String.init))
        }
    }

    // MARK: - The base path

    /// The addresses in a page with their attributes, as a browser finds them.
    private static func addresses(in page: String) -> [(attribute: String, text: String)] {
        page.matches(of: /[ ](href|src|action|data-lines|data-events)="([^"]*)"/).map {
            (String($0.1), String($0.2).replacing("&amp;", with: "&").replacing("&#39;", with: "'"))
        }
    }

    @Test func `below a base path every link, form, script, redirect and cookie stays below it`() async throws {
        let proxy = try await Proxy()
        _ = try await proxy.scene.command("log", "weight", "80.4kg", "--person", "me")
        let redirect = try await proxy.get("/inbox", as: "a1b2")
        #expect(redirect.status == 303 && redirect.fields["location"] == "\(Self.base)/login")
        let answer = try await proxy.post("/login", "user=a1b2&token=\(Scene.formToken)", as: "a1b2")
        #expect(answer.fields["set-cookie"]?.contains("; Path=\(Self.base)/; HttpOnly; SameSite=Strict") == true)
        let cookie = try await proxy.logIn("a1b2")
        #expect(try await proxy.get("/nothing", as: "a1b2", cookie: cookie).body.contains("href=\"\(Self.base)/\""))
        var (waiting, seen) = (["/", "/login"], Set<String>())
        while let path = waiting.popLast() {
            // One page of a kind is enough.
            guard seen.insert(String(path.prefix { $0 != "?" && $0 != "#" })).inserted else { continue }
            let page = try await proxy.get(path, as: "a1b2", cookie: cookie)
            #expect(page.status == 200, "\(path): \(page.status)")
            guard page.fields["content-type"]?.hasPrefix("text/html") == true else { continue }
            for (attribute, address) in Self.addresses(in: page.body) {
                guard !["?", "#", "h"].contains(address.prefix(1)) else { continue }
                #expect(address.hasPrefix(Self.base + "/"), "\(path): \(address)")
                guard ["href", "src"].contains(attribute) else { continue }
                waiting.append(String(address.dropFirst(Self.base.count)))
            }
        }
        for path in ["/data", "/inbox", "/plugins", "/plugins/web", "/system", "/preferences", "/setup", "/apply"] {
            #expect(seen.contains(path), "\(path): \(seen.sorted())")
        }
        let page = try await proxy.get("/", as: "a1b2", cookie: cookie).body
        #expect(page.contains(" data-events=\"\(Self.base)/api/v1/events\""))
        let form = "token=\(Scene.formToken)"
        let out = try await proxy.post("/logout", form, as: "a1b2", cookie: cookie)
        #expect(out.fields["location"] == "\(Self.base)/login")
        #expect(out.fields["set-cookie"]?.contains("Max-Age=0; Path=\(Self.base)/;") == true, "\(out.fields)")
    }

    @Test func `a form below a base path writes, and its redirect shows the result`() async throws {
        let proxy = try await Proxy()
        let cookie = try await proxy.logIn("c3d4")
        let page = try await proxy.get("/add?type=weight&person=ben", as: "c3d4", cookie: cookie)
        let form = try page.form(to: Self.base + "/add")
        let fields = form.fields.merging(["value": "71.3 kg", "token": Scene.formToken]) { $1 }
        let body = fields.map {
            "\($0.key)=\($0.value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }
        let path = String(form.action.dropFirst(Self.base.count))
        let saved = try await proxy.post(path, body.joined(separator: "&"), as: "c3d4", cookie: cookie)
        #expect(saved.status == 303 && saved.fields["location"]?.hasPrefix(Self.base + "/") == true, "\(saved)")
        #expect(try await proxy.get("/", as: "c3d4", cookie: cookie).body.contains("71.3 kg"))
    }

    @Test func `the description of the API names the base path`() async throws {
        let proxy = try await Proxy()
        let cookie = try await proxy.logIn("a1b2")
        let document = try await proxy.get("/api/v1/openapi.json", as: "a1b2", cookie: cookie)
        let servers = try Told(document.body).list("servers")
        #expect(servers.first?["url"] as? String == "\(Self.base)/api/v1")
    }

    @Test func `the path of address is the base path of pages, of the cookie and of the link of hub web`() async throws
    {
        let scene = try await Scene(settings: #"address = "https://home.example/health/""#)
        let host = ["Host: home.example"]
        let link = try #require(try await scene.command("web").first)
        #expect(link.hasPrefix("https://home.example/health/login/"))
        #expect(try await scene.get("/", fields: host).fields["location"] == "/health/login")
        let path = try #require(URL(string: link)?.path().dropFirst("/health".count))
        let form = try await scene.get(String(path), fields: host).form(to: "/health/login")
        let answer = try await scene.post("/login", "link=\(form["link"] ?? "")", fields: host)
        #expect(answer.fields["location"] == "/health/")
        let cookie = try #require(answer.fields["set-cookie"])
        #expect(
            cookie.hasPrefix("__Secure-hub=") && cookie.contains("; Path=/health/; HttpOnly; SameSite=Strict; Secure"))
    }

    @Test(arguments: [
        "", "/", "//", "//evil.example", "/a//b", "/a/", "a", "health", "https://evil.example", "/\\evil.example",
        "/a\\b",
        "/a\"b", "/a'b", "/<b>", "/a b", "/a;b", "/a,b", "/a?b", "/a#b", "/a%2fb", "/a%0d%0ab", "/a\r\nSet-Cookie: x=1",
        "/a\0", "/ä", "/.", "/..", "/a/../b", "/./a", "/" + String(repeating: "a", count: 200),
    ]) func `a base path that could lead elsewhere or has other characters is none`(_ text: String) {
        #expect(BasePath(text) == nil)
    }

    @Test func `a base path stands before addresses of this site alone, never in text`() {
        for path in ["/health", "/a/b-c_d.e~f", Self.base] {
            let base = BasePath(path) ?? .none
            let text = "href=\"/text\" \u{ff}"
            let page: HTML = """
                <a href="\(url: "/data?person=a&b=1")" title="\(text)">\(text)</a><a href="\(url: "?page=2")"></a>\
                <a href="\(url: "#top")"></a><a href="\(url: "https://a.example/")"></a><a href="\(url: "//evil.example")"></a>
                """
            let words = "href=&quot;/text&quot; \u{ff}"
            let expected = """
                <a href="\(path)/data?person=a&amp;b=1" title="\(words)">\(words)</a><a href="?page=2"></a>\
                <a href="#top"></a><a href="https://a.example/"></a><a href="#"></a>
                """
            #expect(String(decoding: page.bytes(below: base), as: UTF8.self) == expected)
        }
    }

    @Test func `each address in the markup of the pages is written as one, so that it gets the base path`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Sources").standardized
        let files = try #require(FileManager.default.enumerator(atPath: folder.path))
        var count = 0
        for case let file as String in files where file.hasSuffix(".swift") || file.hasSuffix(".js") {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            let raw = try Regex(#"(href|src|action|formaction|data-lines|data-events)=\\?"(/|\\\((?!url:))"#)
            let absolute = try Regex(#"["'`]/[a-z]"#)
            #expect(text.firstMatch(of: raw) == nil, "\(file): write \\(url: address)")
            let isScript = file.hasSuffix(".js")
            #expect(!isScript || text.firstMatch(of: absolute) == nil, "\(file): take the address from the page")
            count += 1
        }
        #expect(count > 100)
    }

    // MARK: - Users of the proxy

    @Test
    func `a user of the proxy logs in as the rule says, and sees the page that names the missing rule without one`()
        async throws
    {
        let proxy = try await Proxy()
        _ = try await proxy.scene.command("log", "weight", "80.4kg", "--person", "me")
        _ = try await proxy.scene.command("log", "weight", "71.3kg", "--person", "ben")
        let owners = try await proxy.get("/login", as: "a1b2")
        #expect(Scene.field("user", in: owners.body) == "a1b2" && owners.body.contains("everything, as the owner"))
        let owner = try await proxy.logIn("a1b2")
        #expect(try await proxy.get("/?person=me", as: "a1b2", cookie: owner).body.contains("80.4 kg"))
        let bens = try await proxy.get("/login", as: "c3d4")
        #expect(bens.body.contains("the values of ben alone"))
        let ben = try await proxy.logIn("c3d4")
        #expect(try await proxy.get("/", as: "c3d4", cookie: ben).body.contains("71.3 kg"))
        #expect(try await proxy.get("/?person=me", as: "c3d4", cookie: ben).status == 404)
        #expect(try await proxy.get("/system", as: "c3d4", cookie: ben).status == 404)
        // Without a rule, with one for a person that hub.conf lacks, and without a user.
        for user in ["9999", "e5f6", nil] {
            let page = try await proxy.get("/login", as: user)
            #expect(page.status == 200 && Scene.field("user", in: page.body) == nil, "\(page.body)")
            #expect(page.body.contains("<code>\"\(user ?? "")=owner\"</code>") == (user != nil), "\(page.body)")
            let answer = try await proxy.post("/login", "user=\(user ?? "a1b2")&token=\(Scene.formToken)", as: user)
            #expect(answer.status == 403 && answer.fields["set-cookie"] == nil, "\(answer)")
        }
        // The form of one user does not log in another: the browser may have changed the user of Home Assistant meanwhile.
        #expect(try await proxy.post("/login", "user=a1b2", as: "c3d4").status == 403)
        let sessions = try await proxy.scene.command("web", "sessions", "--json").joined()
        #expect(sessions.contains(#""user":"a1b2""#) && sessions.contains(#""user":"c3d4""#), "\(sessions)")
    }

    @Test
    func `the session of a proxy's user works only through the proxy, for that user, and while the rule is the same`()
        async throws
    {
        let proxy = try await Proxy()
        let cookie = try await proxy.logIn("a1b2")
        #expect(try await proxy.get("/", as: "a1b2", cookie: cookie).status == 200)
        for user in ["c3d4", "9999", nil] {
            #expect(try await proxy.get("/", as: user, cookie: cookie).status == 303, "\(user ?? "none")")
            let answer = try await proxy.get("/api/v1/persons", as: user, cookie: cookie)
            #expect(answer.status == 401, "\(user ?? "none")")
        }
        #expect(try await proxy.scene.get("/", cookie: cookie).status == 303)
        let fields = ["X-Remote-User-Id: a1b2", "X-Ingress-Path: \(Self.base)"]
        #expect(try await proxy.scene.get("/", cookie: cookie, fields: fields).status == 303)
        // The owner's session does not become the session of a person, and ends with the rule.
        try proxy.scene.edit { $0.replacing("a1b2=owner", with: "a1b2=person:ben") }
        _ = try await proxy.scene.command("apply")
        try await eventually { try await proxy.get("/login", as: "a1b2").body.contains("the values of ben alone") }
        #expect(try await proxy.get("/", as: "a1b2", cookie: cookie).status == 303)
    }

    @Test func `a user of the proxy has ten sessions at most, and ends no one else's with more`() async throws {
        let folder = try TemporaryFolder()
        let store = AccessStore(try PluginState(directory: folder.path))
        let link = try #require(AccessKey(try await store.makeLink(for: nil, at: 0).secret))
        let owners = try #require(try await store.logIn(with: link, at: 0))
        for time in 1...150 {
            _ = try await store.logIn(ProxyUser(id: "c3d4", person: "ben"), formToken: nil, at: Int64(time))
        }
        let sessions = try await store.sessions(at: 151)
        #expect(sessions.count == 11 && sessions.count { $0.grant.proxyUser == "c3d4" } == 10)
        #expect(try await store.grant(of: owners, at: 151) != nil)
    }

    // MARK: - Hostile requests

    @Test func `a client that is no trusted proxy names no base path and no user`() async throws {
        let proxy = try await Proxy()
        let fields = [
            "X-Ingress-Path: \(Self.base)", "X-Remote-User-Id: a1b2", "X-Forwarded-Proto: https",
            "X-Forwarded-Host: evil.example",
        ]
        let page = try await proxy.scene.get("/login", fields: fields)
        #expect(page.status == 200 && !page.body.contains(Self.base) && !page.body.contains("a1b2"), "\(page)")
        let answer = try await proxy.scene.post("/login", "user=a1b2&token=\(Scene.formToken)", fields: fields)
        #expect(answer.status == 403 && answer.fields["set-cookie"] == nil)
        let foreign = try await proxy.scene.get("/login", fields: fields + ["Host: evil.example"])
        #expect(foreign.status == 421)
    }

    @Test func `with only_proxies all other requests are refused, with or without a token`() async throws {
        let settings = try Self.settings(["proxies": Self.texts("172.30.32.2"), "only_proxies": .boolean(true)])
        for path in ["/", "/login", "/health", "/api/v1/records"] {
            var request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:7790", path: path)
            request.headerFields[.authorization] = "Bearer \(AccessKey().text)"
            let error = #expect(throws: RequestRefusal.self, "\(path)") {
                try RequestRoute(request, isTrusted: false, settings)
            }
            #expect(error?.status == .forbidden, "\(path)")
            #expect(throws: Never.self, "\(path)") { try RequestRoute(request, isTrusted: true, settings) }
        }
    }

    @Test func `fields of a proxy that are doubled, misspelled or not valid are refused, and appear in no answer`()
        async throws
    {
        let proxy = try await Proxy()
        let (path, user) = ("X-Ingress-Path: \(Self.base)", "X-Remote-User-Id: a1b2")
        for fields in [
            [path, "X-Ingress-Path: /evil"], ["X-Ingress-Path: //evil.example"], ["X-Ingress-Path: /evil\"><script>"],
            ["X-Ingress-Path: /evil;Secure"], ["X-Ingress-Path:"], ["x-ingress-path: /evil"],
            // Home Assistant passes on a visitor's field in other letters.
            [path, "x-remote-user-id: a1b2"], [path, user, "X-Remote-User-ID: c3d4"], [path, user, user],
            [path, "X-Remote-User-Id: a1b2, c3d4"], [path, "X-Remote-User-Id:"], [path, "X-Remote-User-Id: \u{e4}"],
        ] {
            let answer = try await proxy.raw("/login", fields)
            #expect(answer.status == 400 && answer.fields["set-cookie"] == nil, "\(fields): \(answer)")
            #expect(!"\(answer)".contains("evil") && !answer.body.contains("a1b2"), "\(fields): \(answer)")
            #expect(answer.fields["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
            let problem = try await proxy.raw("/api/v1/types", fields)
            #expect(problem.status == 400 && problem.fields["content-type"] == "application/problem+json")
        }
    }

    @Test func `through the proxy a form from another site is refused, and one of the page's own name is not`()
        async throws
    {
        let proxy = try await Proxy()
        let cookie = try await proxy.logIn("a1b2")
        let form = "user=a1b2&token=\(Scene.formToken)"
        for fields in [
            ["Origin: http://evil.example"], ["Origin: null"], ["Sec-Fetch-Site: cross-site"],
            ["Origin: http://127.0.0.1:\(proxy.scene.port)"],
        ] {
            let answer = try await proxy.post("/login", form, as: "a1b2", fields: fields)
            #expect(answer.status == 403 && answer.fields["set-cookie"] == nil, "\(fields)")
            #expect(try await proxy.post("/logout", form, as: "a1b2", cookie: cookie, fields: fields).status == 403)
        }
        #expect(try await proxy.post("/logout", "token=x", as: "a1b2", cookie: cookie).status == 403)
        for fields in [
            ["Origin: http://home.example:8123"],
            ["X-Forwarded-Host: Hub.example", "Origin: https://hub.example", "Sec-Fetch-Site: same-origin"],
        ] {
            #expect(try await proxy.post("/login", form, as: "a1b2", fields: fields).status == 303, "\(fields)")
        }
    }

    @Test func `a page in a frame is allowed only if the settings say so, through the proxy, and on the same site`()
        async throws
    {
        func ancestors(_ answer: Scene.Answer) -> String? {
            answer.fields["content-security-policy"]?.components(separatedBy: "frame-ancestors ").last
        }
        let proxy = try await Proxy()
        #expect(ancestors(try await proxy.get("/login")) == "'none'")
        let framed = try await Proxy(Self.rules + "\nframed = true")
        for path in ["/login", "/nothing", "/api/v1/types"] {
            #expect(ancestors(try await framed.get(path)) == "'self'", "\(path)")
            #expect(ancestors(try await framed.scene.get(path)) == "'none'", "\(path)")
        }
    }

    @Test func `only the hub's user and the group of its folder may open the socket`() async throws {
        let proxy = try await Proxy()
        try await eventually { proxy.mode == 0o660 }
    }

    // MARK: - Settings

    private static func settings(_ values: [String: SettingValue]) throws -> WebSettings {
        var all: [String: SettingValue] = [:]
        for declaration in WebSettings.declarations { all[declaration.name] = declaration.defaultValue }
        return try WebSettings(PluginSettings(all.merging(values) { $1 }))
    }

    private static func texts(_ texts: String...) -> SettingValue { .list(texts.map { .string($0) }) }

    @Test func `wrong settings for proxies are explained together`() {
        let wrong: [String: SettingValue] = [
            "proxies": Self.texts(
                "127.0.0.1", "::1", "::ffff:127.0.0.2", "0.0.0.0", "::", "172.30.32.0/23", "home.example"),
            "proxy_users": Self.texts("a=owner", "b c=owner"), "address": .string("https://home.example/a b"),
            "socket": .string("unix-accept:///tmp/" + String(repeating: "a", count: 110)),
        ]
        #expect {
            try Self.settings(wrong)
        } throws: { error in
            let reasons = (error as? PluginFailure)?.reasons ?? []
            return reasons.count == 9 && reasons.count { $0.contains("every program of this machine") } == 5
                && reasons.contains { $0.hasPrefix("setting socket: ") }
                && reasons.contains { $0.hasPrefix("setting proxy_users: \"b c=owner\"") }
        }
        #expect(throws: PluginFailure.self) {
            try Self.settings(["proxy_users": Self.texts("a=owner", "a=person:ben")])
        }
        for path in ["/a b", "//b", "/a%20b", "/ä", "/a?b=c"] {
            #expect(throws: PluginFailure.self, "\(path)") {
                try Self.settings(["address": .string("https://home.example\(path)")])
            }
        }
    }

    @Test func `a proxy is trusted by its exact address, in each form of it`() throws {
        let settings = try Self.settings(["proxies": Self.texts("172.30.32.2", "FD00::1")])
        for (address, isTrusted) in [
            ("172.30.32.2", true), ("::ffff:172.30.32.2", true), ("fd00:0:0::1", true), ("172.30.32.3", false),
            ("172.30.32.22", false), ("fd00::2", false), ("127.0.0.1", false), ("-", false),
        ] {
            #expect(settings.proxies.trust(.address(address)) == isTrusted, "\(address)")
        }
    }

    @Test func `the scheme that a trusted proxy names decides about the cookie, unless it names two`() throws {
        let settings = try Self.settings(["address": .string("https://home.example")])
        for (schemes, isTrusted, isSecure) in [
            (["https"], true, true), (["http"], true, false), (["http"], false, true), ([], true, true),
            (["http", "https"], true, true), (["http", "http"], true, false), (["HTTP"], true, true),
        ] {
            var request = HTTPRequest(method: .get, scheme: "http", authority: "home.example", path: "/")
            for scheme in schemes {
                request.headerFields.append(HTTPField(name: HTTPField.Name("X-Forwarded-Proto")!, value: scheme))
            }
            let route = try RequestRoute(request, isTrusted: isTrusted, settings)
            #expect(route.isSecure == isSecure, "\(schemes) \(isTrusted)")
        }
    }
}
