import DoorPeer
import Foundation
import HubClient
import HubProcess
import Samples
import Testing

@testable import HubCommand

/// `hub activity`: the rings of each day, from a running hub.
@Suite(.timeLimit(.minutes(1))) struct ActivityTests {
    private func summary(_ date: String, _ figures: String) -> String {
        #"{"type":"activitySummary","start":"\#(date)T00:00:00+01:00","end":"\#(date)T23:59:59+01:00","key":"\#(date)","activitySummary":{\#(figures)}}"#
    }

    private func energy(_ key: String, _ value: Int, _ start: String) -> String {
        #"{"type":"activeEnergyBurned","value":\#(value),"unit":"kcal","start":"2026-03-\#(start):00+01:00","end":"2026-03-\#(start):30+01:00","key":"\#(key)"}"#
    }

    private func stood(_ key: String, _ hour: String, _ value: String = "stood") -> String {
        #"{"type":"appleStandHour","value":"\#(value)","start":"2026-03-\#(hour):00:00+01:00","end":"2026-03-\#(hour):59:59+01:00","key":"\#(key)"}"#
    }

    private static let persons = """
        [person.me]
        zone = "Europe/Berlin"
        locale = "de_DE"
        units = ["activeEnergyBurned=kJ"]
        [retention.old]
        types = ["activeEnergyBurned"]
        thin_after_days = 1

        """

    @Test
    func `a day shows its last summary, else the sum of its samples, marked as computed and without goals`()
        async throws
    {
        let hub = try await TestHub(Self.persons)
        try await blocking {
            try hub.give([
                self.summary("2026-03-10", #""activeEnergyBurned":{"value":100,"goal":400,"unit":"kcal"}"#),
                // If a day has a summary, its samples do not change the figures.
                self.energy("e0", 999, "10T08:00"),
                self.energy("e1", 100, "11T08:00"), self.energy("e2", 50, "11T23:59"), self.energy("e3", 7, "12T00:00"),
                self.stood("s1", "11T08"), self.stood("s2", "11T09"), self.stood("s3", "11T10", "idle"),
                self.summary(
                    "2026-03-13",
                    #""activeEnergyBurned":{"value":0,"goal":500,"unit":"kcal"},"appleStandHours":{"value":0,"goal":0,"unit":"count"}"#
                ),
            ])
            // A second export repeats the day with another goal; the later summary wins.
            try hub.give([
                self.summary(
                    "2026-03-10",
                    #""activeEnergyBurned":{"value":100,"goal":500,"unit":"kcal"},"appleExerciseTime":{"value":31,"goal":30,"unit":"min"}"#
                )
            ])
        }
        let march = ["--from", "2026-03-09", "--to", "2026-03-14"]
        let shown = try await hub.succeed(["activity"] + march)
        let lines = shown.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 5, "\(shown.output)")
        #expect(
            lines[0].split(separator: " ") == [
                "DAY", "ENERGY", "GOAL", "EXERCISE", "GOAL", "STAND", "HOURS", "GOAL", "FROM",
            ])
        func words(_ line: Int) -> String { lines[line].split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        #expect(words(1) == "10. März 2026 418 kJ 2.092 kJ 20 % 31 min 30 min 103,3 % test-pub")
        #expect(words(2) == "11. März 2026 628 kJ 2 computed")
        #expect(words(3) == "12. März 2026 29 kJ computed")
        #expect(words(4) == "13. März 2026 0 kJ 2.092 kJ 0 % 0 0 test-pub")

        let json = try await hub.run(["activity", "--json"] + march)
        let days = json.output.split(separator: "\n").map(String.init)
        #expect(
            days[0]
                == #"{"date":"2026-03-10","person":"me","source":{"plugin":"test-pub"},"number":1,"computed":false,"activeEnergyBurned":{"value":100,"goal":500,"unit":"kcal"},"appleExerciseTime":{"value":31,"goal":30,"unit":"min"}}"#
        )
        #expect(
            days[1]
                == #"{"date":"2026-03-11","person":"me","computed":true,"activeEnergyBurned":{"value":150,"unit":"kcal"},"appleStandHours":{"value":2,"unit":"count"}}"#
        )
        let csv = try await hub.run(["activity", "--csv"] + march)
        let rows = csv.output.split(separator: "\n").map(String.init)
        #expect(rows[0].hasPrefix("date,person,source,computed,activeEnergyBurned,activeEnergyBurnedGoal,"))
        #expect(rows[1] == "2026-03-10,me,test-pub,false,100,500,kcal,,,,31,30,min,,,")
        #expect(rows[2] == "2026-03-11,me,,true,150,,kcal,,,,,,,2,,count")
        let empty = try await hub.run(["activity", "--from", "2020-01-01", "--to", "2020-01-02"])
        #expect(empty.code == 0 && empty.errors.contains("no activity from 2020-01-01 to 2020-01-02"))
        let last = try await hub.run(["samples", "activitySummary", "--json"])
        #expect(last.output.split(separator: "\n").count == 2, "one for each source and day")
        try await hub.expect(["samples", "activitySummary"], output: "  energy 418 kJ, exercise 31 min  ")
        // If the samples of a day were thinned, the day does not count as a day without samples.
        #expect(try await hub.run(["retention", "--yes"]).code == 0)
        let thinned = try await hub.run(["activity"] + march)
        #expect(thinned.errors.hasPrefix("3 days from 2026-03-10 to 2026-03-12 do not count here, or not whole"))
        #expect(!thinned.output.contains("12. März"), "\(thinned.output)")
    }

    @Test func `the preferred source supplies the whole day, and with several people the command asks for one`()
        async throws
    {
        let hub = try await TestHub(
            "[person.anna]\n[person.ben]\n[priority.rings]\ntypes = [\"activitySummary\"]\nsources = [\"ring\"]\n")
        let record = self.summary("2026-03-10", #""appleStandHours":{"value":11,"goal":12,"unit":"count"}"#)
            .replacing(#","key""#, with: #","subject":{"name":"anna"},"key""#)
        try await blocking {
            try hub.give([record])
            let ring = try DoorPeer(hub.endpoints.door, instance: "ring", patience: .seconds(10))
            try ring.give([record.replacing(#""value":11,"goal":12"#, with: #""value":3"#)])
            try ring.areStored()
        }
        let shown = try await hub.run(["activity", "--person", "anna", "--from", "2026-03-10", "--to", "2026-03-10"])
        #expect(
            shown.output.split(whereSeparator: \.isWhitespace) == [
                "DAY", "STAND", "HOURS", "FROM", "2026-03-10", "3", "ring",
            ], "\(shown.output)\(shown.errors)")
        try await hub.expect(["activity"], .usage, errors: "--person: anna, ben")
        try await hub.expect(["activity", "--person", "eve"], .usage)
    }
}
