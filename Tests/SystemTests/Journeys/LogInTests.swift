import Foundation
import HubProcess
import Testing

/// `hub login` and `hub logout` as a person uses them, with a stand-in for a real service.
@Suite(.serialized, .timeLimit(.minutes(3))) struct LogInTests {
    @Test(arguments: ["code", "fragment", "foreign"])
    func `R11.11 a browser logs in to each kind of service, and secrets are only in secrets.db`(
        _ flow: String
    ) async throws {
        let (scene, hub) = try await LogInScene.running("flow = \"\(flow)\"", hub: "log_level = \"trace\"")
        let before = try await scene.host.command("status")
        #expect(before.status == 1, "a log-in is missing")
        #expect(before.lines.contains { $0.contains("hub login cloud") })

        let (login, url) = try await scene.begin(["--json"])
        let page = try ScriptedBrowser().open(url).page
        #expect(page.status == 200 && page.body.contains("You are logged in"), "\(page)")
        #expect(page.fields["cache-control"] == "no-store")
        #expect(await login.waitForExit() == 0, "\(login.errorLines)")
        let result = await login.allLines().joined()
        #expect(result.contains(#""account":"me""#) && result.contains(#""user":"Mira""#), "\(result)")
        #expect(scene.server.counts.logIns == 1)

        #expect(try await scene.refresh().said.contains("Mira"))
        let token = try #require(try await scene.token())
        #expect(token.state == "valid" && token.user == "Mira" && token.expires != nil && token.advice == nil)
        let status = try await scene.host.command("status")
        #expect(status.lines.contains { $0.hasPrefix("cloud") && $0.contains("Mira") && $0.contains("valid") })
        #expect(try await scene.host.command("plugins", "cloud").lines.contains { $0.contains("log-in   Mira (me)") })

        let copy = "\(scene.host.folder.path)/copy"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        #expect(try await scene.host.command("backup", copy).status == 0)
        let heard = [login.lines, login.errorLines, hub.lines, hub.errorLines, status.lines].joined()
        for secret in scene.server.secrets { #expect(!heard.contains { $0.contains(secret) }) }
        #expect(try scene.leaks() == ["secrets.db"])
        let secrets = "\(scene.host.folder.path)/data/secrets.db"
        #expect(try FileManager.default.attributesOfItem(atPath: secrets)[.posixPermissions] as? Int == 0o600)
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
    }

    @Test func `a restarted hub still has the token, and the plugin needs no person`() async throws {
        let (scene, first) = try await LogInScene.running()
        try await scene.logIn()
        await first.killAndWait()
        let second = try await scene.host.start()
        try await scene.isRunning()
        #expect(try await scene.refresh().said.contains("Mira"))
        #expect(scene.server.counts.logIns == 1 && scene.server.counts.renewals == 0)
        #expect(await second.stop() == 0, "\(second.errorLines)")
    }

    @Test func `a refusal, a foreign answer, an expired code and an absent service have different errors`() async throws
    {
        let (scene, hub) = try await LogInScene.running()
        scene.server.change { $0.denies = true }
        var (login, url) = try await scene.begin()
        var page = try ScriptedBrowser().open(url).page
        #expect(page.body.contains("The log-in has failed"), "\(page)")
        #expect(await login.result().code == 77)
        #expect(login.errorLines.last?.contains("access was denied") == true, "\(login.errorLines)")

        scene.server.change { ways in
            ways.denies = false
            ways.state = .some("somebody-else")
        }
        (login, url) = try await scene.begin()
        page = try ScriptedBrowser().open(url).page
        #expect(page.status == 400 && page.body.contains("was not used"), "\(page)")
        #expect(login.isRunning, "the log-in still waits for its own answer")

        scene.server.change { $0.state = .none }
        scene.server.next(.refuse)
        page = try ScriptedBrowser().open(url).page
        #expect(await login.result().code == 1)
        #expect(login.errorLines.last?.contains("invalid_grant") == true, "\(login.errorLines)")

        (login, url) = try await scene.begin()
        let redirect = try ScriptedBrowser().send("GET", url).fields["location"]
        scene.server.stop()
        page = try ScriptedBrowser().open(try #require(redirect)).page
        #expect(await login.result().code == 1)
        #expect(login.errorLines.last?.contains("cannot be reached") == true, "\(login.errorLines)")
        #expect(try await scene.token()?.state == "missing")
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
    }

    @Test
    func `requests that are no answer change nothing, and only the person's browser can give an answer`() async throws {
        let (scene, hub) = try await LogInScene.running(host: "localhost")
        let (login, url) = try await scene.begin()
        let browser = ScriptedBrowser()
        let back = scene.redirect
        let root = back.replacing("/back", with: "/")
        #expect(try browser.send("GET", root + "favicon.ico").status == 404)
        #expect(try browser.send("GET", back).body.contains("location.hash"))
        #expect(try browser.send("GET", back + "?code=x", ["Host": "evil.example"]).status == 421)
        // Any web page can make the browser send these requests.
        for query in ["?code=x", "?code=x&state=", "?code=x&state=guessed", "?error=access_denied", "?access_token=x"] {
            #expect(try browser.send("GET", back + query).status == 400, "\(query)")
        }
        let origin = ["Origin": String(back.dropLast("/back".count))]
        #expect(try browser.send("POST", back, origin, body: "access_token=x&state=guessed").status == 400)
        #expect(try browser.send("POST", back, ["Origin": "https://evil.example"], body: "code=x").status == 403)
        #expect(try browser.send("POST", back, body: "code=x").status == 403)
        #expect(try browser.send("DELETE", back).status == 405)
        #expect(try browser.send("POST", back, ["Content-Length": "-1"]).status == 400)
        // Silent connections do not delay others.
        let port = try #require(URLComponents(string: back)?.port.flatMap(UInt16.init(exactly:)))
        let idle = try (0..<8).map { _ in try Loopback.connect(port) }
        #expect(login.isRunning)
        #expect(try browser.open(url).page.body.contains("You are logged in"))
        #expect(await login.waitForExit() == 0)
        for descriptor in idle { close(descriptor) }
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
    }

    @Test func `a taken port, a time that is over and an unknown plugin have different exit codes`() async throws {
        let (scene, hub) = try await LogInScene.running()
        let (first, _) = try await scene.begin()
        let second = try await scene.host.command("login", "cloud")
        #expect(second.status == 71 && second.errors.last?.contains("is taken") == true, "\(second.errors)")
        #expect(second.errors.last?.contains("--paste") == true)
        first.signal(SIGINT)
        #expect(await first.waitForExit() == 130)
        let late = try await scene.host.command("login", "cloud", "--timeout", "200ms")
        #expect(late.status == 75, "\(late.errors)")
        let typo = try await scene.host.command("login", "clod")
        #expect(typo.status == 64 && typo.errors.last?.contains("did you mean cloud?") == true, "\(typo.errors)")
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
        #expect(try await scene.host.command("login", "cloud").status == 69)
    }

    @Test func `without a browser a person pastes the address or the code; a long-lived token comes from a pipe`()
        async throws
    {
        let (scene, hub) = try await LogInScene.running()
        let browser = ScriptedBrowser()
        for isCode in [false, true] {
            let login = try await scene.paste { url in
                let back = try browser.send("GET", url).fields["location"] ?? ""
                return isCode ? URLComponents(string: back)?.queryItems?.first { $0.name == "code" }?.value ?? "" : back
            }
            #expect(await login.waitForExit() == 0, "\(login.errorLines)")
            #expect(await login.allLines().joined().contains("logged in as Mira"))
        }
        #expect(await hub.stop() == 0, "\(hub.errorLines)")

        let (simple, other) = try await LogInScene.running("flow = \"paste\"")
        let wrong = try await simple.paste { _ in "no-such-token" }
        #expect(await wrong.result().code == 1)
        #expect(wrong.errorLines.last?.contains("does not know the token") == true, "\(wrong.errorLines)")
        let token = simple.server.handLongLivedToken()
        let login = try await simple.paste { _ in token }
        #expect(await login.result().code == 0, "\(login.errorLines)")
        #expect(!(login.lines + login.errorLines).contains { $0.contains(token) })
        #expect(try await simple.token()?.state == "valid")
        #expect(await other.stop() == 0, "\(other.errorLines)")
    }

    @Test func `R11.10 a log-in at a service that returns no state is completed by pasting, never by a browser alone`()
        async throws
    {
        let (scene, hub) = try await LogInScene.running("flow = \"foreign\"")
        scene.server.change { $0.state = .some(nil) }
        let (login, url) = try await scene.begin()
        let visit = try ScriptedBrowser().open(url)
        #expect(visit.page.status == 400 && visit.page.body.contains("paste it in the terminal"), "\(visit.page)")
        #expect(login.isRunning && scene.server.counts.logIns == 0)
        login.signal(SIGINT)
        #expect(await login.waitForExit() == 130)
        let pasted = try await scene.paste { try ScriptedBrowser().send("GET", $0).fields["location"] ?? "" }
        #expect(await pasted.waitForExit() == 0, "\(pasted.errorLines)")
        #expect(scene.server.counts.logIns == 1)
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
    }

    @Test func `R11.10 the browser gets an address of the hub that leads to the page once and does not show the mark`()
        async throws
    {
        let scene = try LogInScene()
        let seen = "\(scene.host.folder.path)/opened"
        let script = try scene.host.folder.write(
            "#!/bin/sh\necho \"$#\" \"$1\" > \(seen).new; mv \(seen).new \(seen)\n", to: "browser")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let hub = try await scene.host.start()
        try await scene.isRunning()
        let (login, url) = try await scene.begin(browser: script)
        while !FileManager.default.fileExists(atPath: seen) { try await Task.sleep(for: .milliseconds(20)) }
        let words = try String(contentsOfFile: seen, encoding: .utf8).split { $0 == " " || $0.isNewline }.map(
            String.init)
        let mark = try #require(URLComponents(string: url)?.queryItems?.first { $0.name == "state" }?.value)
        #expect(words.count == 2 && words[0] == "1", "\(words)")
        for word in [mark, "client", "state"] { #expect(!words[1].contains(word), "\(words)") }
        let browser = ScriptedBrowser()
        let first = try browser.send("GET", words[1])
        #expect(first.status == 302 && first.fields["location"] == url, "\(first)")
        #expect(try browser.send("GET", words[1]).status == 410, "an address from the process list works only once")
        #expect(try browser.open(url).page.body.contains("You are logged in"))
        #expect(await login.waitForExit() == 0)
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
    }

    @Test func `R11.12 a log-out is shown first, revokes at the service, and keeps a token that could not be revoked`()
        async throws
    {
        let (scene, hub) = try await LogInScene.running()
        #expect(try await scene.host.command("logout", "cloud", "--yes").lines == ["no one is logged in at cloud"])
        try await scene.logIn()
        let dry = try await scene.host.command("logout", "cloud", "--dry-run")
        #expect(dry.lines == ["me: the service would be asked to revoke the token; then the hub would forget it"])
        #expect(try await scene.host.command("logout", "cloud").status == 64, "there is no terminal to ask at")
        scene.server.change { $0.canRevoke = false }
        let refused = try await scene.host.command("logout", "cloud", "--yes")
        #expect(refused.status == 1 && refused.errors.last?.contains("--only-here") == true, "\(refused.errors)")
        #expect(try await scene.token()?.state == "valid")
        scene.server.change { $0.canRevoke = true }
        let done = try await scene.host.command("logout", "cloud", "--yes", "--json")
        #expect(
            done.lines == [#"{"accounts":[{"account":"me","service":"revoked"}],"dryRun":false,"instance":"cloud"}"#])
        #expect(scene.server.counts.revoked == 1)
        #expect(try await scene.token { $0?.state == "missing" }?.state == "missing")
        #expect(try scene.leaks() == [])
        // The person can log in again while the plugin keeps running.
        try await scene.isRunning()
        try await scene.logIn()
        #expect(try await scene.refresh().said.contains("Mira"))
        let here = try await scene.host.command("logout", "cloud", "--yes", "--only-here")
        #expect(here.status == 0 && scene.server.counts.revoked == 1)
        #expect(
            here.lines.count == 1 && here.lines[0].contains("by this hub only; the service was not notified"), "\(here)"
        )
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
    }
}
