import Foundation
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// Days are those of the person, whatever the zone of the machine.
@Suite(.timeLimit(.minutes(2))) struct PersonDayTests {
    /// A hub on a machine in UTC.
    private func hub(_ zone: String, _ persons: String = "[person.anna]\n") async throws -> TestHub {
        try await TestHub("zone = \"\(zone)\"\n\(persons)", under: ["TZ=UTC"])
    }

    private func weight(_ start: String, _ kilograms: Double = 80) -> String {
        #"{"type":"weight","value":\#(kilograms),"unit":"kg","start":"\#(start)","key":"\#(start)"}"#
    }

    /// The times in the first column of a table.
    private func times(_ output: String) -> [String] {
        output.split(separator: "\n").dropFirst().map { String($0.prefix(26)) }
    }

    @Test func `every command takes and shows days and times in the person's zone`() async throws {
        let hub = try await hub("Europe/Berlin")
        let inside = ["2026-06-30T22:00:00Z", "2026-06-30T22:30:00Z", "2026-07-01T21:59:59Z"]
        try await blocking {
            try hub.give((["2026-06-30T21:59:59Z"] + inside + ["2026-07-01T22:00:00Z"]).map { self.weight($0) })
        }
        let day = ["--from", "2026-07-01", "--to", "2026-07-01"]
        let shown = ["2026-07-01 00:00:00 +02:00", "2026-07-01 00:30:00 +02:00", "2026-07-01 23:59:59 +02:00"]
        func run(_ words: [String]) async throws -> ChildProcess.Result { try await hub.run(words, under: ["TZ=UTC"]) }
        #expect(times(try await run(["samples", "weight"] + day).output) == shown)
        #expect(
            try await run(["samples", "--type", "weight", "--last", "1"]).output.contains("2026-07-02 00:00:00 +02:00"))
        let on = try await run(["stats", "weight", "--on", "2026-07-01"]).output
        #expect(on.contains("2026-07-01 00:00") && on.contains("  3\n"), "\(on)")
        let byDay = try await run(["stats", "weight", "--by", "day"] + day).output
        #expect(byDay.split(separator: "\n").count == 2 && byDay.contains("2026-07-01"), "\(byDay)")
        for format in ["csv", "json-lines", "fhir-lines", "open-mhealth"] {
            let export = try await run(["export", "-", "weight", "--format", format] + day)
            let lines = export.output.split(separator: "\n").count
            #expect(lines == (format == "csv" ? 4 : 3), "\(format): \(export)")
        }
        let sources = try await run(["sources"] + day).output
        #expect(sources.contains("2026-07-01  2026-07-01"), "\(sources)")
        for command in ["retract", "erase"] {
            let plan = try await run([command, "--type", "weight", "--dry-run"] + day).output
            #expect(times(plan).filter { $0.hasPrefix("2026") } == shown, "\(plan)")
        }
        let status = try await run(["trace", "1"]).output
        #expect(status.contains("2026-06-30 23:59:59 +02:00"), "\(status)")
        #expect(try await run(["samples", "weight", "--json", "--last", "1"]).output.contains("2026-07-01T22:00:00Z"))
    }

    @Test(arguments: ["9999-12-31", "0001-01-01"])
    func `a day outside the valid range is refused, with that range`(day: String) async throws {
        let hub = try await hub("UTC")
        for words in [["stats", "weight", "--on", day], ["samples", "--from", day, "--to", day]] {
            try await hub.expect(
                words, .usage,
                errors:
                    "no record has the time \(day): they go from 0001-01-02T00:00:00Z to 9999-12-30T23:59:59.999999Z")
        }
        for near in ["9999-12-30", "0001-01-03"] {
            #expect(try await hub.run(["stats", "weight", "--on", near]).code == 0)
        }
    }

    @Test(arguments: [
        // Days of 23 and 25 hours; a midnight that does not exist, and one that occurs twice.
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"),
        ("America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"),
    ]) func `an erased day is exactly the person's day, also when the clocks change`(
        zone: String, day: String, start: String, end: String
    ) async throws {
        let hub = try await hub(zone)
        func moment(_ text: String, _ second: Double) throws -> String {
            let date = try Date(text, strategy: .iso8601).addingTimeInterval(second)
            return date.formatted(.iso8601)
        }
        let kept = [try moment(start, -1), try moment(end, 0)]
        let gone = [try moment(start, 0), try moment(end, -1)]
        let days = try [-1, 0, 1].map { step in
            let date = try #require(SpokenDayText.adding(step, to: day))
            return
                #"{"kind":"day","type":"weight","value":80,"unit":"kg","series":"test-pub:mean","date":"\#(date)","method":"mean","basis":[],"person":"anna"}"#
        }
        try await blocking { try hub.give((kept + gone).map { self.weight($0) } + days) }
        let erased = try await hub.run(["erase", "--type", "weight", "--from", day, "--to", day, "--yes"])
        #expect(erased.output.hasPrefix("erased 3 records"), "\(erased)")
        let left = try await hub.run(["samples", "weight", "--json"]).output
        #expect(kept.allSatisfy(left.contains) && !gone.contains(where: left.contains), "\(left)")
        let standing = try await hub.run([
            "days", "weight", "--series", "test-pub:mean", "--from", "2026-01-01", "--to", "2026-12-31", "--json",
        ]).output
        #expect(standing.split(separator: "\n").count == 2 && !standing.contains("\"date\":\"\(day)\""), "\(standing)")
    }

    @Test
    func `a range over several people uses the zone of [hub], a row its person's zone, and mixed zones show offsets`()
        async throws
    {
        let hub = try await hub(
            "Europe/Berlin", "[person.anna]\nzone = \"Asia/Tokyo\"\n[person.ben]\nzone = \"America/New_York\"\n")
        for (person, at) in [
            ("anna", "2026-06-30T22:30:00Z"), ("ben", "2026-06-30T22:30:00Z"), ("ben", "2026-07-01T22:30:00Z"),
        ] {
            try await hub.succeed(["log", "weight", "80kg", "--person", person, "--at", at, "--yes"])
        }
        let day = ["--from", "2026-07-01", "--to", "2026-07-01"]
        let both = try await hub.run(["samples", "weight"] + day).output
        #expect(times(both).sorted() == ["2026-06-30 18:30:00 -04:00", "2026-07-01 07:30:00 +09:00"], "\(both)")
        let ben = try await hub.run(["samples", "weight", "--person", "ben"] + day).output
        #expect(times(ben) == ["2026-07-01 18:30:00 -04:00"], "\(ben)")
        let tokyo = try await hub.run(["stats", "weight", "--person", "anna", "--on", "2026-07-01"]).output
        #expect(tokyo.contains("2026-07-01 00:00  2026-07-02 00:00") && tokyo.contains("  1\n"), "\(tokyo)")
        let sources = try await hub.run(["sources", "weight"]).output
        #expect(sources.contains("2026-07-01 +09:00") && sources.contains("2026-06-30 -04:00"), "\(sources)")
    }

    @Test func `times without a person are in the zone of [hub]`()
        async throws
    {
        let hub = try await hub("Asia/Kolkata", "[person.anna]\nzone = \"Europe/Berlin\"\n")
        try await blocking { try hub.give([self.weight("2026-03-01T07:30:05+01:00")]) }
        let backup = try await hub.run(["backup", hub.folder.path + "/b.sqlite"], under: ["TZ=UTC"])
        #expect(backup.code == 0 && backup.output.contains(" +05:30, "), "\(backup)")
    }

    @Test
    func `a record from another zone is shown in the person's zone, and its trace has the local time`()
        async throws
    {
        let hub = try await hub("Europe/Berlin")
        try await blocking {
            try hub.give([
                #"{"type":"weight","value":80,"unit":"kg","start":"2026-07-01T18:30:00-04:00","zone":"America/New_York","key":"a"}"#
            ])
        }
        let shown = try await hub.run(["samples", "weight"]).output
        #expect(times(shown) == ["2026-07-02 00:30:00 +02:00"], "\(shown)")
        try await hub.expect(["trace", "1"], output: "local time 2026-07-01 18:30:00 -04:00 (America/New_York)")
        // An edit keeps the zone of the measurement, so the sample stays on its local day.
        try await hub.expect(
            ["edit", "1", "--at", "2026-07-02 00:45", "--yes"], output: "→ 2026-07-02 00:45:00 +02:00")
        #expect(try await hub.run(["samples", "--json"]).output.contains("\"start\":\"2026-07-01T18:45:00-04:00\""))
    }

    @Test func `an import counts days in the person's zone`() async throws {
        let hub = try await hub("Europe/Berlin")
        let path = try hub.folder.write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <HealthData locale="de_DE"><ExportDate value="2026-07-03 00:10:00 +0200"/>
            <Record type="HKQuantityTypeIdentifierBodyMass" sourceName="Scale" unit="kg" startDate="2016-01-01 00:00:00 +0100" endDate="2016-01-01 00:00:00 +0100" value="80"/>
            <Record type="HKQuantityTypeIdentifierBodyMass" sourceName="Scale" unit="kg" startDate="2026-07-01 00:30:00 +0200" endDate="2026-07-01 00:30:00 +0200" value="81"/>
            <ActivitySummary dateComponents="2020-02-01" activeEnergyBurned="400" activeEnergyBurnedGoal="500" activeEnergyBurnedUnit="kcal"/>
            </HealthData>
            """, to: "export.xml")
        let all = try await hub.run(["import", path, "--dry-run"], under: ["TZ=UTC"]).output
        #expect(all.contains("from 2016-01-01 to 2026-07-01, exported 2026-07-03"), "\(all)")
        #expect(all.contains("2016-01-01  2026-07-01") && all.contains("2020-02-01  2020-02-01"), "\(all)")
        let one = try await hub.run(
            ["import", path, "--from", "2026-07-01", "--to", "2026-07-01", "--dry-run"], under: ["TZ=UTC"]
        ).output
        #expect(one.contains("1 record from 2026-07-01 to 2026-07-01"), "\(one)")
    }

    @Test func `an import reports odd records with times in the person's zone`() async throws {
        let hub = try await hub("Europe/Berlin")
        let path = try hub.folder.write(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <HealthData locale="de_DE"><ExportDate value="2026-07-03 00:10:00 +0200"/>
            <Record type="HKQuantityTypeIdentifierBodyFatPercentage" sourceName="Scale" unit="%" startDate="2026-07-01 00:30:00 +0200" endDate="2026-07-01 00:30:00 +0200" value="97"/>
            <Record type="HKQuantityTypeIdentifierBodyMass" sourceName="Scale" unit="kg" startDate="2026-07-01 00:45:00 +0200" endDate="2026-07-01 00:40:00 +0200" value="81"/>
            </HealthData>
            """, to: "export.xml")
        let all = try await hub.run(["import", path, "--dry-run"], under: ["TZ=UTC"]).output
        #expect(all.contains("of Scale, 2026-07-01 00:30:00 +02:00, at byte "), "\(all)")
        #expect(all.contains("end 2026-07-01 00:40:00 +02:00"), "\(all)")
    }
}

/// Calculates with the dates of the tests.
private enum SpokenDayText {
    static func adding(_ days: Int, to text: String) -> String? {
        guard let date = try? Date(text + "T12:00:00Z", strategy: .iso8601) else { return nil }
        return String(date.addingTimeInterval(Double(days) * 86_400).formatted(.iso8601).prefix(10))
    }
}
