import Foundation
import HubClient
import HubProcess
import Testing

/// Commands count and show an event from several sources once.
@Suite(.timeLimit(.minutes(2))) struct MirrorCommandTests {
    private func record(_ members: String, _ key: String, _ start: String, _ end: String? = nil, device: String)
        -> String
    {
        let end = end.map { #","end":"2026-11-20T\#($0):00+01:00""# } ?? ""
        return #"{\#(members),"start":"2026-11-20T\#(start):00+01:00"\#(end),"key":"\#(key)","#
            + #""source":{"device":"\#(device)"}}"#
    }

    private func water(_ key: String, _ start: String, _ device: String) -> String {
        record(#""type":"dietaryWater","value":250,"unit":"mL""#, key, start, device: device)
    }

    /// Four glasses, steps, a night, a workout and its energy, each from two sources: a push, and an export of the same watch
    /// under another name.
    private func hub() async throws -> TestHub {
        let hub = try await TestHub("[person.anna]\nzone = \"Europe/Berlin\"\n")
        var records: [String] = []
        for device in ["push", "export"] {
            for hour in 8...11 { records.append(water("w\(hour)", "\(hour < 10 ? "0" : "")\(hour):00", device)) }
            records.append(
                record(
                    #""type":"stepCount","value":600,"unit":"count""#, "s", "08:00", device == "push" ? nil : "08:10",
                    device: device))
            records.append(
                record(#""type":"sleepAnalysis","value":"asleepCore""#, "n", "00:30", "06:30", device: device))
            records.append(record(#""type":"workout","value":"running""#, "r", "09:00", "09:30", device: device))
            records.append(
                record(#""type":"activeEnergyBurned","value":300,"unit":"kcal""#, "e", "09:00", "09:30", device: device)
            )
        }
        // Two different glasses from one source.
        records += [water("x", "12:00", "export"), water("y", "12:00", "export")]
        try hub.give(records)
        return hub
    }

    private func lines(_ hub: TestHub, _ arguments: String...) async throws -> [String] {
        let result = try await hub.succeed(arguments)
        return result.output.split(separator: "\n").map(String.init)
    }

    @Test
    func
        `R8.191 an event from two sources counts once in statistics, activity and lists, and trace names the one that counts`()
        async throws
    {
        let hub = try await hub()
        let water = try await lines(hub, "stats", "dietaryWater", "--by", "day", "--json").joined()
        #expect(water.contains(#""sum":1500"#), "\(water)")
        let sources = try await lines(hub, "stats", "dietaryWater", "--per-source", "--json").joined()
        #expect(sources.contains(#""sum":1000"#) && sources.contains(#""sum":500"#), "\(sources)")
        let steps = try await lines(hub, "stats", "stepCount", "--by", "day", "--json").joined()
        #expect(steps.contains(#""sum":600"#), "\(steps)")
        let rings = try await lines(hub, "activity", "--from", "2026-11-20", "--to", "2026-11-20", "--json").joined()
        #expect(rings.contains(#""value":300"#), "\(rings)")

        let shown = try await hub.run(["samples", "workout", "sleepAnalysis"])
        #expect(shown.output.split(separator: "\n").count == 3, "\(shown.output)")
        #expect(shown.errors.contains("2 records are not shown"), "\(shown.errors)")
        #expect(try await lines(hub, "samples", "workout", "sleepAnalysis", "--mirrors").count == 5)
        let last = try await lines(hub, "samples", "dietaryWater", "--last", "3")
        #expect(last.count == 4 && last[1].contains("11:00"), "\(last)")
        let marked = try await lines(hub, "samples", "workout", "--json")
        #expect(marked.count == 2 && marked[0].contains(#""mirrors":[15]"#) && marked[1].contains(#""mirrors":[7]"#))

        let first = try await lines(hub, "trace", "7")
        #expect(
            first.contains("counts     yes: 15 is the same event, but test-pub/push comes first (first record)"),
            "\(first)")
        let second = try await lines(hub, "trace", "15")
        #expect(
            second.contains("counts     no: the same event as 7 by test-pub/push, which comes first (first record)"),
            "\(second)")
        // If the counting record is retracted, its mirror counts.
        _ = try await hub.run(["retract", "1", "2"])
        let after = try await lines(hub, "stats", "dietaryWater", "--json").joined()
        #expect(after.contains(#""sum":1500"#), "\(after)")
    }

    @Test func `a command that removes a record by number names the other records of its event and keeps them`()
        async throws
    {
        let hub = try await hub()
        let other = "the same by another source is 15, and stays"
        for command in ["erase", "retract"] {
            #expect(try await lines(hub, command, "7", "--dry-run").contains(other), "\(command)")
            #expect(!(try await lines(hub, command, "7", "15", "--dry-run").contains { $0.hasPrefix("the same by") }))
        }
        let done = try await hub.run(["retract", "7", "--yes"])
        #expect(done.code == 0 && done.errors.contains(other), "\(done)")
    }

    @Test func `R8.192 lossless exports contain both records of an event, marked, and an import ignores the marks`()
        async throws
    {
        let hub = try await hub()
        let folder = try TemporaryFolder()
        let file = folder.path + "/all.jsonl"
        #expect(try await hub.run(["export", file, "--type", "workout"]).code == 0)
        let exported = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        #expect(exported.count == 2 && exported.allSatisfy { $0.contains(#""mirrors":true"#) }, "\(exported)")
        try await hub.succeed(["import", file])
        let database = folder.path + "/all.sqlite"
        #expect(try await hub.run(["export", database, "--type", "dietaryWater"]).code == 0)
        let count = try await ChildProcess(
            "/usr/bin/env",
            [
                "python3", "-c",
                "import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT sum(mirrored), count(*) FROM records').fetchone())",
                database,
            ]
        ).result()
        #expect(count.output.contains("(8, 10)"), "\(count)")
    }
}
