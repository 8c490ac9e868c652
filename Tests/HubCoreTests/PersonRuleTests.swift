import HubSettings
import Samples
import Testing

@testable import HubCore

/// Whose body a record is of.
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
        rules.assignment(of: subject, instance: "scale", allowed: nil).person?.name
    }

    @Test func `a slot that belongs to no person is not the one person's who has another`() {
        let rules = rules(["me": ["scale": 1]])
        #expect(name(rules, .slot(1)) == "me" && name(rules, nil) == "me")
        #expect(name(rules, .slot(2)) == nil)
    }

    @Test func `of several persons only the one whose slot it is can be meant`() {
        let rules = rules(["me": ["scale": 1], "you": [:]])
        #expect(name(rules, .slot(1)) == "me" && name(rules, .slot(2)) == nil)
        #expect(name(rules, nil) == nil)
    }
}
