import Foundation
import HubProcess
import Testing

@testable import Web

/// The units of persons, and the page Devices.
@Suite(.timeLimit(.minutes(5))) struct PreferenceTests {
    @Test func `a person chooses units among those of a type, and every page uses them`() async throws {
        let scene = try await Scene(owner: ["*"])
        for person in ["me", "ben"] { _ = try await scene.command("log", "weight", "80kg", "--person", person) }
        let ben = try await Browser(scene, "ben")
        let form = try await ben.form("/preferences")
        #expect(form["weight"]?.isEmpty == true)
        for (name, unit) in [("weight", "m"), ("weight", "<b>"), ("nothing", "kg"), ("stepCount", "kg")] {
            let answer = try await ben.send(form, [name: unit])
            #expect(answer.status == 400 && answer.body.contains("\(name): there is no such unit"), "\(name) \(unit)")
        }
        let saved = try await ben.press(form, ["weight": "st"])
        #expect(saved.body.contains("Saved"))
        for path in ["/", "/types/weight", "/records/2"] {
            #expect(try await ben.get(path).body.contains("12 st 8.4 lb"), "\(path)")
        }
        #expect(try await ben.form("/add?type=weight", to: "/add")["unit"] == "st")
        // The other person's units and those of the hub's commands do not change.
        let owner = try await Browser(scene)
        #expect(try await owner.get("/?person=me").body.contains("80.0 kg"))
        #expect(try await owner.get("/?person=ben").body.contains("12 st 8.4 lb"))
        #expect(try await scene.command("samples", "weight").joined().contains("80.0 kg"))
        _ = try await ben.press(try await ben.form("/preferences"), ["weight": ""])
        #expect(try await ben.get("/").body.contains("80.0 kg"))
    }

    @Test func `the page Devices shows advice if there are none, and only to the owner`() async throws {
        let scene = try await Scene(owner: ["*"])
        let owner = try await Browser(scene)
        #expect(try await owner.get("/devices").body.contains("No plugin has told of a device yet"))
        #expect(try await owner.get("/devices/web/users").status == 404)
    }
}
