import Foundation
import HubClient
import HubProcess
import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCommand

/// `hub stats` as text, CSV and JSON.
@Suite(.timeLimit(.minutes(1))) struct StatsTests {
    private func steps(_ key: String, _ value: Int, _ start: String, _ end: String) -> String {
        #"{"type":"stepCount","value":\#(value),"unit":"count","start":"\#(start)","end":"\#(end)","key":"\#(key)","subject":{"name":"anna"}}"#
    }

    private func statistics(_ intervals: String) throws -> StatisticsPage {
        var answer = StatsAnswer()
        let text = #"{"type":"stepCount","person":"anna","unit":"count","intervals":[\#(intervals)],"next":"7"}"#
        #expect(try answer.add(try #require(RawJSON(text))) == "7")
        let last = #"{"type":"stepCount","person":"anna","unit":"count","intervals":[]}"#
        #expect(try answer.add(try #require(RawJSON(last))) == nil)
        return try answer.statistics()
    }

    private static let days = """
        {"from":"2026-03-28T00:00:00+01:00","to":"2026-03-29T00:00:00+01:00","count":31,"sum":8000},\
        {"from":"2026-03-29T00:00:00+01:00","to":"2026-03-30T00:00:00+02:00","count":0,"sum":null},\
        {"from":"2026-03-30T00:00:00+02:00","to":"2026-03-31T00:00:00+02:00","count":1,"sum":1000.4}
        """

    @Test func `each interval is a line, an empty one has no figure, and a terminal also shows bars`() throws {
        let text = StatsText(try statistics(Self.days), by: .day, units: ReadingUnits([]), zone: .gmt)
        #expect(
            text.lines(hasChart: false, colours: false) == [
                "DAY           SUM  SAMPLES", "2026-03-28  8,000       31", "2026-03-29               0",
                "2026-03-30  1,000        1",
            ])
        let charts = text.lines(hasChart: true, colours: false)
        #expect(charts[1].hasSuffix("31  " + String(repeating: "█", count: 24)))
        #expect(charts[2].hasSuffix(" 0") && charts[3].hasSuffix("1  ███"))
    }

    @Test func `CSV contains every digit, and an empty field for an empty interval`() throws {
        #expect(
            try statistics(Self.days).csv() == [
                "from,to,type,person,unit,count,sum",
                "2026-03-28T00:00:00+01:00,2026-03-29T00:00:00+01:00,stepCount,anna,count,31,8000",
                "2026-03-29T00:00:00+01:00,2026-03-30T00:00:00+02:00,stepCount,anna,count,0,",
                "2026-03-30T00:00:00+02:00,2026-03-31T00:00:00+02:00,stepCount,anna,count,1,1000.4",
            ])
    }

    @Test func `stats shows figures by day, by source and in the person's unit, and the total without --by`()
        async throws
    {
        let hub = try await TestHub("[person.anna]\nzone = \"Europe/Berlin\"\nunit = \"lb\"\n[person.ben]\n")
        try await blocking {
            try hub.give([
                self.steps("a", 600, "2026-03-28T08:00:00+01:00", "2026-03-28T08:10:00+01:00"),
                self.steps("b", 100, "2026-03-30T08:00:00+02:00", "2026-03-30T08:10:00+02:00"),
            ])
        }
        try await hub.expect(["stats", "stepps", "--by", "day"], .usage, errors: "hub types lists them")
        try await hub.expect(["stats", "stepCount", "--by", "day"], .usage, errors: "--person: anna, ben")
        let days = try await hub.succeed(["stats", "stepCount", "--by", "day", "--person", "anna", "--per-source"])
        let lines = days.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines.map(\.first) == ["DAY", "2026-03-28", lines[2][0], "2026-03-29", "2026-03-30", lines[5][0]])
        #expect(lines[1].contains("600") && lines[2].last == "1" && lines[3] == ["2026-03-29", "all", "0"])
        let json = try await hub.run(["stats", "stepCount", "--person", "anna", "--json"])
        #expect(json.output.contains(#""intervals":[{"from":"2026-03-28T07:00:00Z""#), "\(json.output)")
        #expect(json.output.contains(#""sum":700"#))
        try await hub.succeed([
            "log", "weight", "80kg", "--person", "anna", "--at", "2026-03-28T08:00:00Z", "--yes",
        ])
        let months = try await hub.run(["stats", "weight", "--by", "month", "--person", "anna", "--from", "5y"])
        #expect(months.output.contains("2026-03  176.4 lb"), "\(months.output)\(months.errors)")
        let wrong = try await hub.run(["stats", "weight", "--person", "anna", "--figure", "sum"])
        #expect(wrong.code == 64 && wrong.errors.contains("it has average"), "\(wrong.errors)")
        let none = try await hub.run(["stats", "height", "--person", "anna"])
        #expect(none.code == 0 && none.output.isEmpty && none.errors == "no samples\n")
    }

    @Test(
        arguments: [
            ([], "de_DE", "2026-03-23"), ([], "en_US", "2026-03-22"), ([], "ar_EG", "2026-03-21"),
            (["--week-from", "wednesday"], "de_DE", "2026-03-25"), (["--week-from", "monday"], "en_US", "2026-03-23"),
        ] as [([String], String, String)])
    func `weeks begin on the day of the person's locale, or on the day of --week-from`(
        more: [String], locale: String, expected: String
    ) async throws {
        let hub = try await TestHub("[person.anna]\nzone = \"Europe/Berlin\"\nlocale = \"\(locale)\"\n")
        try await blocking {
            // A Wednesday in winter and one in summer: the clocks change between them.
            try hub.give([
                self.steps("a", 600, "2026-03-25T08:00:00+01:00", "2026-03-25T08:10:00+01:00"),
                self.steps("b", 100, "2026-04-01T08:00:00+02:00", "2026-04-01T08:10:00+02:00"),
            ])
        }
        let weeks = try await hub.succeed(["stats", "stepCount", "--by", "week", "--csv"] + more)
        let lines = weeks.output.split(separator: "\n")
        #expect(lines.count == 3 && lines[1].hasPrefix("\(expected)T00:00:00+01:00,"), "\(lines)")
        #expect(lines[2].contains("T00:00:00+02:00,stepCount,anna,count,1,100"), "\(lines)")
        let wrong = try await hub.run(["stats", "stepCount", "--by", "day", "--week-from", "sunday"])
        #expect(wrong.code == 64 && wrong.errors.contains("--by week"), "\(wrong.errors)")
    }

    @Test func `R8.112 hourly sums of a phone take precedence over a watch, and hub trace says so`() async throws {
        let hub = try await TestHub("[person.anna]\nzone = \"Europe/Berlin\"\n")
        func record(_ key: String, _ value: Int, _ start: String, _ end: String, _ source: String) -> String {
            #"{"type":"stepCount","value":\#(value),"unit":"count","start":"2026-02-10T\#(start):00+01:00","#
                + #""end":"2026-02-10T\#(end):00+01:00","key":"\#(key)","source":\#(source)}"#
        }
        let (watch, hours) = (#"{"device":"watch"}"#, #"{"device":"iphone","account":"hae sums"}"#)
        let records = [
            record("w1", 600, "08:00", "08:10", watch), record("h", 1_000, "08:00", "09:00", hours),
            record("w2", 70, "09:20", "09:30", watch),
        ]
        try await blocking { try hub.give(records) }
        let sum = try await hub.run(["stats", "stepCount", "--json"])
        #expect(sum.output.contains(#""sum":1070"#), "\(sum)")
        let sources = try await hub.run(["sources", "stepCount"]).output.split(separator: "\n").dropFirst()
        #expect(sources.map { $0.contains("iphone/hae sums") } == [true, false], "\(sources)")
        #expect(sources.first?.hasSuffix("sums of spans") == true && sources.last?.hasSuffix("first record") == true)
        let lines = [
            1:
                "in sums    source 2 of 2 (first record): the records of test-pub/iphone/hae sums (sums of spans) at its time count instead",
            2: "in sums    it counts before all others of its time: source 1 of 2 (sums of spans)",
            3: "in sums    it counts: no other source has anything of its time",
        ]
        for (number, line) in lines {
            try await hub.expect(["trace", "\(number)"], output: "\n\(line)\n")
        }
        // A table in hub.conf takes precedence over that.
        let conf = try String(contentsOfFile: hub.folder.configuration, encoding: .utf8)
        try (conf + "\n[priority.steps]\nsources = [\"test-pub/watch\"]\n").write(
            toFile: hub.folder.configuration, atomically: true, encoding: .utf8)
        _ = try await hub.run(["apply"])
        let other = try await hub.run(["stats", "stepCount", "--json"])
        // 600 of ten minutes, and the rest of the hour.
        #expect(other.output.contains(#""sum":1503.33"#), "\(other)")
        try await hub.expect(["trace", "1"], output: "source 1 of 2 (hub.conf)")
    }
}
