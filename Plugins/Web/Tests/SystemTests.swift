import Foundation
import HealthText
import HubProcess
import PluginKit
import Testing

@testable import Web

/// The page System and its actions.
@Suite(.timeLimit(.minutes(3))) struct SystemTests {
    @Test func `the page shows hub status, the doctor's findings about the hub, and the last backup`() async throws {
        let scene = try await Scene()
        let owner = try await Browser(scene)
        let first = Scene.words(try await owner.get("/system").body)
        #expect(first.contains("none that the hub knows of: hub backup"), "\(first)")
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        let told = try await scene.command("backup", scene.folder)
        #expect(!told.isEmpty)
        // The hub reads the list of backups every few seconds.
        try await eventually { try await scene.status()["backup"] != nil }
        _ = try await scene.command("log", "weight", "80.5kg", "--person", "me")
        let page = Scene.words(try await owner.get("/system").body)
        let status = try await scene.status()
        let backup = try #require(status["backup"] as? [String: Any])
        #expect(backup["behind"] as? Int == 1 && backup["time"] is String)
        let store = try #require(status["store"] as? [String: Any])
        for text in [
            try #require(status["version"] as? String), try #require(backup["path"] as? String), "; 1 change since",
            try #require(store["path"] as? String), "2 records", "it runs, and says it is well", "hub doctor",
        ] { #expect(page.contains(text), "\(text): \(page)") }
        #expect(try #require(store["size"] as? Int) >= 4_096)
        #expect(
            try await scene.command("status").contains { $0.hasPrefix("backup   ") && $0.hasSuffix(", 1 change since") }
        )
    }

    @Test func `the page links to each plugin and to the plan of a changed hub.conf, for the owner alone`()
        async throws
    {
        let scene = try await Scene { folder in "[plugin.json-lines]\npath = \"\(folder)/lines\"" }
        let page = try await Browser(scene).get("/system").body
        #expect(page.contains("href=\"/plugins/json-lines\"") && page.contains("href=\"/apply\""), "\(page)")
        let ben = try await Browser(scene, "ben")
        for path in ["/system", "/plugins/json-lines", "/apply", "/devices", "/inbox", "/deliveries"] {
            #expect(try await ben.get(path).status == 404, "\(path)")
        }
    }

    @Test func `words and members of a newer hub are shown as they are, or left out`() throws {
        let status = try JSONDecoder().decode(
            HubStatus.self,
            from: Data(
                #"""
                {"hub":"h","version":"9","epoch":"k7qz2m5a","head":1,"time":"2026-03-15T07:00:00Z","clock":"system",
                "uptime":1,"endpoints":{"door":"d","feed":"f","moon":"m"},"store":{"path":"/d","state":"dreaming"},
                "plugins":[{"name":"a","kind":"a","enabled":true,"state":"hibernating","run":"monthly","alive":true,
                "restarts":0,"records":0,"sessions":1,"new":[1],
                "tokens":[{"account":"me","state":"pending","advice":"wait"}]}],
                "sessions":[{"instance":"a","plugin":"a","version":"9","mode":"x","endpoint":"y"}],"accounts":[],
                "sinks":[],"persons":[{"name":"me","uid":"u","characteristics":{"bloodType":{"from":"guess"}}}],
                "devices":[{"instance":"a","device":"d","batteryLow":false,"lastErrorSeverity":"fatal"}],
                "residentBytes":1,"dropped":0}
                """#.utf8))
        let entry = try JSONDecoder().decode(
            PluginEntry.self,
            from: Data(
                #"""
                {"name":"a","kind":"a","enabled":true,"settings":{},"permissions":[{"type":"weight","read":"sometimes"}],
                "grants":{"read":{"types":["weight"],"persons":["*"]},"write":{"types":[],"persons":["*"]}},
                "tier":{"tier":"diamond","origin":"sent","examined":"2026-01-01"},"owner":["fly"]}
                """#.utf8))
        let facts = PluginFacts(condition: status.plugins[0], description: entry, isWell: true)
        #expect(PluginStateText.state(facts).text.contains("hibernating"))
        #expect(PluginStateText.trouble(facts.condition).text.contains("wait"))
        #expect(
            entry.permissions?.first?.read == nil && status.findings.contains { $0.text == "the store is dreaming" })
        #expect(status.persons[0].characteristics?["bloodType"]?.from?.rawValue == "guess")
    }

    @Test func `the page answers before it restarts, after its button, a program's request or a changed hub.conf`()
        async throws
    {
        let scene = try await Scene()
        let owner = try await Browser(scene)
        var pid = try await Self.pid(scene)
        let form = try await owner.form("/plugins/web", to: "/plugins/web/restart")
        let answer = try await owner.send(form)
        #expect(answer.status == 200 && Scene.words(answer.body).contains("away for a moment"), "\(answer)")
        pid = try await Self.pid(scene, after: pid)

        let token = try await scene.token("phone", "manage")
        let told = try await scene.post(
            "/api/v1/plugins/web/restart", "{}", fields: Scene.bearer(token) + ["Content-Type: application/json"])
        #expect(told.status == 200 && told.body.contains("\"ended\":true"), "\(told)")
        pid = try await Self.pid(scene, after: pid)

        try scene.edit { $0.replacing("[plugin.web]", with: "[plugin.web]\ngoals = [\"me=70kg\"]") }
        let plan = try await owner.get("/apply")
        #expect(plan.body.contains("web is ended and started again"), "\(Scene.words(plan.body))")
        let followed = try await owner.send(try plan.form(to: "/apply"))
        #expect(followed.status == 200 && followed.body.contains("away for a moment"), "\(followed)")
        _ = try await Self.pid(scene, after: pid)
        #expect(try await owner.get("/apply").body.contains("The hub follows it already."))
    }

    /// The pid of the page once it answers; differs from the one before.
    private static func pid(_ scene: Scene, after before: Int = 0) async throws -> Int {
        var pid: Int?
        try await eventually {
            let plugins = try await scene.status()["plugins"] as? [[String: Any]]
            let page = plugins?.first { $0["name"] as? String == "web" }
            pid = page?["pid"] as? Int
            guard pid != nil, pid != before else { return false }
            return try await scene.get("/health").status == 200
        }
        return try #require(pid)
    }
}
