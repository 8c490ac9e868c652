import Foundation
import HubProcess
import Testing

/// The page Set up: persons and the household, as in `hub setup`.
@Suite(.timeLimit(.minutes(3))) struct SetupTests {
    private static func scene(_ owner: [String] = ["*"]) async throws -> Scene {
        try await Scene(owner: owner, persons: "# hers\n[person.clara]  # third\n") { _ in
            "[plugin.waits]\nkind = \"json-lines\"\nenabled = false\npath = \"lines\"\n"
        }
    }

    /// Confirms a plan, or presses the undo of a notice.
    private static func save(_ page: Scene.Answer, _ browser: Browser) async throws -> Scene.Answer {
        let id = try #require(Scene.field("change", in: page.body), "\(page)")
        return try await browser.post("/setup/save", "change=\(id)")
    }

    @Test func `a person is added after a plan, and exists when the page is back`() async throws {
        let scene = try await Self.scene()
        let (owner, before) = (try await Browser(scene), try scene.configuration)
        let page = try await owner.get("/setup")
        #expect(page.status == 200 && page.body.contains("id=\"ben-expected_weight\""), "\(page)")
        #expect(page.body.contains("href=\"/plugins/waits#settings\""))
        for (name, reason) in [("+-+!", "expected a letter"), ("Clara", "upper and lower case count as one")] {
            let wrong = try await owner.post("/setup", "name=\(name)")
            #expect(wrong.status == 422 && wrong.body.contains("id=\"name-fault\""), "\(wrong)")
            let typed = name.replacing("+", with: " ").trimmingCharacters(in: .whitespaces)
            #expect(wrong.body.contains(reason) && wrong.body.contains("value=\"\(typed)\""))
        }
        let plan = try await owner.post("/setup", "name=anna")
        #expect(plan.body.contains("Add anna?") && plan.body.contains("web is ended and started again"), "\(plan)")
        #expect(plan.body.contains("a section of anna, which only you take out again"))
        #expect(try scene.configuration == before)
        let away = try await Self.save(plan, owner)
        #expect(away.status == 200 && away.body.contains("is away for a moment"), "\(away)")
        try await eventually { try await owner.get("/setup").body.contains("id=\"anna-zone\"") }
        let added = before.replacing("[person.clara]  # third\n", with: "[person.clara]  # third\n\n[person.anna]\n")
        #expect(try scene.configuration == added)
    }

    @Test func `settings of a person and of the household are checked beside the field, saved and undone`() async throws
    {
        let scene = try await Self.scene()
        let (owner, before) = (try await Browser(scene), try scene.configuration)
        let wrong = try await owner.post("/setup", "person=me&set-zone=Mars%2FBase")
        #expect(wrong.status == 422 && wrong.body.contains("id=\"me-zone-fault\""), "\(wrong)")
        #expect(wrong.body.contains("value=\"Mars/Base\""), "the typed text stays")
        let house = try await owner.post("/setup", "set-zone=Mars%2FBase")
        #expect(house.status == 422 && house.body.contains("id=\"-house-zone-fault\""), "\(house)")
        #expect(try await owner.post("/setup", "person=ben&set-zone=").status == 303)
        #expect(try await owner.get("/setup").body.contains("hub.conf has these values already"))
        #expect(try await owner.post("/setup", "person=nobody&set-zone=UTC").status == 404)
        #expect(try scene.configuration == before)

        // Each ends the session of the page, except the weight.
        for (fields, old, new) in [
            (
                "person=me&set-zone=Asia%2FTokyo&set-unit=lb", "zone = \"Europe/Berlin\"\n",
                "zone = \"Asia/Tokyo\"\nunit = \"lb\"\n"
            ),
            ("person=clara&set-expected_weight=61.5", "# third\n", "# third\nexpected_weight = 61.5\n"),
            ("set-zone=Asia%2FTokyo", "/run\"\n", "/run\"\nzone = \"Asia/Tokyo\"\n"),
        ] {
            let plan = try await owner.post("/setup", fields)
            #expect(plan.status == 200 && plan.body.contains("Changes in hub.conf"), "\(plan)")
            #expect(try await Self.save(plan, owner).status == 303)
            #expect(try scene.configuration == before.replacing(old, with: new))
            let done = try await owner.get("/setup")
            #expect(done.body.contains("Saved."), "\(done)")
            #expect(try await Self.save(done, owner).status == 303)
            #expect(try scene.configuration == before)
        }
    }

    @Test func `a viewer of one person does not find the page, and another site changes nothing`() async throws {
        let scene = try await Self.scene()
        let (owner, ben, before) = (try await Browser(scene), try await Browser(scene, "ben"), try scene.configuration)
        #expect(try await ben.get("/setup").status == 404)
        let (token, wrong) = (Scene.formToken, String(Scene.formToken.reversed()))
        for path in ["/setup", "/setup/save"] {
            #expect(try await ben.post(path, "name=anna").status == 404)
            #expect(try await scene.post(path, "token=\(wrong)&name=anna", cookie: owner.cookie).status == 403)
            let other = try await scene.post(
                path, "token=\(token)&name=anna", cookie: owner.cookie, fields: ["Origin: http://evil.example"])
            #expect(other.status == 403, "\(other)")
        }
        #expect(try scene.configuration == before)
    }

    @Test func `empty pages link to Set up, which without the grant names the command to type`() async throws {
        let scene = try await Self.scene(["status"])
        let (owner, before) = (try await Browser(scene), try scene.configuration)
        for path in ["/", "/plugins", "/system"] {
            #expect(try await owner.get(path).body.contains("href=\"/setup\""), "\(path)")
        }
        #expect(try await !Browser(scene, "ben").get("/").body.contains("href=\"/setup\""))
        let line = "hub permissions allow web &#39;*&#39; --owner"
        #expect(try await owner.get("/setup").body.contains(line))
        for fields in ["name=anna", "person=me&set-zone=UTC"] {
            let refused = try await owner.post("/setup", fields)
            #expect(refused.body.contains(line) && !refused.body.contains("name=\"change\""), "\(refused)")
        }
        #expect(try scene.configuration == before)
    }
}
