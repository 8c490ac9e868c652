import HubSettings
import Samples
import Testing

/// `[retention.NAME]`: a rule with a mistake is not applied at all.
@Suite struct RetentionTests {
    @Test func `a rule is read, and a file without rules keeps everything`() throws {
        #expect(try #require(load("[person.a]\n").configuration).retention == [])
        let loaded = load(
            "[plugin.watch]\nenabled = false\n[retention.heart]\ntypes = ['heartRate', 'x.acme.glow']\nsources = ['watch']\nthin_after_days = 30\nremove_after_days = 3650\n[retention.old]\ntypes = ['bodyMass']\nremove_after_days = 9\n"
        )
        #expect(loaded.lines == [])
        #expect(
            loaded.configuration?.retention == [
                RetentionSection(
                    name: "heart", types: [try TypeID("heartRate"), try TypeID("x.acme.glow")], sources: ["watch"],
                    thinAfterDays: 30, removeAfterDays: 3_650),
                RetentionSection(name: "old", types: [try TypeID("weight")], removeAfterDays: 9),
            ])
    }

    @Test(arguments: [
        ("types = ['heartRate']", "has no effect; write thin_after_days or remove_after_days"),
        ("remove_after_days = 9", "types: missing, and needed"),
        ("types = []\nremove_after_days = 9", "types: expected at least one type"),
        (
            "types = ['hartRate']\nremove_after_days = 9",
            "types = \"hartRate\": there is no such type; did you mean heartRate?"
        ),
        (
            "types = ['heartRate']\nremove_after_days = 0",
            "remove_after_days = 0: expected a whole number from 1 to 36500"
        ),
        (
            "types = ['heartRate']\nthin_after_days = 9\nremove_after_days = 9",
            "thin_after_days = 9: expected fewer days than remove_after_days"
        ),
        ("types = ['workout']\nthin_after_days = 9", "thin_after_days: workout has no quantities"),
        ("types = ['heartRate']\nthin_after = 9", "thin_after: "),
    ]) func `a mistake in a rule is reported at its place`(_ rule: String, _ complaint: String) {
        let loaded = load("[retention.r]\n\(rule)\n")
        #expect(loaded.configuration == nil)
        #expect(loaded.lines.contains { $0.contains("[retention.r]") && $0.contains(complaint) }, "\(loaded.lines)")
    }

    @Test func `two rules for the same records are reported, and rules for separate records are not`() throws {
        func lines(_ first: String, _ second: String) -> [String] {
            load(
                "[plugin.watch]\nenabled = false\n[plugin.phone]\nenabled = false\n"
                    + "[retention.a]\nremove_after_days = 9\n\(first)\n[retention.b]\nremove_after_days = 9\n\(second)\n"
            ).lines
        }
        #expect(lines("types = ['weight']", "types = ['height']") == [])
        #expect(lines("types = ['weight']\nsources = ['watch']", "types = ['weight']\nsources = ['phone']") == [])
        #expect(
            lines("types = ['weight', 'height']", "types = ['bodyMass']\nsources = ['phone']") == [
                "hub.conf:8: warning: [retention.b]: [retention.a] is for weight from phone too: both are followed, that one first"
            ])
        #expect(lines("types = ['weight']", "types = ['weight']").count == 1)
    }

    @Test func `a source that no plugin has gives a warning with the probably intended name`() throws {
        let loaded = load(
            "[plugin.my-watch]\nkind = 'watch'\nenabled = false\n[retention.r]\ntypes = ['weight']\nsources = ['wacth', 'watch']\nremove_after_days = 9\n"
        )
        #expect(loaded.configuration != nil)
        #expect(loaded.lines.count == 1)
        #expect(
            loaded.lines.first?.hasPrefix(
                "hub.conf:6: warning: [retention.r] sources = \"wacth\": no plugin of this file is of that kind")
                == true)
        #expect(loaded.lines.first?.hasSuffix("; did you mean watch?") == true)
    }

    @Test func `new and changed rules are reported as changes, and removed ones are not`() throws {
        func configuration(_ text: String) throws -> HubConfiguration { try #require(load(text).configuration) }
        let one = try configuration("[retention.a]\ntypes = ['weight']\nremove_after_days = 9\n")
        let other = try configuration("[retention.a]\ntypes = ['weight']\nremove_after_days = 8\n")
        #expect(ConfigurationPlan(from: one, to: one).retentionChanges == [])
        #expect(ConfigurationPlan(from: one, to: other).retentionChanges == ["a"])
        #expect(ConfigurationPlan(from: one, to: try configuration("[person.a]\n")).retentionChanges == [])
    }
}
