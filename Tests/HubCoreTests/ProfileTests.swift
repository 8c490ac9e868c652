import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCore

/// The data about persons that a plugin gets.
@Suite struct ProfileTests {
    private static func setting() -> Setting {
        var anna = PersonSection(name: "anna")
        (anna.height, anna.sex, anna.birthDate) = (168.5, .female, LocalDate("1984-05-06"))
        (anna.unit, anna.athlete, anna.zone) = (.pounds, false, "Europe/Berlin")
        anna.slots = ["scale": 3, "other": 4]
        var setting = Setting()
        setting.people = [anna, PersonSection(name: "ben"), PersonSection(name: "carl")]
        for (name, profiles) in [("scale", true), ("exporter", false)] {
            setting.plugins.append(
                PluginInstance(name: name, executable: "/bin/true", persons: .only(["anna", "ben"])))
            setting.manifests[name] = Manifest(name: name, summary: "A part.", version: "1", profiles: profiles)
        }
        return setting
    }

    @Test func `R4.29 only plugins that request profiles get them, and only for their persons`() async throws {
        try await withHub(Self.setting()) { hub in
            let uids = try await hub.client("owner").query("", want: "persons").body["persons"].array
            let scale = try await hub.peer().hello("scale")["persons"].array
            #expect(scale.map { $0["name"].string } == ["anna", "ben"])
            let anna = scale[0]["profile"]
            #expect(anna["uid"].string == uids.first { $0["name"].string == "anna" }?["uid"].string)
            #expect(anna["slot"].int == 3 && anna["height"].double == 168.5 && anna["sex"].string == "female")
            #expect(anna["birthDate"].string == "1984-05-06" && anna["unit"].string == "lb")
            #expect(anna["athlete"].truth == false)
            #expect(scale[1]["profile"]["uid"].string != nil && scale[1]["profile"]["height"].double == nil)
            for name in ["exporter", "stranger"] {
                let told = try await hub.peer().hello(name)["persons"].array
                #expect(told.allSatisfy { $0["profile"]["uid"].string == nil && $0["zone"].string != nil })
            }
        }
    }
}
