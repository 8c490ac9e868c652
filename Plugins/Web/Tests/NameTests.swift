import Foundation
import HubProcess
import Testing

/// Names of persons in any script, on the pages and in the API.
@Suite(.timeLimit(.minutes(3))) struct NameTests {
    private static let persons = "[person.juergen]\ndisplay_name = \"Jürgen <b>\"\n"

    @Test func `pages show the display name and take both names in any case`() async throws {
        let scene = try await Scene(persons: Self.persons)
        let owner = try await Browser(scene)
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "juergen")
        for name in ["juergen", "JUERGEN", "j%C3%BCrgen%20%3Cb%3E"] {
            let page = try await owner.get("/?person=\(name)")
            #expect(page.status == 200 && page.body.contains("80.4"), "\(page)")
            #expect(page.body.contains("person=juergen\" aria-current=\"true\">Jürgen &lt;b&gt;</a>"), "\(page)")
            #expect(!page.body.contains("<b>"), "a name is text")
        }
        #expect(try await owner.get("/records/1").body.contains("Jürgen &lt;b&gt;"))
        #expect(try await owner.get("/add?person=juergen").body.contains("Add for Jürgen &lt;b&gt;"))
        #expect(try await owner.get("/?person=nobody").status == 404)
    }

    @Test func `a link for a person's name in another case shows that person alone`() async throws {
        let scene = try await Scene(persons: Self.persons)
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "juergen")
        let theirs = try await Browser(scene, "JUERGEN")
        #expect(try await theirs.get("/").body.contains("80.4"))
        #expect(try await theirs.get("/?person=ben").status == 404)
    }

    @Test func `a person added on the page has a name in any script, and a section in plain letters`() async throws {
        let scene = try await Scene()
        let (owner, before) = (try await Browser(scene), try scene.configuration)
        let twin = try await owner.post("/setup", "name=BEN")
        #expect(twin.status == 422 && twin.body.contains("upper and lower case count as one"), "\(twin)")
        let plan = try await owner.post("/setup", "name=Zo%C3%AB+M")
        let id = try #require(Scene.field("change", in: plan.body), "\(plan)")
        #expect(try await owner.post("/setup/save", "change=\(id)").status == 200)
        try await eventually { try await owner.get("/setup").body.contains("Zoë M (zoe-m)") }
        let added = try scene.configuration
        #expect(added.contains("[person.zoe-m]\ndisplay_name = \"Zoë M\"\n"), "\(before) \(added)")
    }
}
