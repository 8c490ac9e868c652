import Foundation
import HealthText
import HubClient
import HubProcess
import HubWire
import Testing

@testable import HubCommand

/// Words as people type them.
@Suite(.timeLimit(.minutes(2))) struct TypedWordsTests {
    @Test func `commands accept everyday names of types, days, and numbers without a unit`() async throws {
        let hub = try await TestHub("zone = \"Europe/Berlin\"\n[person.anna]\nunit = \"lb\"\n")
        for (words, shown) in [
            (["weight", "180"], "180.0 lb"),
            (["body fat", "24.5", "--at", "18.10.2020"], "2020-10-18 12:00:00 +02:00"),
            (["steps", "5000", "--at", "2 days ago 7:30"], "5,000"), (["pulse", "62"], "62"),
            (["body", "fat", "24.5", "--at", "8am yesterday"], "24.5 %"),
            (["sleep", "--from", "2020-01-01 23:10", "--to", "2020-01-02 7:05"], "Asleep"),
        ] {
            let log = try await hub.run(["log"] + words + ["--yes"])
            #expect(log.code == 0 && log.output.contains(shown), "\(words): \(log)")
        }
        let fat = try await hub.run(["samples", "body-fat", "--json"]).output
        #expect(fat.contains(#""value":0.245,"unit":"%""#), "\(fat)")
        try await hub.expect(["log", "body fat", "0.245", "--yes"], .usage, errors: "can be 0.245% or 24.5%")
        // A time of day means the last one before the end, whatever the time is now.
        let night = try await hub.succeed(["log", "sleep", "--from", "23:10", "--to", "yesterday 7:05", "--json"])
        let times = night.output.matches(of: #/"(?:start|end)":"[0-9-]+T([0-9:]+)/#).map { String($0.1) }
        #expect(Set(times) == ["23:10:00", "07:05:00"], "\(night)")
        for words in [["sleep"], ["sleep", "7h30"], ["sleep", "23:10", "6:45"], ["sleep", "--at", "7:05"]] {
            try await hub.expect(["log"] + words, .usage, errors: "sleep has a beginning and an end")
        }
        let late = try await hub.run(["log", "weight", "82.1", "yesterday", "8am"])
        let advice = "the time goes behind --at: hub log weight 82.1 --at 'yesterday 8am'\n"
        #expect(late.code == 64 && late.errors.contains(advice), "\(late)")
        try await hub.expect(["stats", "steps", "--on", "2 days ago"], output: "5,000")
        try await hub.expect(["edit", "1", "--at", "yesterday", "--yes"], .usage, errors: "add the time of day")
        try await hub.expect(["profile", "anna", "--birth-date", "18.10.1974"], output: "1974-10-18")
    }

    private static func links(_ schemes: String) -> TextRule {
        TextRule(pattern: "(\(schemes))://.+", expected: "a link", example: "tcp://localhost:1")
    }

    @Test func `hub types lists all types with their units and everyday names`() async throws {
        func types(_ words: String...) async throws -> ChildProcess.Result {
            try await ChildProcess(Programs.path("hub"), ["types"] + words).result()
        }
        let all = try await types().output.split(separator: "\n")
        #expect(all.count > 200 && all[0].hasPrefix("TYPE "))
        #expect(all.contains { $0.hasPrefix("weight ") && $0.contains("kg, lb, st") && $0.hasSuffix("body weight") })
        let sleep = try await types("sleep").output
        #expect(sleep.contains("sleepAnalysis is one of inBed, "), "\(sleep)")
        #expect(try await types("Vitamin C").output.split(separator: "\n").count == 2)
        let json = try await types("body fat", "--json").output
        #expect(
            json
                == #"{"alsoCalled":["body fat","fat"],"kind":"quantity","name":"Body fat percentage","type":"bodyFatPercentage","unit":"%","units":["%"],"values":[]}"#
                + "\n")
        let none = try await types("wieght")
        #expect(none.code == 1 && none.errors.contains("did you mean weight? hub types lists all"), "\(none)")
    }

    @Test(arguments: [
        ("Berlin", SettingType.timeZone, "Europe/Berlin"), ("new york", .timeZone, "America/New_York"),
        ("europe/berlin", .timeZone, "Europe/Berlin"), ("Atlantis", .timeZone, "Atlantis"),
        ("18.10.1974", .date, "1974-10-18"), ("1974-10-18", .date, "1974-10-18"),
        ("00-4d-32-1a-2b-3c", .string(links("rfcomm|tcp")), "rfcomm://00:4D:32:1A:2B:3C"),
        ("00:4D:32:1A:2B:3C", .string(links("hsl|tcp")), "00:4D:32:1A:2B:3C"),
    ]) func `a setting accepts common ways to write its value`(text: String, type: SettingType, expected: String) {
        #expect(SettingAnswer.value(text, type) == .string(expected))
    }

    @Test(arguments: [
        ("82 kg", "kg", 82.0), ("82", "kg", 82), ("82,5kg", "kg", 82.5), ("100lb", "kg", 45.359237),
        ("182 cm", "cm", 182), ("1.82 m", "cm", 182),
    ]) func `a number may have its unit`(text: String, unit: String, expected: Double) {
        #expect(SettingAnswer.value(text, .number(Bounds(1, 500)), unit: unit) == .number(expected))
    }

    @Test func `a text that is neither a zone nor a number stays as typed and is refused`()
        async throws
    {
        #expect(SettingAnswer.value("82 cm", .number(Bounds(1, 500)), unit: "kg") == .string("82 cm"))
        let hub = try await TestHub("[person.anna]\n")
        let zone = try await hub.run(["configure", "--person", "anna", "zone=berlin", "expected_weight=82 kg"])
        #expect(zone.code == 0 && zone.output.contains("zone is Europe/Berlin"), "\(zone)")
        #expect(zone.output.contains("expected_weight is 82;"), "\(zone)")
        let wrong = try await hub.run(["stats", "weight", "--by", "day", "--zone", "Atlantis"])
        #expect(wrong.code == 64 && wrong.errors.contains("'Atlantis' is not a time zone"), "\(wrong)")
    }
}
