import Foundation
import HubProcess
import PluginKit
import Testing

@testable import Web

/// The page Plugins, its forms, and their limits.
@Suite(.timeLimit(.minutes(3))) struct PluginsTests {
    private static let all = ["*"]
    /// A plugin for an absent service, and one that writes into a folder.
    private static let sections = """

        # what Exist gets
        [plugin.exist]  # here
        base = "http://127.0.0.1:9"
        persons = ["me"]
        client_id = "app"
        client_secret = "very-secret"   # of the app
        ## How many days back values are sent.
        # days = 30

        [plugin.files]
        kind = "json-lines"
        path = "lines"
        """

    private static func scene(_ owner: [String] = all) async throws -> Scene {
        try await Scene(owner: owner, settings: sections)
    }

    /// The fields of exist's form with their present values.
    private static let fields =
        "set-base=http%3A%2F%2F127.0.0.1%3A9&set-client_id=app&set-client_secret=&set-attributes=&set-days="

    @Test func `the owner sees each plugin with its state and grants, and no secrets`() async throws {
        let scene = try await Self.scene()
        let owner = try await Browser(scene)
        let list = try await owner.get("/plugins")
        #expect(list.status == 200, "\(list)")
        for word in ["exist", "files", "web", "Reads all types"] {
            #expect(list.body.contains(word), "\(word): \(list.body)")
        }
        let page = try await owner.get("/plugins/exist")
        #expect(page.body.contains("very-secret") == false && page.body.contains("set; stays if this is empty"))
        #expect(page.body.contains("<option value=\"window\"") && page.body.contains("id=\"set-days\""), "\(page.body)")
        let files = try await owner.get("/plugins/files")
        #expect(!files.body.contains("name=\"set-path\"") && files.body.contains("hub configure"), "\(files.body)")
        let own = try await owner.get("/plugins/web")
        #expect(!own.body.contains("Show what would change") && own.body.contains("This is the page itself"))
        #expect(try await owner.get("/plugins/nobody").status == 404)
    }

    @Test func `a viewer of one person finds nothing at any address of the page`() async throws {
        let scene = try await Self.scene()
        let ben = try await Browser(scene, "ben")
        for path in [
            "/plugins", "/plugins/exist", "/plugins/exist/logs", "/plugins/exist/logs/lines", "/plugins/exist/login",
            "/apply", "/plugins/nobody",
        ] { #expect(try await ben.get(path).status == 404, "\(path)") }
        let before = try scene.configuration
        for path in [
            "/plugins/exist/restart", "/plugins/exist/release", "/plugins/exist/change", "/plugins/exist/save",
            "/plugins/exist/login", "/plugins/exist/login/answer", "/plugins/exist/do/plan", "/apply",
        ] {
            let answer = try await ben.post(path, "enabled=false")
            #expect(answer.status == 404, "\(path): \(answer)")
        }
        #expect(try scene.configuration == before)
    }

    @Test func `a setting is checked beside its field, shown with its effect, saved, and undone`() async throws {
        let scene = try await Self.scene()
        let owner = try await Browser(scene)
        let before = try scene.configuration
        let wrong = try await owner.post("/plugins/exist/change", Self.fields + "0")
        #expect(wrong.status == 422 && wrong.body.contains("from 1 to 36500"), "\(wrong)")
        #expect(wrong.body.contains("aria-invalid=\"true\" aria-describedby=\"set-days-hint set-days-fault\""))
        #expect(
            Browser.forms(wrong.body, to: "/plugins/exist/change").first?["set-days"] == "0", "the typed text stays")
        #expect(try scene.configuration == before)

        let same = try await owner.post("/plugins/exist/change", Self.fields)
        #expect(same.status == 303)
        #expect(try await owner.get("/plugins/exist").body.contains("hub.conf has these values already"))

        let plan = try await owner.post("/plugins/exist/change", Self.fields + "10")
        #expect(plan.status == 200 && plan.body.contains("exist is ended and started again"), "\(plan)")
        #expect(plan.body.contains("<code>days</code>: <code>10</code>; it was not set"), "\(plan.body)")
        #expect(try scene.configuration == before)
        let id = try #require(Scene.field("change", in: plan.body))
        let other = try await Browser(scene)
        #expect(try await other.post("/plugins/exist/save", "change=\(id)").status == 303)
        #expect(try scene.configuration == before, "another browser was not shown it")
        #expect(try await owner.post("/plugins/exist/save", "change=\(id)").status == 303)
        #expect(try scene.configuration == before.replacing("# days = 30\n", with: "# days = 30\ndays = 10\n"))

        let done = try await owner.get("/plugins/exist")
        #expect(done.body.contains("Saved.") && done.body.contains("value=\"10\""), "\(done.body)")
        let undo = try #require(Scene.field("change", in: done.body))
        #expect(try await owner.post("/plugins/exist/save", "change=\(undo)").status == 303)
        #expect(try scene.configuration == before)
        #expect(try await owner.post("/plugins/exist/save", "change=\(id)").status == 303)
        #expect(try await owner.get("/plugins/exist").body.contains("Nothing was changed"))
    }

    @Test func `a secret can be set and is never shown, and its replacement cannot be undone`() async throws {
        let scene = try await Self.scene()
        let owner = try await Browser(scene)
        let fields = Self.fields.replacing("set-client_secret=", with: "set-client_secret=new%22secret%5C")
        let plan = try await owner.post("/plugins/exist/change", fields)
        #expect(plan.status == 200 && !plan.body.contains("new&quot;secret") && !plan.body.contains("very-secret"))
        #expect(plan.body.contains("cannot be restored"), "\(plan.body)")
        let id = try #require(Scene.field("change", in: plan.body))
        _ = try await owner.post("/plugins/exist/save", "change=\(id)")
        #expect(try scene.configuration.contains(#"client_secret = "new\"secret\\"   # of the app"#))
        let done = try await owner.get("/plugins/exist")
        #expect(done.body.contains("Saved.") && !done.body.contains("new&quot;secret"), "\(done.body)")
    }

    @Test func `a plugin is disabled and enabled after a plan, and no form changes a setting that gives rights`()
        async throws
    {
        let scene = try await Self.scene()
        let owner = try await Browser(scene)
        let before = try scene.configuration
        let plan = try await owner.post("/plugins/exist/change", "enabled=false")
        #expect(plan.body.contains("exist is ended: it is gone or disabled"), "\(plan.body)")
        let id = try #require(Scene.field("change", in: plan.body))
        _ = try await owner.post("/plugins/exist/save", "change=\(id)")
        #expect(try scene.configuration.contains("\nenabled = false\n"))
        let off = try await owner.get("/plugins/exist")
        #expect(off.body.contains("disabled") && off.body.contains("Enable …"), "\(off.body)")
        let undo = try #require(Scene.field("change", in: off.body))
        _ = try await owner.post("/plugins/exist/save", "change=\(undo)")
        #expect(try scene.configuration.contains("enabled = true\n"))

        let now = try scene.configuration
        for (path, fields) in [
            ("/plugins/exist/change", Self.fields + "&set-grants=*&set-executable=%2Fbin%2Fsh&set-confine=false"),
            ("/plugins/files/change", "set-path=%2Fetc"),
        ] {
            let answer = try await owner.post(path, fields)
            #expect(answer.status == 303, "\(answer)")
        }
        let own = try await owner.post("/plugins/web/change", "enabled=false")
        #expect(own.status == 422 && own.body.contains("cannot change its own section"), "\(own)")
        let reference = try await owner.post(
            "/plugins/exist/change", Self.fields.replacing("=app", with: "=%24%7Bfile%3A%2Fetc%2Fpasswd%7D"))
        #expect(reference.status == 422 && reference.body.contains("which only the owner may name"), "\(reference)")
        #expect(try scene.configuration == now && before != now)
    }

    @Test func `without a grant the page names the command that gives it`() async throws {
        let scene = try await Self.scene(["status", "plugins"])
        let owner = try await Browser(scene)
        let page = try await owner.get("/plugins/exist")
        #expect(
            page.body.contains("hub permissions allow web &#39;*&#39; --owner")
                && page.body.contains("<code>configure</code>"), "\(page.body)")
        for (path, word) in [("restart", "restart"), ("do/plan", "commands")] {
            #expect(try await owner.post("/plugins/exist/\(path)", "").status == 303)
            let told = try await owner.get("/plugins/exist")
            #expect(told.body.contains("<code>\(word)</code>"), "\(told.body)")
        }
        let refused = try await owner.post("/plugins/exist/change", Self.fields + "10")
        #expect(refused.status == 422 && refused.body.contains("is not granted"), "\(refused)")
        #expect(try await owner.get("/plugins/exist/logs").body.contains("<code>logs</code>"))
        #expect(try await owner.get("/apply").body.contains("<code>apply</code>"))
        let none = try await Self.scene([])
        let list = try await Browser(none).get("/plugins")
        #expect(list.status == 200 && list.body.contains("<code>status</code>"), "\(list)")
    }

    @Test func `buttons restart a plugin, run its commands, read its log and apply hub.conf`() async throws {
        let scene = try await Self.scene()
        let owner = try await Browser(scene)
        #expect(try await owner.post("/plugins/exist/restart", "").status == 303)
        #expect(try await owner.get("/plugins/exist").body.contains("is being"))
        #expect(try await owner.post("/plugins/exist/release", "").status == 303)
        #expect(try await owner.post("/plugins/exist/do/nothing", "").status == 404)
        let logs = try await owner.get("/plugins/exist/logs")
        #expect(logs.body.contains("<pre class=\"log\"") && logs.body.contains("/assets/logs-"), "\(logs.body)")
        // New lines may arrive meanwhile.
        var answer = Scene.Answer()
        while answer.status != 304 {
            let lines = try await owner.get("/plugins/exist/logs/lines")
            // In the machine's zone, as all times on the page.
            let line = try #require(lines.body.split(separator: "\n").first)
            let hasOffset = line.prefixMatch(of: #/[-0-9]{10} [:0-9]{8} [-+][:0-9]{5} /#) != nil
            #expect(hasOffset, "\(line)")
            #expect(lines.status == 200 && lines.fields["content-type"]?.hasPrefix("text/plain") == true)
            let tag = try #require(lines.fields["etag"])
            answer = try await scene.get(
                "/plugins/exist/logs/lines", cookie: owner.cookie, fields: ["If-None-Match: \(tag)"])
        }
        #expect(try await owner.get("/plugins/nobody/logs").status == 404)
        #expect(try await owner.get("/apply").body.contains("The hub follows it already."))
        #expect(try await owner.post("/apply", "").fields["location"] == "/plugins")
        #expect(try await owner.get("/plugins").body.contains("The hub follows hub.conf."))
        #expect(
            try await scene.post("/apply", "token=\(String(repeating: "0", count: 64))", cookie: owner.cookie).status
                == 403)
    }

    @Test func `a log-in asks on the page of the browser that began it, and shows the outcome`() async throws {
        let scene = try await Self.scene()
        let (owner, other) = (try await Browser(scene), try await Browser(scene))
        let login = "/plugins/exist/login"
        // The plugin may still be starting.
        var body = ""
        try await eventually {
            let begun = try await owner.post(login, "")
            #expect(begun.status == 303)
            body = try await owner.get(begun.fields["location"] ?? login).body
            return body.contains("Open the page of the service")
        }
        #expect(body.contains("href=\"http://127.0.0.1:9/") && body.contains("rel=\"noreferrer noopener\""), "\(body)")
        #expect(body.contains("http://127.0.0.1:8737/"), "the address it ends on: \(body)")
        let seen = try await other.get(login)
        #expect(
            seen.body.contains("Another browser, or a program, is logging in now")
                && !seen.body.contains("Open the page"), "\(seen.body)")
        #expect(try await other.post(login + "/answer", "answer=code&question=1").status == 303)
        let number = try #require(Scene.field("question", in: body))
        let end = try await owner.post(login + "/answer", "answer=some-code&question=\(number)")
        #expect(end.fields["location"] == "/plugins/exist", "\(end)")
        let told = try await owner.get("/plugins/exist")
        #expect(told.body.contains("Not logged in to exist:") && !told.body.contains("some-code"), "\(told.body)")
        #expect(try await owner.post(login, "").status == 303)
        #expect(try await owner.post(login + "/cancel", "").status == 303)
        #expect(try await owner.get("/plugins/exist").body.contains("was given up"))

        // An ended log-in of another browser does not prevent a new one.
        _ = try await owner.post(login, "")
        #expect(
            try await other.get(login).body.contains("Another browser, or a program, is logging in now"))
        _ = try await scene.command("restart", "exist")
        try await eventually { try await other.get(login).body.contains(">Begin</button>") }
    }

    @Test func `a program leads a log-in for a person, and no other token or browser sees the questions`() async throws
    {
        let scene = try await Self.scene()
        let (manage, other) = (try await scene.token("m", "manage"), try await scene.token("o", "manage"))
        let (read, ben) = (try await scene.token("r"), try await scene.token("b", "write", person: "ben"))
        let login = "/plugins/exist/login"
        func state(_ answer: Scene.Answer) throws -> String? { try Told(answer.body).text("state") }
        var asked = Scene.Answer()
        // The plugin may still be starting.
        try await eventually {
            asked = try await scene.send(login, "{}", manage)
            return try state(asked) != "failed"
        }
        let told = try Told(asked.body)
        #expect(asked.status == 200 && told.text("state") == "asking" && told.number("question") == 1, "\(asked)")
        #expect(told.text("url")?.hasPrefix("http://127.0.0.1:9/") == true, "\(asked)")
        #expect(told.text("redirect")?.hasPrefix("http://127.0.0.1:8737/") == true && told["secret"] as? Bool == true)
        #expect(try await scene.api(login, manage).body == asked.body)

        let browser = try await Browser(scene)
        #expect(try await scene.api(login, other).body == #"{"state":"another"}"#)
        #expect(
            try await browser.get(login).body.contains(
                "Another browser, or a program, is logging in now"))
        #expect(try await scene.send(login, "{}", other).status == 409)
        let code = #"{"question":1,"answer":"some-code"}"#
        for (token, status) in [(other, 409), (read, 403), (ben, 404)] {
            #expect(try await scene.send(login + "/answer", code, token).status == status)
            #expect(try await scene.send(login, "{}", token).status == status)
        }
        #expect(try await scene.api(login, ben).status == 404)
        for (body, member) in [
            (#"{"answer":"x"}"#, "question"), (#"{"question":"1","answer":"x"}"#, "question"),
            (#"{"question":1}"#, "answer"), (#"{"question":1,"answer":1}"#, "answer"),
            (#"{"question":1,"answer":"x","more":1}"#, "more"),
        ] {
            let wrong = try await scene.send(login + "/answer", body, manage)
            #expect(try wrong.status == 400 && Told(wrong.body).text("member") == member, "\(body): \(wrong)")
        }
        #expect(try await scene.send(login + "/answer", #"{"question":2,"answer":"x"}"#, manage).status == 409)

        // The service does not exist.
        let end = try await scene.send(login + "/answer", code, manage)
        #expect(try state(end) == "failed" && !end.body.contains("some-code"), "\(end)")
        #expect(try await scene.api(login, manage).body == end.body)
        #expect(try await scene.api(login, other).body == #"{"state":"none"}"#)
        #expect(try await scene.send(login + "/answer", code, manage).status == 409)

        #expect(try state(try await scene.send(login, "{}", manage)) == "asking")
        #expect(try await scene.send(login + "/cancel", "", other).body == #"{"state":"none"}"#)
        #expect(try await scene.api(login, manage).body == #"{"state":"givenUp"}"#)
        #expect(try state(try await scene.send(login, "{}", manage)) == "asking")
        #expect(try await scene.send(login + "/cancel", "", manage).body == #"{"state":"givenUp"}"#)
        #expect(try await scene.api("/plugins/web/login", manage).status == 404)
        #expect(try await scene.send("/plugins/web/login", "{}", manage).status == 404)

        // As a command without a person it is given up, and the answer names the way to log in.
        let refused = try await scene.send("/plugins/exist/do/login", "{}", manage)
        #expect(try refused.status == 422 && Told(refused.body).text("member") == "command", "\(refused)")
        #expect(refused.body.contains("hub do exist login") && refused.body.contains("/plugins/exist/login"))
        #expect(!refused.body.contains("127.0.0.1:9"), "\(refused)")
    }

    @Test func `without the right to lead log-ins, a program gets the command that grants it`() async throws {
        for (owner, lacks) in [(["status", "commands"], "plugins"), (["status", "plugins"], "commands")] {
            let scene = try await Self.scene(owner)
            let answer = try await scene.send("/plugins/exist/login", "{}", try await scene.token("m", "manage"))
            let told = try Told(answer.body)
            #expect(answer.status == 403 && told.text("code") == "forbidden", "\(answer)")
            #expect(told.text("detail")?.hasPrefix("\(lacks) is not granted") == true, "\(answer)")
        }
    }

    @Test func `a plugin between its runs needs no action, on either page`() async throws {
        let scene = try await Scene { folder in
            """
            [plugin.json-lines]
            path = "\(folder)/lines"
            run = "hourly"
            """
        }
        let owner = try await Browser(scene)
        var page = ""
        try await eventually {
            page = try await owner.get("/plugins/json-lines").body
            return page.contains("resting")
        }
        #expect(page.contains("<span class=\"good\">resting"), "\(page)")
        #expect(try await owner.get("/plugins").body.contains("All 2 plugins are well"))
        #expect(try await !owner.get("/system").body.contains("json-lines has no session"))
    }

    @Test func `an unknown outcome is not reported as undone`() {
        func words(_ code: String) -> String { CommandFailure(code, "so").words("Nothing was changed") }
        #expect(words("configuration") == "Nothing was changed: so")
        for code in ["deadline", "lost"] { #expect(words(code) == "It is not known how it ended: so") }
    }
}
