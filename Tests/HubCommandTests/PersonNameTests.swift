import Foundation
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// Commands accept people's names in any case, and their display names.
@Suite(.timeLimit(.minutes(3))) struct PersonNameTests {
    private static let persons = """
        [person.anna]
        [person.juergen]
        display_name = "Jürgen"
        zone = "Asia/Tokyo"

        """

    @Test func `R8.63 every command accepts a person's name in any case, and the stored name stays`() async throws {
        let hub = try await TestHub(Self.persons)
        for (name, value) in [("Anna", "61kg"), ("JUERGEN", "82kg"), ("jürgen", "83kg")] {
            try await hub.succeed(["log", "weight", value, "--person", name])
        }
        func json(_ words: [String]) async throws -> [String] {
            let result = try await hub.succeed(words)
            return result.output.split(separator: "\n").map(String.init)
        }
        let all = try await json(["samples", "weight", "--json"])
        #expect(all.count == 3 && all.filter { $0.contains(#""person":"juergen""#) }.count == 2, "\(all)")
        #expect(!all.joined().contains("Jürgen"), "a record has the name from hub.conf, not the display name")
        for name in ["anna", "Anna", "ANNA"] {
            #expect(try await json(["samples", "weight", "--json", "--person", name]).count == 1)
        }
        for name in ["juergen", "Juergen", "Jürgen", "JÜRGEN"] {
            #expect(try await json(["samples", "weight", "--json", "--person", name]).count == 2)
            #expect(try await json(["stats", "weight", "--json", "--person", name]).joined().contains(#""juergen""#))
            #expect(try await json(["activity", "--person", name]) == [])
            #expect(try await json(["days", "weight", "--person", name]) == [])
            #expect(try await json(["sources", "--person", name]).count == 2)
            #expect(try await json(["profile", name, "--json"]).joined().contains(#""person":"juergen""#))
            #expect(try await json(["export", "--format", "json-lines", "--person", name]).count == 2)
            for command in ["retract", "erase"] {
                let plan = try await json([command, "--person", name, "--dry-run"]).joined(separator: "\n")
                #expect(plan.contains("83") && plan.contains("82") && !plan.contains("61"), "\(plan)")
            }
        }
        let assigned = try await json(["assign", "1", "--to", "JÜRGEN", "--yes"]).joined()
        #expect(assigned.contains("61") && assigned.contains("Jürgen's"), "\(assigned)")
        #expect(try await json(["samples", "--json", "--person", "juergen"]).count == 3)
        #expect(try await json(["configure", "--person", "ANNA", "unit=lb"]).joined().contains("[person.anna]"))
        #expect(try await json(["configure", "--person", "Jürgen", "unit=st"]).joined().contains("[person.juergen]"))
        let text = try hub.settings
        #expect(text.split(separator: "[person.").count == 3, "\(text)")
    }

    @Test func `a day with --person in another case is in that person's zone`() async throws {
        let hub = try await TestHub(Self.persons)
        for time in ["2026-07-01T15:00:00Z", "2026-07-01T14:59:59Z"] {
            try await hub.succeed(["log", "weight", "80kg", "--at", time, "--person", "juergen", "--yes"])
        }
        for name in ["juergen", "JUERGEN", "jürgen"] {
            let day = try await hub.run(["samples", "weight", "--person", name, "--from", "2026-07-02", "--json"])
            #expect(day.output.split(separator: "\n").count == 1, "midnight in Tokyo is 15:00 UTC: \(day)")
        }
    }

    @Test func `R8.60 tables show the display name in any script, and status shows both names`() async throws {
        let hub = try await TestHub(Self.persons)
        for name in ["anna", "juergen"] {
            #expect(try await hub.run(["log", "weight", "80kg", "--person", name]).code == 0)
        }
        for words in [["samples"], ["sources"], ["profile"], ["trace", "2"], ["retract", "2", "--dry-run"]] {
            let table = try await hub.run(words)
            #expect(table.output.contains("Jürgen"), "\(words): \(table)")
        }
        try await hub.expect(["status"], output: "people   anna, Jürgen (juergen)\n")
        let answer = try await hub.run(["status", "--json"]).output
        #expect(answer.contains(#""displayName":"Jürgen""#) && answer.contains(#""name":"juergen""#), "\(answer)")
    }

    @Test func `an unknown name is refused with the names that exist`() async throws {
        let hub = try await TestHub(Self.persons)
        for words in [
            ["log", "weight", "80kg", "--person"], ["samples", "--person"], ["stats", "weight", "--person"],
            ["profile"], ["activity", "--person"], ["assign", "1", "--to"], ["erase", "--dry-run", "--person"],
        ] {
            let result = try await hub.run(words + ["Jurgen"])
            #expect(result.code != 0 && !result.errors.isEmpty, "\(result)")
            #expect(result.errors.contains("Jürgen") || result.errors.contains("juergen"), "\(result)")
        }
        try await hub.expect(["log", "weight", "80kg"], errors: "name one with --person: anna, Jürgen (juergen)")
        let new = try await hub.run(["configure", "--person", "Zoë", "unit=kg"])
        #expect(new.code != 0 && new.errors.contains(#"call the section zoe, with display_name = "Zoë""#), "\(new)")
    }

    @Test func `configure sets a display name, and an imported line finds its person in another case`() async throws {
        let hub = try await TestHub("[person.ben]\n[person.anna]\n")
        try await hub.succeed(["configure", "--person", "anna", "display_name=Änne"])
        #expect(try await hub.run(["configure", "--person", "ben", "display_name=ÄNNE"]).code == 65)
        let file = hub.folder.path + "/other.jsonl"
        let line =
            #"{"kind":"quantity","type":"weight","value":80,"unit":"kg","start":"2026-03-01T06:00:00Z","person":"Anna","source":{"plugin":"scale"},"key":"a"}"#
        let day =
            #"{"kind":"day","type":"weight","value":80,"unit":"kg","series":"scale:s","date":"2026-03-01","method":"mean","basis":[],"person":"ÄNNE","source":{"plugin":"scale"}}"#
        try (line + "\n" + day + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let done = try await hub.succeed(["import", file, "--yes"])
        let stored = try await hub.run(["samples", "--person", "änne", "--json"]).output
        #expect(stored.contains(#""person":"anna""#), "\(stored) \(done)")
        let days = try await hub.run(["days", "weight", "--person", "änne", "--from", "2026-03-01", "--json"]).output
        #expect(days.contains(#""person":"anna""#), "\(days) \(done)")
    }
}
