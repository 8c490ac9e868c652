import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCore

/// Resolving names that people type and that sources send.
@Suite(.timeLimit(.minutes(1))) struct PersonNameTests {
    private static let setting: Setting = {
        var setting = Setting()
        var juergen = PersonSection(name: "juergen")
        juergen.displayName = "Jürgen"
        setting.people = [PersonSection(name: "anna"), juergen]
        setting.plugins = [
            PluginInstance(name: "kitchen", kind: "scale"), PluginInstance(name: "narrow", persons: .only(["anna"])),
        ]
        setting.manifests["kitchen"] = Manifest(
            name: "scale", summary: "A scale.", version: "1", reads: ["*"], writes: ["*"],
            commands: [
                CommandDeclaration(
                    "users", help: "Makes users.",
                    arguments: [
                        SettingDeclaration("person", .string(), help: "Whose."),
                        SettingDeclaration("persons", .list(of: .string()), help: "Whose."),
                        SettingDeclaration("note", .string(), help: "Any."),
                    ])
            ])
        return setting
    }()

    @Test func `R6.49 a subject may name a person in any case or by display name, and is stored unchanged`()
        async throws
    {
        try await withHub(Self.setting) { hub, script in
            let subjects = [#"{"name":"ANNA"}"#, #"{"account":"jürgen"}"#, #"{"name":"Jurgen"}"#]
            let records = subjects.enumerated().map { weight("k\($0)", 80, ",\"subject\":\($1)") }
            _ = try await script.give(records)
            let stored = try await hub.client("owner").all("").records
            #expect(stored.map { $0["person"].string } == ["anna", "juergen", nil])
            for (record, subject) in zip(stored, subjects) { #expect(record["subject"] == JSON(subject)) }
        }
    }

    @Test func `R8.63 QUERY and WANT accept names in any case, of persons that the session may read`() async throws {
        try await withHub(Self.setting) { hub in
            _ = try await hub.client().give([weight("k", 80, #","subject":{"name":"juergen"}"#)])
            let owner = try await hub.client("owner")
            for name in ["juergen", "JUERGEN", "Jürgen", "JÜRGEN"] {
                #expect(try await owner.all("\"persons\":[\"\(name)\"]").records.count == 1, "\(name)")
            }
            #expect(try await owner.want("w", "now", #","persons":["JÜRGEN"]"#).verb == "WANT")
            let narrow = try await hub.client("narrow")
            #expect(try await narrow.query(#""persons":["ANNA"]"#).verb == "RESULT")
            #expect(try await narrow.query(#""persons":["Jürgen"]"#).code == "field")
        }
    }

    @Test func `R8.63 a plugin gets the name in hub.conf, and an unknown name unchanged`() async throws {
        try await withHub(Self.setting) { hub in
            let plugin = try await hub.client("kitchen", plugin: "scale")
            let owner = try await hub.client("owner")
            let given = #"{"person":"JÜRGEN","persons":["Anna","Guest"],"note":"Anna"}"#
            await owner.say("COMMAND", #"{"id":40,"instance":"kitchen","command":"users","args":\#(given)}"#)
            let asked = try await plugin.next("a command").body
            let named = JSON(#"{"person":"juergen","persons":["anna","Guest"],"note":"Anna"}"#)
            #expect(asked["args"] == named, "\(asked)")
        }
    }

    @Test func `R8.63 the hub's own commands accept names in any case`() async throws {
        try await withHub(Self.setting) { hub in
            let owner = try await hub.client("owner")
            for person in ["JÜRGEN", "Juergen"] {
                let logged = try await owner.command(
                    "log", #"{"type":"weight","value":80,"unit":"kg","person":"\#(person)"}"#)
                let record = logged.body["result"]["records"].array.first?["record"]
                #expect(record?["person"].string == "juergen", "\(logged)")
            }
            let given = try await owner.command("assign", #"{"numbers":[1],"to":"ANNA","of":"JÜRGEN"}"#)
            #expect(given.body["result"]["records"].array.first?["outcome"].string == "stored", "\(given)")
            let unknown = try await owner.command("assign", #"{"numbers":[1],"to":"Jurgen"}"#)
            #expect(unknown.body["code"].string == "person", "\(unknown)")
            #expect(unknown.body["reason"].string?.contains("did you mean") == true, "\(unknown)")
            let refused = try await owner.command("erase", #"{"forget":"JÜRGEN"}"#)
            #expect(refused.body["reason"].string?.contains("[person.juergen]") == true, "\(refused)")
        }
    }

    @Test func `R8.60 WELCOME and persons have the display name beside the name`() async throws {
        try await withHub(Self.setting) { hub in
            let told = try await hub.peer().hello("script")["persons"].array
            #expect(told.map { $0["name"].string } == ["anna", "juergen"])
            #expect(told.map { $0["displayName"].string } == [nil, "Jürgen"])
            let persons = try await hub.client("owner").query("", want: "persons").body["persons"].array
            #expect(persons.contains { $0["name"].string == "juergen" && $0["displayName"].string == "Jürgen" })
        }
    }
}
