import Foundation
import GRDB
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// `hub export` and `hub import` between hubs in other processes.
@Suite struct ExportTests {
    @Test func `an export that another hub imports and exports again is the same file, byte for byte`() async throws {
        let first = try await ExportScene()
        let lines = try await first.export("all.jsonl")
        #expect(lines.split(separator: "\n").count == 2 * 49 + 1)
        #expect(!lines.contains("\"number\":") && !lines.contains("personId"))
        let second = try await ExportScene(isFilled: false)
        let given = try await second.hub.succeed(["import", first.path("all.jsonl")])
        #expect(given.errors.hasPrefix("99 lines: 99 stored, 0 there already, 0 refused\n"))
        #expect(try await second.export("again.jsonl") == lines)
        // A second import adds nothing, and reports the numbers of the first hub next to those of the second.
        let numbered = try await first.export("numbered.jsonl", ["--numbers"])
        #expect(numbered.contains("\"number\":"))
        let twice = try await second.hub.run(["import", first.path("numbered.jsonl"), "--json"])
        let told = twice.output.split(separator: "\n")
        #expect(
            told.count == 99 && told.allSatisfy { $0.contains(#""result":"duplicate""#) && $0.contains(#""was":"#) })
        #expect(try await second.export("third.jsonl") == lines)
    }

    @Test func `a guest's reading remains a guest's through export and import, with or without numbers`()
        async throws
    {
        let first = try await ExportScene()
        let before = try await first.export("before.jsonl")
        #expect(!before.contains("unassigned"))
        let numbers = try await first.hub.run(["samples", "weight", "--person", "anna", "--last", "3", "--json"])
            .output.matches(of: /"number":([0-9]+)/).map { String($0.output.1) }
        _ = try await first.hub.run(["assign"] + numbers.prefix(2) + ["--guest", "--alone"])
        _ = try await first.hub.run(["assign", numbers[2], "--nobody", "--reason", "who?", "--alone"])
        let lines = try await first.export("all.jsonl")
        #expect(lines.matches(of: /"person":null,"unassigned":"guest"/).count == 2)
        #expect(!lines.contains("who?") && lines.matches(of: /"person":null/).count == 3)
        _ = try await first.export("numbered.jsonl", ["--numbers"])
        for name in ["all.jsonl", "numbered.jsonl"] {
            let second = try await ExportScene(isFilled: false)
            try await second.hub.succeed(["import", first.path(name)])
            #expect(try await second.export("again.jsonl") == lines)
            // An import does not undo decisions that were made here since the last one.
            let guests = try await second.hub.run(["samples", "--guest", "--json"]).output
                .matches(of: /"number":([0-9]+)/).map { String($0.output.1) }
            try #require(guests.count == 2)
            _ = try await second.hub.run(["assign", guests[0], "--to", "ben", "--alone"])
            _ = try await second.hub.run(["import", first.path("before.jsonl")])
            #expect(
                try await second.hub.run(["samples", "--guest", "--json"]).output.contains(#""number":\#(guests[1]),"#))
            #expect(try await second.hub.run(["trace", guests[0]]).output.contains("ben"))
        }
    }

    @Test func `a dry run of an import shows what the file contains and how much is new, and stores nothing`()
        async throws
    {
        let first = try await ExportScene()
        _ = try await first.export("all.jsonl")
        let second = try await ExportScene(isFilled: false)
        let asked = try await second.hub.run(["import", first.path("all.jsonl"), "--dry-run"])
        #expect(asked.output.contains("99 records, 0 days, from 2026-01-31 to 2026-02-20\n0 of them the hub has\n"))
        #expect(asked.output.contains("  of hand: 1\n") && asked.output.contains("  whose: ben, 1\n"))
        #expect(asked.errors == "nothing was stored\n")
        try await first.hub.expect(
            ["import", first.path("all.jsonl"), "--dry-run"], output: "99 of them the hub has\n")
    }

    @Test func `a file with people whom the hub does not know is refused as a whole, with the sections to add`()
        async throws
    {
        let first = try await ExportScene()
        _ = try await first.export("all.jsonl")
        let stranger = try await TestHub("[person.me]\n")
        let given = try await stranger.run(["import", first.path("all.jsonl")])
        #expect(given.code == HubExit.usage.rawValue)
        #expect(given.errors.contains("[person.anna], [person.ben]"))
        #expect(try await stranger.run(["samples", "--json"]).output.isEmpty)
    }

    @Test func `an invalid line is reported with its number, and all other lines are stored`() async throws {
        let scene = try await ExportScene(isFilled: false)
        let weight =
            #"{"kind":"quantity","type":"weight","value":72,"unit":"kg","start":"2026-02-01T07:00:00Z","person":"anna","source":{"plugin":"kitchen"},"key":"a"}"#
        let fat = weight.replacing("72", with: "72000").replacing(#""key":"a""#, with: #""key":"b""#)
        let gone =
            #"{"kind":"retraction","type":"weight","person":"anna","source":{"plugin":"kitchen"},"key":"c","by":"person"}"#
        let long = weight.replacing("kitchen", with: String(repeating: "k", count: 200_000))
        let text = [weight, "{broken", fat, #"{"kind":"quantity"}"#, "", gone, long].joined(separator: "\n")
        try Data(text.utf8).write(to: URL(filePath: scene.path("some.jsonl")))
        let given = try await scene.hub.expect(["import", scene.path("some.jsonl")], .unhealthy)
        #expect(given.errors.hasPrefix("6 lines: 1 stored, 0 there already, 4 refused\n"))
        for reason in ["line 2: ", "line 3: value: ", "line 4: type: missing", "line 7: longer than"] {
            #expect(given.errors.contains(reason), "\(given.errors)")
        }
        #expect(given.errors.contains("1 line: a record was taken back in the other hub"))
    }

    @Test func `a record that a later line retracts is not imported, unless it returns after that`()
        async throws
    {
        let scene = try await ExportScene(isFilled: false)
        func record(_ key: String, _ value: Int) -> String {
            #"{"kind":"quantity","type":"weight","value":\#(value),"unit":"kg","start":"2026-02-01T07:00:00Z","person":"anna","source":{"plugin":"kitchen"},"key":"\#(key)"}"#
        }
        func gone(_ key: String) -> String {
            #"{"kind":"retraction","type":"weight","person":"anna","source":{"plugin":"kitchen"},"key":"\#(key)","by":"source"}"#
        }
        let lines = [record("a", 72), record("a", 73), record("b", 74), gone("a"), gone("b"), record("b", 75)]
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: scene.path("sink.jsonl")))
        try await scene.hub.expect(["import", scene.path("sink.jsonl"), "--dry-run"], output: "2 lines of retractions")
        let given = try await scene.hub.succeed(["import", scene.path("sink.jsonl")])
        #expect(given.errors.hasPrefix("6 lines: 1 stored, 0 there already, 0 refused\n"), "\(given.errors)")
        #expect(given.errors.contains("3 lines: not given, because a later line takes the record back"))
        #expect(try await scene.export("all.jsonl").contains(#""value":75"#))
    }

    @Test
    func `a file that is no export is refused before any record is stored, with the formats that can be imported`()
        async throws
    {
        let scene = try await ExportScene(isFilled: false)
        try Data("kind,type\nquantity,weight\n".utf8).write(to: URL(filePath: scene.path("all.csv")))
        try await scene.hub.expect(
            ["import", scene.path("all.csv")], .usage,
            errors: "not one line is a record of a hub (line 1: no JSON object); nothing was stored")
    }

    @Test func `an SQLite file is sorted by time and has dates and times in the zone of the measurement`()
        async throws
    {
        let scene = try await ExportScene(isFilled: false)
        func record(_ start: String, _ zone: String?) -> String {
            let zone = zone.map { #","zone":"\#($0)""# } ?? ""
            return
                #"{"kind":"quantity","type":"weight","value":72,"unit":"kg","start":"\#(start)"\#(zone),"person":"anna","source":{"plugin":"kitchen"},"key":"\#(start)"}"#
        }
        let lines = [
            record("2026-03-10T22:30:00Z", "Asia/Tokyo"), record("2026-03-10T22:45:00Z", nil),
            record("2026-03-11T00:15:00+02:00", nil),
        ]
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: scene.path("some.jsonl")))
        #expect(try await scene.hub.run(["import", scene.path("some.jsonl")]).code == 0)
        #expect(try await scene.hub.run(["export", scene.path("all.sqlite"), "--person", "anna"]).code == 0)
        let queue = try DatabaseQueue(path: scene.path("all.sqlite"))
        let rows = try await queue.read { db in
            try Row.fetchAll(db, sql: "SELECT date || ' ' || time FROM weights").map { $0[0] as String }
        }
        // A workout entered by hand has its totals in its group.
        try await scene.hub.succeed([
            "log", "swim", "30min", "--energy", "300kcal", "--distance", "1km", "--person", "anna", "--at",
            "2026-03-12T08:00:00+01:00",
        ])
        #expect(try await scene.hub.run(["export", scene.path("b.sqlite"), "--person", "anna"]).code == 0)
        let swim = try await DatabaseQueue(path: scene.path("b.sqlite")).read { db in
            try Row.fetchAll(db, sql: "SELECT km, kcal FROM workouts").map { [$0[0] as Double?, $0[1]] }
        }
        #expect(swim == [[1, 300]])
        // A record without an offset has the zone of its person, Europe/Berlin.
        #expect(rows == ["2026-03-11 00:15", "2026-03-11 07:30", "2026-03-10 23:45"])
    }

    @Test func `a record corrected by hand is imported as its source's own value, and the import says so`() async throws
    {
        let first = try await ExportScene(isFilled: false)
        _ = try await first.hub.run(["log", "weight", "80kg", "--person", "ben", "--at", "2026-02-01T07:30:00+01:00"])
        _ = try await first.hub.run(["edit", "1", "81kg"])
        _ = try await first.export("all.jsonl")
        // In its first hub the import changes nothing, and the correction can still be undone.
        let back = try await first.hub.run(["import", first.path("all.jsonl"), "--json"])
        let lines = back.output.split(separator: "\n")
        #expect(back.code == 0 && lines.filter { $0.contains(#""result":"duplicate""#) }.count == 1, "\(back)")
        #expect(!(back.output + back.errors).contains("by hand"))
        // A second correction stays, too.
        _ = try await first.hub.run(["edit", "1", "82kg"])
        try await first.hub.expect(["import", first.path("all.jsonl")], errors: "this hub's version stays")
        #expect(try await first.export("c.jsonl").contains(#""value":82,"unit":"kg""#))
        #expect(try await first.hub.run(["edit", "1", "--undo", "--yes"]).output.contains("80"))
        _ = try await first.hub.run(["edit", "1", "81kg"])
        let second = try await ExportScene(isFilled: false)
        let given = try await second.hub.run(["import", first.path("all.jsonl")])
        #expect(given.errors.contains("1 line: a person had changed them by hand"))
        #expect(try await second.export("b.jsonl").contains(#""value":81,"unit":"kg""#))
    }

    @Test func `an exported blood pressure that a person has corrected is imported again as a whole group`()
        async throws
    {
        let scene = try await ExportScene(isFilled: false)
        _ = try await scene.hub.run(["log", "bp", "130/85", "--person", "ben", "--at", "2026-02-01T07:30:00+01:00"])
        #expect(try await scene.hub.run(["edit", "1", "131/86"]).code == 0)
        #expect(try await scene.hub.run(["samples", "bloodPressure"]).output.contains("131/86 mmHg"))
        _ = try await scene.export("all.jsonl")
        let back = try await scene.hub.run(["import", scene.path("all.jsonl")])
        #expect(
            back.code == 0 && (back.output + back.errors).contains("0 stored, 3 there already, 0 refused"), "\(back)")
        try await scene.hub.expect(["retract", "1", "--dry-run"], output: "131/86 mmHg")
    }

    @Test func `person, type, time and conditions select the records of the file`() async throws {
        let scene = try await ExportScene()
        func count(_ name: String, _ options: [String]) async throws -> Int {
            try await scene.export(name, options).split(separator: "\n").count
        }
        #expect(try await count("1.jsonl", ["--person", "ben"]) == 1)
        #expect(try await count("2.jsonl", ["--type", "bodyMass", "--person", "anna"]) == 16)
        #expect(try await count("3.jsonl", ["--type", "weight", "--from", "2026-02-02", "--to", "2026-02-02"]) == 4)
        #expect(try await count("4.jsonl", ["--type", "weight", "--where", "value > 79kg"]) == 1)
        #expect(try await count("5.csv", ["--source", "phone", "--columns", "type,value"]) == 50)
        let none = try await scene.hub.run(["export", scene.path("6.jsonl"), "--person", "carl"])
        #expect(none.code == HubExit.usage.rawValue && !FileManager.default.fileExists(atPath: scene.path("6.jsonl")))
    }

    @Test func `an exported file is private to its owner and does not overwrite another`() async throws {
        let scene = try await ExportScene(isFilled: false)
        _ = try await scene.export("all.jsonl")
        let attributes = try FileManager.default.attributesOfItem(atPath: scene.path("all.jsonl"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        try await scene.hub.expect(["export", scene.path("all.jsonl")], .usage, errors: "say --replace")
        #expect(try await scene.hub.run(["export", scene.path("all.jsonl"), "--replace"]).code == 0)
        try await scene.hub.expect(["export", scene.path("none/all.jsonl")], .system)
        let both = try await scene.hub.run(["export", scene.path("x.jsonl"), "--json"])
        #expect(both.output.contains(#""format":"json-lines","#) && both.output.contains(#""records":0"#))
        let names = try FileManager.default.contentsOfDirectory(atPath: scene.folder.path)
        #expect(!names.contains { $0.hasSuffix(".draft") })
    }

    @Test func `an export killed at any moment leaves no incomplete file under its name`() async throws {
        let scene = try await ExportScene()
        let whole = try await scene.export("whole.jsonl")
        for round in 1...12 {
            let child = try scene.hub.start(["export", scene.path("killed.jsonl"), "--replace"])
            try await Task.sleep(for: .milliseconds(round * 3))
            child.signal(SIGKILL)
            _ = await child.result()
            let left = try? String(contentsOfFile: scene.path("killed.jsonl"), encoding: .utf8)
            #expect(left == nil || left == whole)
        }
        // The next export removes the drafts of the killed ones.
        #expect(try await scene.export("killed.jsonl", ["--replace"]) == whole)
        let names = try FileManager.default.contentsOfDirectory(atPath: scene.folder.path)
        #expect(names.sorted() == ["killed.jsonl", "whole.jsonl"])
    }

    @Test func `after imports killed at any moment, a full import leaves each record once`() async throws {
        let first = try await ExportScene()
        let whole = try await first.export("all.jsonl")
        let second = try await ExportScene(isFilled: false)
        for round in 1...10 {
            let child = try second.hub.start(["import", first.path("all.jsonl")])
            try await Task.sleep(for: .milliseconds(round * 12))
            child.signal(SIGKILL)
            _ = await child.result()
        }
        #expect(try await second.hub.run(["import", first.path("all.jsonl")]).code == 0)
        #expect(try await second.export("again.jsonl") == whole)
    }

    @Test
    func `days keep their source through export and import, also those of retention, and are never among samples`()
        async throws
    {
        let scene = try await ExportScene(isFilled: false)
        let day =
            #"{"kind":"day","type":"weight","value":72,"unit":"kg","series":"mean30","date":"2024-03-15","method":"carried","observedOn":"2024-03-12","age":3,"basis":[],"person":"anna","source":{"plugin":"gap-filler"}}"#
        let kept =
            #"{"kind":"day","type":"stepCount","value":4200,"unit":"count","series":"kept.watch","date":"2024-03-14","method":"retention","basis":[],"person":"ben","source":{"plugin":"hub"},"metadata":{"count":2}}"#
        let lines = [kept, day].joined(separator: "\n") + "\n"
        try Data(lines.utf8).write(to: URL(filePath: scene.path("days.jsonl")))
        let given = try await scene.hub.run(["import", scene.path("days.jsonl")])
        #expect(given.errors.hasPrefix("2 lines: 2 stored, 0 there already, 0 refused\n"), "\(given.errors)")
        #expect(try await scene.export("again.jsonl", ["--days"]) == lines)
        #expect(try await scene.export("samples.jsonl").isEmpty)
        let numbered = day.replacing(#""basis":[]"#, with: #""basis":[12]"#).replacing("03-15", with: "03-16")
        try Data(numbered.replacing(#""age":3"#, with: #""age":4"#).utf8).write(
            to: URL(filePath: scene.path("n.jsonl")))
        let told = try await scene.hub.run(["import", scene.path("n.jsonl")])
        #expect(told.errors.contains("1 line: without the numbers of records of the other hub"), "\(told.errors)")
        try await scene.hub.expect(["export", scene.path("a.gpx"), "--days"], .usage)
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"), arguments: ["all.jsonl", "all.sqlite"])
    func `an export to a full disk is reported and leaves no file`(_ name: String) async throws {
        let scene = try await ExportScene()
        let disk = try SmallDisk(bytes: 16_384)
        let result = try await scene.hub.expect(["export", "\(disk.path)/\(name)"], .system)
        #expect(result.errors.contains("No space left") || result.errors.contains("full"), "\(result.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path).isEmpty)
    }

    @Test func `a type that a plugin had declared is imported once a person names its aggregation`() async throws {
        let scene = try await ExportScene(isFilled: false)
        let glow =
            #"{"kind":"quantity","type":"x.acme.glow","value":2,"unit":"lx","original":{"value":2000,"unit":"mlx"},"start":"2026-02-01T07:00:00Z","end":"2026-02-01T07:00:00Z","person":"anna","source":{"plugin":"lamp"},"key":"a","provenance":"measured"}"#
        try Data((glow + "\n").utf8).write(to: URL(filePath: scene.path("x.jsonl")))
        try await scene.hub.expect(
            ["import", scene.path("x.jsonl")], .usage, errors: "--declare x.acme.glow=discreteArithmetic")
        try await scene.hub.succeed(["import", scene.path("x.jsonl"), "--declare", "x.acme.glow=cumulative"])
        #expect(try await scene.export("again.jsonl") == glow + "\n")
        // A type that no registry knows is exported under its own name.
        #expect(try await scene.export("x.fhir.json").contains(#""code":{"text":"x.acme.glow"}"#))
    }
}
