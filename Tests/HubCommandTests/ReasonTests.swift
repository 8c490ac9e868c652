import Foundation
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// The explanations for empty results and for permanent removals.
@Suite struct ReasonTests {
    private static let rule = """
        [person.me]
        [retention.heart]
        types = ["heartRate"]
        thin_after_days = 30
        remove_after_days = 36500

        """

    private static let pulses = (1...2).map { number in
        #"{"type":"heartRate","value":6\#(number),"unit":"count/min","start":"2026-01-01T07:00:0\#(number)+01:00","key":"p\#(number)"}"#
    }

    @Test func `a retention rule is announced by check, confirmed by a person, and reported afterwards`() async throws {
        let hub = try await TestHub(Self.rule)
        let check = try await hub.run(["check"])
        #expect(
            check.output.hasPrefix(
                "retention heart: heartRate becomes a value a day 30 days after it ended, and is removed 36,500 days after it ended, for good\n"
            ))
        try hub.give(Self.pulses)
        try await hub.expect(["retention"], .usage, errors: "say --yes")
        #expect(try await hub.run(["samples", "--json"]).output.split(separator: "\n").count == 2)

        try hub.folder.write(hub.settings.replacing("= 30\n", with: "= 31\n"))
        let plan = try await hub.run(["apply", "--dry-run"])
        #expect(
            plan.output == """
                retention heart: 2 samples would be thinned, 0 records would be removed, for good: the hub does it within an hour of hub apply
                \(hub.configuration): no plugins

                """)

        let done = try await hub.run(["retention", "--yes"])
        #expect(done.output == "heart: 2 samples thinned, 0 records removed\n", "\(done.errors)")
        let gone = try await hub.run(["trace", "1"])
        #expect(gone.errors.contains("there is no record 1: it was erased, or thinned or removed by a rule"))
        let days = try await hub.run(["days", "heartRate", "--from", "2026-01-01", "--to", "2026-01-01"])
        #expect(days.output.contains("kept of 2 samples that were thinned"), "\(days.output)")
        let stats = try await hub.run(["stats", "heartRate", "--by", "month", "--from", "2025-12-01", "--csv"])
        #expect(
            stats.errors == """
                1 day from 2026-01-01 to 2026-01-01 does not count here, or not whole: samples were thinned to a value a day \
                ([retention.NAME] in hub.conf). hub days heartRate --person me --series kept.test-pub --from 2026-01-01 \
                --to 2026-01-01 shows them

                """)
        let document = try await hub.run(["stats", "heartRate", "--json"])
        let thinned = #""thinned":{"days":1,"first":"2026-01-01","last":"2026-01-01","series":["kept.test-pub"]}"#
        #expect(document.output.contains(thinned) && document.errors.isEmpty, "\(document.output)")
        let later = try await hub.run(["days", "heartRate", "--from", "2026-02-01", "--to", "2026-02-05"])
        #expect(
            later.errors
                == "no days from 2026-02-01 to 2026-02-05; there are some between 2026-01-01 and 2026-01-01: say --from and --to\n"
        )
    }

    @Test func `empty days explain why no plugin makes them, and name the series that exist`() async throws {
        let hub = try await TestHub(Self.rule)
        func said(_ arguments: String...) async throws -> String { try await hub.run(["days"] + arguments).errors }
        #expect(
            try await said("sleepAnalysis")
                == "no days: sleepAnalysis has no day values: it is not a quantity, and a day has one number\n")
        #expect(try await said("sleep") == said("sleepAnalysis"))
        #expect(try await said("x.foo.bar") == "no days: x.foo.bar has no day values: it is not a standard type\n")
        #expect(
            try await said("weight") == "no days, and no plugin makes any: enable [plugin.gap-filler] in hub.conf\n")
        try hub.give(Self.pulses)
        #expect(try await hub.run(["retention", "--yes"]).code == 0)
        #expect(
            try await said("heartRate", "--series", "median30").hasPrefix(
                "no days of the series median30; there are some of kept.test-pub: say --series, or have the gap-filler make others"
            ))
    }

    @Test func `for a plugin with errors in its section, commands name hub check`() async throws {
        let hub = try await TestHub("[person.me]\n[plugin.gap-filler]\nexecutable = 3\n")
        let reason = "gap-filler: its settings have errors: hub check lists them; then hub apply\n"
        for arguments in [["plugins"], ["do"], ["login"]] {
            let asked = try await hub.run(arguments + ["gap-filler"])
            #expect(asked.code != 0 && asked.errors.hasSuffix(reason), "\(arguments): \(asked.errors)")
        }
        #expect(try await hub.run(["days", "weight"]).errors == "no days: \(reason)")
        try await hub.expect(["plugins", "foo"], errors: "there is no plugin foo; hub.conf has none")
        let me = try await hub.run(["configure", "me", "locale=de_DE"])
        try await hub.succeed(["log", "run", "30min"])
        try await hub.expect(["edit", "1", "35min"], errors: "hub edit 1 --to WHEN moves its end")
        #expect(me.errors.contains("me is a person and no plugin; hub configure --person me"), "\(me.errors)")
    }

    @Test
    func `retracted records are listed with time, value and who retracted them, and without these after an erasure`()
        async throws
    {
        let hub = try await TestHub()
        try hub.give(CareTests.weights(1...3) + [#"{"kind":"retraction","key":"20260302"}"#])
        #expect(try await hub.run(["retract", "3", "--reason", "the dog", "--yes"]).code == 0)
        let listed = try await hub.run(["samples", "--retracted"])
        let lines = listed.output.split(separator: "\n")
        #expect(lines.count == 3, "\(listed.output)\(listed.errors)")
        #expect(lines[1].contains("kg (retracted by its source)") && lines[1].hasSuffix(" 2"))
        #expect(lines[2].contains("kg (retracted by a person: the dog)") && lines[2].hasSuffix(" 3"))
        #expect(lines[1].hasPrefix("2026-03-02 ") && lines[2].hasPrefix("2026-03-03 "), "\(lines)")
        #expect(try await hub.run(["samples", "weight", "--last", "5"]).output.split(separator: "\n").count == 2)
        #expect(try await hub.run(["erase", "3", "--yes"]).code == 0)
        let erased = try await hub.run(["samples", "--retracted"]).output
        #expect(erased.contains(" retracted by a person: erased") && !erased.contains("2026-03-03"), "\(erased)")
    }

    @Test func `a command to an unknown plugin is refused with the plugin's name`() async throws {
        let hub = try await TestHub()
        for arguments in [["do", "foo"], ["do", "foo", "bar"], ["refresh", "foo"]] {
            let asked = try await hub.expect(arguments, .usage)
            #expect(
                asked.errors
                    == "hub: there is no plugin foo; hub plugins lists those of hub.conf, hub setup adds one\n",
                "\(arguments)")
        }
    }
}
