import HubSettings
import Samples
import Testing

@testable import HubCore

/// Assigning records to persons.
@Suite struct PersonRuleTests {
    private func rules(_ slots: [String: [String: Int]]) -> PersonRules {
        let sections = slots.keys.sorted().map { name in
            var section = PersonSection(name: name)
            section.slots = slots[name] ?? [:]
            return section
        }
        return PersonRules(sections, uids: Dictionary(uniqueKeysWithValues: slots.keys.map { ($0, "uid-\($0)") }))
    }

    private func name(_ rules: PersonRules, _ subject: Subject?) -> String? {
        rules.finding(of: subject, instance: "scale", allowed: nil).assignment.person?.name
    }

    @Test func `an unassigned slot does not mean the only person if that person has another slot`() {
        let rules = rules(["me": ["scale": 1]])
        #expect(name(rules, .slot(1)) == "me" && name(rules, nil) == "me")
        #expect(name(rules, .slot(2)) == nil)
    }

    @Test func `of several persons only the one with the slot is meant`() {
        let rules = rules(["me": ["scale": 1], "you": [:]])
        #expect(name(rules, .slot(1)) == "me" && name(rules, .slot(2)) == nil)
        #expect(name(rules, nil) == nil)
    }

    @Test func `R6.46 a day needs a person of hub.conf, and can be retracted for a former person`()
        async throws
    {
        let folder = try Folder()
        func day(_ person: String) -> String {
            #"{"kind":"day","type":"weight","value":70,"unit":"kg","series":"mean30","date":"2024-03-15","method":"mean","basis":[],"person":"\#(person)"}"#
        }
        func back(_ person: String) -> String {
            #"{"kind":"retraction","type":"weight","person":"\#(person)","series":"mean30","date":"2024-03-15"}"#
        }
        var setting = Setting()
        setting.persons = ["me", "carl", "ben"]
        try await withHub(setting, in: folder) { hub in
            let script = try await hub.client("filler", plugin: "gap-filler")
            #expect(
                try await script.give([day("carl"), day("ben"), day("eve")]).results == ["stored", "stored", "person"])
        }
        setting.persons = ["me"]
        var narrow = PluginInstance(name: "narrow")
        narrow.persons = .only(["me"])
        setting.plugins = [narrow]
        try await withHub(setting, in: folder) { hub in
            let script = try await hub.client("filler", plugin: "gap-filler")
            #expect(try await hub.client("narrow").give([back("carl")]).results == ["person"])
            #expect(
                try await script.give([day("carl"), back("carl"), back("ben"), back("eve")]).results
                    == ["person", "stored", "stored", "person"])
            let found = try await hub.client("owner").ask("QUERY", #"{"id":1,"kinds":["day"]}"#)
            #expect(found.body["records"].array.isEmpty, "\(found)")
        }
    }
}
