import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCommand

/// `hub days`, as text for people and as JSON for programs.
@Suite struct DayTextTests {
    private func line(
        _ date: String, _ value: Double, from observed: String? = nil, series: String = "mean30", person: String = "me",
        type: TypeID = .weight, unit: String = "kg", basis: [Int64] = [1]
    ) throws -> DayLines.Line {
        let day = try #require(LocalDate(date))
        let observedOn = observed.flatMap { LocalDate($0) }
        let record = DayValue(
            source: Source(plugin: "gap-filler"), person: person, type: type, series: series, date: day, value: value,
            unit: unit, method: observedOn == nil ? "mean" : "carried", observedOn: observedOn,
            age: observedOn.map { day.daysSinceEpoch - $0.daysSinceEpoch }, basis: basis.map(Provenance.Basis.number))
        return DayLines.Line(day: record, json: Array("{\"date\":\"\(date)\",\"value\":\(value)}".utf8))
    }

    @Test func `the table distinguishes measured from carried days and rounds values for display`() throws {
        let lines = DayLines([
            try line("2026-03-02", 80.566666666666, from: "2026-03-01", basis: [1, 2, 3]),
            try line("2026-03-01", 80.566666666666, basis: [1, 2, 3]), try line("2026-03-04", 79, basis: [4]),
        ])
        #expect(
            lines.table(units: ReadingUnits([]), colours: false) == [
                "DATE         WEIGHT  HOW", "2026-03-01  80.6 kg  mean of 3 readings",
                "2026-03-02  80.6 kg  carried from 2026-03-01, 1 day", "2026-03-04  79.0 kg  mean of 1 reading",
            ])
        let painted = lines.table(units: ReadingUnits([]), colours: true).map(PlainText.line)
        #expect(!painted[1].contains("\u{1B}[2m") && painted[2].contains("\u{1B}[2m"))
    }

    @Test func `a day whose basis lists only its first readings still shows the total number of readings`() throws {
        let record =
            #"{"kind":"day","type":"stepCount","value":9000,"unit":"count","series":"sum","date":"2026-03-01","person":"me","personId":"u1","source":{"plugin":"gap-filler"},"method":"sum","basis":[1,2],"metadata":{"formula":"sum","basisCount":1440},"number":7,"seq":7}"#
        let answer = try #require(
            RawJSON(
                #"{"number":7,"seq":7,"versions":[{"recordedAt":"2026-03-02T06:31:00Z","record":\#(record)}],"deliveries":[]}"#
            ))
        let lines = try TraceText(answer, ReadingUnits([])).lines
        #expect(lines.contains("day        2026-03-01 of sum, sum of 1,440 readings"), "\(lines)")
        #expect(lines.contains("made of    records 1, 2 and 1,438 others, which are not named"), "\(lines)")
    }

    @Test func `several people or series get their own column`() throws {
        let lines = DayLines([
            try line("2026-03-01", 80), try line("2026-03-01", 60, person: "anna"),
            try line("2026-03-01", 79.5, series: "first30"),
        ])
        var anna = PersonSection(name: "anna")
        anna.unit = .pounds
        let table = lines.table(units: ReadingUnits([anna]), colours: false)
        #expect(table[0].split(separator: " ") == ["DATE", "PERSON", "SERIES", "WEIGHT", "HOW"])
        #expect(table[1].contains("anna    mean30   132.3 lb"))
        #expect(table[2].contains("first30") && table[3].contains("mean30"))
    }

    @Test func `a trend is shown for each day, also for days without a value`() throws {
        var lines = DayLines([
            try line("2026-03-01", 80), try line("2026-03-02", 80, from: "2026-03-01"), try line("2026-03-05", 79.6),
        ])
        lines.add(.linear, [:])
        let json = lines.json.map { String(decoding: $0, as: UTF8.self) }
        #expect(json.count == 5)
        #expect(json[0] == #"{"date":"2026-03-01","value":80.0,"trend":80}"#)
        #expect(json[1] == #"{"date":"2026-03-02","value":80.0,"trend":79.9}"#)
        #expect(
            json[2]
                == #"{"type":"weight","unit":"kg","series":"mean30","date":"2026-03-03","person":"me","trend":79.8}"#)
        #expect(
            lines.table(units: ReadingUnits([]), colours: false)[3]
                == "2026-03-03           79.8 kg  no day: the trend alone")
    }

    @Test func `dates and values of days use the person's locale`() throws {
        var me = PersonSection(name: "me")
        me.locale = "fr_FR"
        let lines = DayLines([try line("2026-03-02", 80.566666666666, from: "2026-03-01", basis: [1, 2, 3])])
        #expect(
            lines.table(units: ReadingUnits([me]), colours: false) == [
                "DATE          WEIGHT  HOW", "2 mars 2026  80,6 kg  carried from 1 mars 2026, 1 day",
            ])
    }

    @Test func `TrendWeight smooths the first reading of each day`() throws {
        var lines = DayLines([
            try line("2026-03-01", 80.5, basis: [1, 2]), try line("2026-03-02", 79.5, basis: [3, 4]),
        ])
        lines.add(.trendWeight, [1: (200, 81), 2: (100, 80), 3: (300, 79), 4: (400, 80)])
        let json = lines.json.map { String(decoding: $0, as: UTF8.self) }
        #expect(json[0].hasSuffix("\"trend\":80}") && json[1].hasSuffix("\"trend\":79.9}"))
    }

    @Test func `without dates the range is the last thirty days in the person's zone`() throws {
        let now = try Timestamp(parsing: "2026-03-31T23:30:00Z").microseconds
        func range(_ arguments: String...) throws -> String {
            let clock = try PersonClock(zone: "Europe/Berlin", now: now)
            let range = try DaysCommand.parse(["weight"] + arguments).range(by: clock)
            return "\(range.lowerBound.text) \(range.upperBound.text)"
        }
        // It is already the 1st in Berlin, and a person's zone may be a day ahead of that.
        #expect(try range() == "2026-03-03 2026-04-02")
        #expect(try range("--from", "yesterday") == "2026-03-31 2026-04-02")
        #expect(try range("--from", "2026-03-01", "--to", "2026-03-05") == "2026-03-01 2026-03-05")
        #expect(try range("--to", "2026-03-30") == "2026-03-01 2026-03-30")
        #expect(throws: Failure.self) { try range("--from", "today", "--to", "2026-03-05") }
        #expect(throws: (any Error).self) { try DaysCommand.parse(["weight", "--trend", "moon"]) }
    }
}
