import Foundation
import Glibc
import HubProcess
import HubSettings
import PluginKit
import Testing

@testable import Web

/// The log-in, and the data that each viewer may see.
@Suite(.timeLimit(.minutes(2))) struct AccessTests {
    @Test func `a link admits one browser once, and its cookie is hidden from scripts and other sites`() async throws {
        let scene = try await Scene()
        let link = try await scene.link()
        // Preview programs follow links, which must not use them up.
        for _ in 0..<2 { #expect(try await scene.get("/login/\(link)").status == 200) }
        let answer = try await scene.post("/login", "link=\(link)", cookie: "hub=\(link)")
        let cookie = try #require(answer.fields["set-cookie"])
        #expect(answer.status == 303)
        for word in ["HttpOnly", "SameSite=Strict", "Path=/"] { #expect(cookie.contains(word), "\(cookie)") }
        // The session's secret is new.
        #expect(!cookie.contains(link))
        let again = try await scene.post("/login", "link=\(link)")
        #expect(again.status == 403 && again.fields["set-cookie"] == nil && again.body.contains("hub web"))
        let session = try #require(cookie.split(separator: ";").first.map(String.init))
        #expect(try await scene.get("/", cookie: session).status == 200)
        #expect(try await scene.command("web", "sessions").count == 2)
        let name = try #require(try await scene.command("web", "sessions").last?.split(separator: " ").first)
        #expect(try await scene.command("web", "end", String(name)) == ["1 browser logged out"])
        #expect(try await scene.get("/", cookie: session).status == 303)
    }

    @Test func `without a log-in no address reveals anything about a person`() async throws {
        let scene = try await Scene()
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        for cookie in [nil, "hub=", "hub=" + String(repeating: "A", count: 43), "hub=../../etc/passwd", "other=1"] {
            for path in ["/", "/?person=me", "/types/weight?person=me", "/system"] {
                let answer = try await scene.get(path, cookie: cookie)
                #expect(answer.status == 303 && answer.fields["location"] == "/login" && answer.body.isEmpty, "\(path)")
            }
        }
        #expect(try await scene.post("/logout", "token=a").status == 403)
        for path in [
            "/nothing", "/../../etc/passwd", "/assets/../web", "/assets/%2e%2e/%2e%2e/etc/passwd", "//evil.example",
        ] {
            let answer = try await scene.get(path)
            #expect(answer.status == 404 && !answer.body.contains("root:"), "\(path)")
        }
    }

    @Test func `a viewer of one person sees no other and nothing of the hub, at any address`() async throws {
        let scene = try await Scene()
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        _ = try await scene.command("log", "weight", "71.3kg", "--person", "ben")
        let ben = try await scene.logIn("ben")
        let own = try await scene.get("/", cookie: ben)
        #expect(own.status == 200 && own.body.contains("71.3 kg") && !own.body.contains("80.4"))
        #expect(try await scene.get("/types/weight", cookie: ben).body.contains("71.3 kg"))
        let unknown = try await scene.get("/?person=zoe", cookie: ben)
        for path in [
            "/?person=me", "/types/weight?person=me", "/types/stepCount?person=me", "/system?person=me", "/system",
        ] {
            let answer = try await scene.get(path, cookie: ben)
            // The answer is that for an unknown person.
            #expect(answer.status == 404 && answer.body == unknown.body, "\(path)")
        }
        #expect(!own.body.contains("person=me") && !own.body.contains("/system"))
        let owner = try await scene.logIn()
        for (person, value) in [("me", "80.4 kg"), ("ben", "71.3 kg")] {
            #expect(try await scene.get("/types/weight?person=\(person)", cookie: owner).body.contains(value))
        }
        let system = try await scene.get("/system", cookie: owner)
        #expect(system.status == 200 && system.body.contains("<th scope=\"row\">web</th>"))
    }

    @Test func `other host names are refused, and requests from another site or without the form token do nothing`()
        async throws
    {
        let scene = try await Scene()
        let session = try await scene.logIn()
        for host in ["evil.example", "evil.example:\(scene.port)", "127.0.0.1", "127.0.0.1:1", ""] {
            let answer = try await scene.get("/", cookie: session, fields: ["Host: \(host)"])
            #expect(answer.status == 421 || answer.status == 400, "\(host)")
            #expect(!answer.body.contains("Log out"))
        }
        #expect(
            try await scene.get("/", cookie: session, fields: ["Host: localhost:\(scene.port)"]).body.contains(
                "Log out"))
        let token = Scene.formToken
        for fields in [
            ["Origin: http://evil.example"], ["Origin: null"], ["Sec-Fetch-Site: cross-site"],
            ["Sec-Fetch-Site: same-site"],
        ] {
            let answer = try await scene.post("/logout", "token=\(token)", cookie: session, fields: fields)
            #expect(answer.status == 403, "\(fields)")
        }
        for form in ["", "token=", "token=\(String(token.reversed()))", "token[]=\(token)", "other=1"] {
            let answer = try await scene.post("/logout", form, cookie: session)
            #expect(answer.status == 403 || answer.status == 400, "\(form)")
        }
        let huge = try await scene.post("/login", "link=" + String(repeating: "x", count: 100_000))
        #expect(huge.status == 413)
        #expect(try await scene.get("/", cookie: session).status == 200)
        let out = try await scene.post(
            "/logout", "token=\(token)", cookie: session, fields: ["Origin: http://127.0.0.1:\(scene.port)"])
        #expect(out.status == 303 && out.fields["set-cookie"]?.contains("Max-Age=0") == true)
        #expect(try await scene.get("/", cookie: session).status == 303)
    }

    @Test func `the session of a log-in without JavaScript reads everything and changes nothing`() async throws {
        let scene = try await Scene()
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        let answer = try await scene.post("/login", "link=\(try await scene.link())")
        let cookie = try #require(answer.fields["set-cookie"]?.split(separator: ";").first.map(String.init))
        let page = try await scene.get("/", cookie: cookie)
        #expect(page.status == 200 && page.body.contains("80.4 kg") && page.body.contains("<noscript>"))
        // No page contains the form token, because any holder of the cookie can read the pages.
        #expect(Scene.field("token", in: page.body) == nil)
        for token in ["", "&token=", "&token=\(Scene.formToken)", "&token=\(AccessKey().text)"] {
            let refused = try await scene.post("/records/1/delete", "version=1\(token)", cookie: cookie)
            #expect(refused.status == 403 && refused.body.contains("only reads"), "\(refused)")
        }
        #expect(try await scene.command("samples", "weight").count == 2)
    }

    @Test func `the name of the page is kept, appears in no answer without a log-in, and no other name works`()
        async throws
    {
        let scene = try await Scene()
        let link = try await scene.command("web")[0]
        let name = try #require(URL(string: link)?.host())
        #expect(name.wholeMatch(of: /hub-[a-z2-7]{16}\.localhost/) != nil, "\(name)")
        #expect(URL(string: try await scene.command("web")[0])?.host() == name)
        #expect(try await scene.get("/login", fields: ["Host: \(name):\(scene.port)"]).status == 200)
        for fields in [[], ["Host: evil.example"], ["Host: hub-.localhost:\(scene.port)"]] {
            for path in ["/", "/login", "/nothing", "/api/v1/openapi.json", "/health", "/ready"] {
                let answer = try await scene.get(path, fields: fields)
                #expect(!"\(answer)".contains(name), "\(path) \(fields)")
            }
        }
        // The page also listens on the other loopback address, which a browser may try first for such a name.
        let result = try await ChildProcess(
            "/usr/bin/env",
            [
                "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://[::1]:\(scene.port)/login",
                "-H", "Host: \(name):\(scene.port)",
            ]
        ).result()
        #expect(result.output == "200" || !SixNetwork.isThere, "\(result.output)")
    }

    @Test(.enabled(if: SixNetwork.isThere, "this machine has no ::1"))
    func `the page does not run while another program has its port at the other loopback address`() async throws {
        let scene = try await Scene()
        try scene.edit { $0.replacing("[plugin.web]\n", with: "[plugin.web]\nenabled = false\n") }
        _ = try await scene.command("apply")
        var other: SixListener?
        try await eventually {
            other = SixListener(UInt16(scene.port))
            return other != nil
        }
        try scene.edit { $0.replacing("[plugin.web]\nenabled = false\n", with: "[plugin.web]\n") }
        _ = try await scene.status(of: ["apply"])
        try await eventually {
            try await scene.command("logs", "web").contains { $0.contains("cannot listen at [::1]:\(scene.port)") }
        }
        #expect(try await scene.get("/login").status == 0)
        withExtendedLifetime(other) {}
    }

    @Test func `a request with two Host lines, none, or a target of another host is refused with 400`() async throws {
        let scene = try await Scene()
        let own = "127.0.0.1:\(scene.port)"
        for (hosts, target) in [
            ([own, "evil.example"], "/login"), ([own, own], "/login"), ([], "/login"), ([""], "/login"),
            ([own], "http://evil.example/login"), ([own], "HTTP://evil.example"),
            (["evil.example"], "http://\(own)/login"), ([own], "ftp://\(own)/login"), ([own], "login"), ([own], "*"),
        ] {
            let connection = try RawConnection(scene.port)
            let lines = hosts.map { "Host: \($0)\r\n" }.joined()
            connection.send("GET \(target) HTTP/1.1\r\n\(lines)\r\n")
            let answer = String(decoding: try connection.takeAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(hosts) \(target): \(answer.prefix(80))")
        }
        let connection = try RawConnection(scene.port)
        connection.send("GET http://\(own)/login HTTP/1.1\r\nHost: \(own)\r\nConnection: close\r\n\r\n")
        #expect(String(decoding: try connection.takeAll(), as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `a visitor with many requests delays only their own, and gets 429 at the limit`() async throws {
        let turns = VisitorConcurrencyLimit()
        let (first, second) = (try #require(await turns.begin("a")), try #require(await turns.begin("a")))
        async let third = turns.begin("a")
        #expect(await turns.begin("b") != nil)
        first.pause()
        let next = try #require(await third)
        async let again: Void = first.goOn()
        second.pause()
        await again
        withExtendedLifetime((first, second, next)) {}

        let scene = try await Scene()
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        let (token, owner) = (try await scene.token("a"), try await scene.logIn())
        scene.freeze(true)
        let most = VisitorConcurrencyLimit.most
        try await withThrowingTaskGroup(of: Scene.Answer.self) { group in
            for _ in 0..<most + 8 { group.addTask { try await scene.api("/records.csv", token) } }
            for _ in 0..<8 {
                let refused = try #require(try await group.next())
                #expect(refused.status == 429 && refused.fields["retry-after"] == "2", "\(refused)")
            }
            // The owner is admitted meanwhile, and gets an answer when the hub continues.
            async let page = scene.get("/", cookie: owner)
            scene.freeze(false)
            #expect(try await page.status == 200)
            for try await answer in group { #expect(answer.status == 200 && answer.body.contains("80.4")) }
        }
        // All turns have been returned.
        for _ in 0..<most { #expect(try await scene.api("/records.csv", token).status == 200) }
    }

    @Test func `after ten wrong links another wrong one must wait, and a right one need not`() async throws {
        let scene = try await Scene()
        for _ in 0..<10 { #expect(try await scene.post("/login", "link=\(AccessKey().text)").status == 403) }
        let answer = try await scene.post("/login", "link=\(AccessKey().text)")
        #expect(answer.status == 429 && answer.fields["retry-after"] == "60")
        // Behind a proxy all visitors share the address of those who guess.
        let cookie = try await scene.logIn()
        #expect(try await scene.get("/", cookie: cookie).status == 200)
        let attempts = LogInRateLimit()
        let now = ContinuousClock.now
        for _ in 0..<10 { attempts.fail("a", at: now) }
        #expect(!attempts.mayTry("a", at: now) && attempts.mayTry("b", at: now))
        #expect(attempts.mayTry("a", at: now + .seconds(61)))
        for number in 0..<1_000 { attempts.fail("\(number)", at: now) }
        #expect(!attempts.mayTry("new", at: now) && attempts.mayTry("new", at: now + .seconds(61)))
    }

    @Test func `names from persons or plugins are escaped on every page, and each answer forbids unneeded content`()
        async throws
    {
        let scene = try await Scene()
        let evil = #"\"><script>alert(1)</script><img src=x onerror=alert(1)>'"#
        let line =
            #"{"type":"weight","value":70,"unit":"kg","start":"2024-03-15T07:30:05+01:00","key":"a","#
            + #""source":{"device":"\#(evil)","account":"\#(evil)"}}"#
        let told = try await scene.publish([line])
        #expect(told.first?.contains("stored") == true, "\(told)")
        _ = try await scene.command("assign", "1", "--to", "me")
        let owner = try await scene.logIn()
        for path in [
            "/", "/types/weight", "/types/%3Cscript%3E", "/?person=%3Cscript%3E", "/system", "/login", "/nothing<b>",
        ] {
            let answer = try await scene.get(path, cookie: owner)
            #expect(
                !answer.body.contains("<script>") && !answer.body.contains("<img") && !answer.body.contains("<b>"),
                "\(path)")
            let policy = answer.fields["content-security-policy"] ?? ""
            #expect(policy.hasPrefix("default-src 'none'") && !policy.contains("unsafe"), "\(path)")
            #expect(
                answer.fields["x-content-type-options"] == "nosniff" && answer.fields["cache-control"] == "no-store")
            #expect(answer.fields["referrer-policy"] == "same-origin")
        }
        #expect(try await scene.get("/types/weight", cookie: owner).body.contains("&lt;script&gt;"))
    }

    @Test func `links and sessions expire, and are stored only as hashes`() async throws {
        let folder = try TemporaryFolder()
        let state = try PluginState(directory: folder.path)
        let book = AccessStore(state)
        let (link, until) = try await book.makeLink(for: "ben", at: 0)
        #expect(until == 600_000_000)
        let secret = try #require(AccessKey(link))
        let late = try #require(AccessKey(try await book.makeLink(for: nil, at: 0).secret))
        #expect(try await book.logIn(with: late, at: until) == nil)
        let session = try #require(try await book.logIn(with: secret, at: until - 1))
        #expect(try await book.logIn(with: secret, at: until - 1) == nil)
        let day: Int64 = 86_400_000_000
        #expect(try await book.grant(of: session, at: until)?.grant.person == "ben")
        // An open page does not extend a session.
        let viewer = Viewer(session: session, person: "ben")
        #expect(try await book.isKnown(viewer, at: 29 * day))
        #expect(try await !book.isKnown(viewer, at: 31 * day))
        // A session in use is extended once a day; an unused one ends.
        #expect(try await book.grant(of: session, at: 29 * day)?.isRenewed == true)
        #expect(try await book.grant(of: session, at: 29 * day)?.isRenewed == false)
        #expect(try await book.grant(of: session, at: 58 * day) != nil)
        #expect(try await book.grant(of: session, at: 89 * day) == nil)
        // A restarted program has the session too.
        #expect(try await AccessStore(state).grant(of: session, at: 58 * day)?.grant.person == "ben")
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let bytes = try Data(contentsOf: URL(filePath: "\(folder.path)/\(file)"))
            for text in [session.text, secret.text] { #expect(bytes.range(of: Data(text.utf8)) == nil, "\(file)") }
        }
    }

    @Test func `a session that ends while it is used stays ended, and a name of a token is used once`() async throws {
        let folder = try TemporaryFolder()
        let state = try PluginState(directory: folder.path)
        let book = AccessStore(state)
        let day: Int64 = 86_400_000_000
        for number in 0..<50 {
            let link = try #require(AccessKey(try await book.makeLink(for: nil, at: 0).secret))
            let session = try #require(try await book.logIn(with: link, at: 0))
            async let ended: Void = book.end(session)
            async let used = book.grant(of: session, at: 10 * day)
            async let again = book.grant(of: session, at: 10 * day)
            _ = try await (ended, used, again)
            #expect(try await book.grant(of: session, at: 10 * day) == nil)
            #expect(try await AccessStore(state).grant(of: session, at: 10 * day) == nil)
            async let first = try? book.makeToken("t\(number)", .read, for: nil, at: 0)
            async let second = try? book.makeToken("t\(number)", .read, for: nil, at: 0)
            #expect(await [first, second].compactMap(\.self).count == 1)
        }
        #expect(try await book.tokens().count == 50)
    }

    @Test func `a browser whose session is extended gets its cookie again`() async throws {
        let scene = try await Scene()
        let cookie = try await scene.logIn()
        #expect(try await scene.get("/", cookie: cookie).fields["set-cookie"] == nil)
        for path in ["/", "/api/v1/types"] {
            try await scene.changeSessions { grant in grant.until -= 10 * 86_400_000_000 }
            let answer = try await scene.get(path, cookie: cookie)
            let again = answer.fields["set-cookie"] ?? ""
            #expect(answer.status == 200 && again.hasPrefix("\(cookie); Max-Age=2592000;"), "\(path): \(again)")
            for word in ["HttpOnly", "SameSite=Strict", "Path=/"] { #expect(again.contains(word), "\(path)") }
            #expect(try await scene.get(path, cookie: cookie).fields["set-cookie"] == nil)
        }
        // A log-out sets no new cookie.
        try await scene.changeSessions { grant in grant.until -= 10 * 86_400_000_000 }
        let form = "token=\(Scene.formToken)"
        #expect(
            try await scene.post("/logout", form, cookie: cookie).fields["set-cookie"]?.contains("Max-Age=0") == true)
    }

    @Test func `the manifest is sound, and sample.conf matches it`() throws {
        #expect(Web.manifest.faults == [])
        let rendered = SampleConfiguration.render(instance: Web.manifest.name, declarations: Web.manifest.settings)
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../sample.conf")
        #expect(try String(contentsOf: file, encoding: .utf8) == rendered)
    }
}

/// Whether this machine has `::1`.
private enum SixNetwork {
    static var isThere: Bool {
        (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?.contains(" lo\n") == true
    }
}

/// A program that listens at a port of `::1`.
private final class SixListener {
    private let descriptor: Int32

    /// - Returns: nil if another program has the port.
    init?(_ port: UInt16) {
        descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in6()
        (address.sin6_family, address.sin6_port, address.sin6_addr) = (
            sa_family_t(AF_INET6), port.bigEndian, in6addr_loopback
        )
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
        guard bound == 0, listen(descriptor, 1) == 0 else { return nil }
    }

    deinit { close(descriptor) }
}

extension Scene {
    /// Changes the stored sessions while the plugin is disabled.
    fileprivate func changeSessions(_ change: (inout Grant) -> Void) async throws {
        try edit { $0.replacing("[plugin.web]\n", with: "[plugin.web]\nenabled = false\n") }
        _ = try await command("apply")
        var state: PluginState?
        while state == nil {
            try Task.checkCancellation()
            do { state = try PluginState(directory: "\(folder)/data/plugins/web") } catch {
                guard error.code == .locked else { throw error }
            }
        }
        let kept = try #require(state)
        for key in try await kept.transaction({ try $0.keys(prefix: "session/") }) {
            var grant = try JSONDecoder().decode(Grant.self, from: Data((try await kept.text(key) ?? "").utf8))
            change(&grant)
            try await kept.set(key, to: .text(String(decoding: try JSONEncoder().encode(grant), as: UTF8.self)))
        }
        try kept.close()
        try edit { $0.replacing("[plugin.web]\nenabled = false\n", with: "[plugin.web]\n") }
        _ = try await command("apply")
        try await eventually { try await get("/login").status != 0 }
    }
}
