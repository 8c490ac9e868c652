import Foundation
import HubProcess
import Testing

@testable import Web

/// How the hub is, and what is done about it.
@Suite(.timeLimit(.minutes(3)))
struct SystemTests {
    @Test func `the page says what hub status and the doctor's look at the hub say, with the last backup`() async throws
    {
        let scene = try await Scene()
        let owner = try await scene.logIn()
        let first = Scene.words(try await scene.get("/system", cookie: owner).body)
        #expect(first.contains("none that the hub knows of: hub backup"), "\(first)")
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        let told = try await scene.command("backup", scene.folder)
        #expect(!told.isEmpty)
        // The hub looks at the list of backups every few seconds.
        while try await scene.status()["backup"] == nil {}
        _ = try await scene.command("log", "weight", "80.5kg", "--person", "me")
        let page = Scene.words(try await scene.get("/system", cookie: owner).body)
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

    @Test func `a plugin is restarted, and hub conf followed, after the plan was seen; by the owner alone`()
        async throws
    {
        let scene = try await Scene(owner: ["status", "restart", "apply"]) { folder in
            """
            [plugin.json-lines]
            path = "\(folder)/lines"
            """
        }
        let owner = try await scene.logIn()
        let pid = try await Self.pid(scene)
        let plan = try await scene.get("/system/restart?plugin=json-lines", cookie: owner)
        #expect(plan.status == 200 && plan.body.contains("asked to finish"), "\(Scene.words(plan.body))")
        #expect(try await scene.get("/system/restart?plugin=nothing", cookie: owner).status == 400)
        #expect(try await Self.pid(scene) == pid)
        let token = try #require(Scene.field("token", in: plan.body))
        let done = try await scene.post("/system/restart", "token=\(token)&plugin=json-lines", cookie: owner)
        #expect(done.status == 303 && done.fields["location"] == "/system")
        #expect(try await scene.get("/system", cookie: owner).body.contains("json-lines is being restarted"))
        while try await Self.pid(scene) == pid {}

        #expect(try await scene.get("/system/apply", cookie: owner).body.contains("nothing would change"))
        try scene.edit { $0.replacing("[plugin.json-lines]", with: "[plugin.json-lines]\nenabled = false") }
        let change = try await scene.get("/system/apply", cookie: owner)
        #expect(Scene.words(change.body).contains("stop json-lines"), "\(Scene.words(change.body))")
        #expect(try await scene.post("/system/apply", "token=\(token)", cookie: owner).status == 303)
        #expect(
            try await scene.get("/system", cookie: owner).body.contains("The hub follows hub.conf; 1 plugin changed."))
        try scene.edit { $0 + "\n[plugin.json-lines]\n" }
        let wrong = try await scene.get("/system/apply", cookie: owner)
        #expect(wrong.body.contains("has errors") && !wrong.body.contains("Do this"), "\(Scene.words(wrong.body))")

        let ben = try await scene.logIn("ben")
        let bens = try #require(Scene.field("token", in: try await scene.get("/", cookie: ben).body))
        for path in ["/system", "/system/apply", "/system/restart?plugin=json-lines"] {
            #expect(try await scene.get(path, cookie: ben).status == 404, "\(path)")
        }
        for path in ["/system/apply", "/system/restart"] {
            #expect(try await scene.post(path, "token=\(bens)&plugin=json-lines", cookie: ben).status == 404, "\(path)")
        }
    }

    /// The process of the sink, once it has one.
    private static func pid(_ scene: Scene) async throws -> Int {
        while true {
            let plugins = try await scene.status()["plugins"] as? [[String: Any]]
            let sink = plugins?.first { $0["name"] as? String == "json-lines" }
            if let pid = sink?["pid"] as? Int, sink?["alive"] as? Bool == true { return pid }
        }
    }
}
