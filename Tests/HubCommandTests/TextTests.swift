import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire
import Logging
import Samples
import Testing

@testable import HubCommand

@Suite struct NumberTests {
    @Test func `a number prints with the digits it came with`() {
        #expect(NumberText.shortest(72) == "72")
        #expect(NumberText.shortest(72.3) == "72.3")
        #expect(NumberText.shortest(-0.5) == "-0.5")
        #expect(NumberText.shortest(9_007_199_254_740_994) == "9.007199254740994e+15")
    }

    @Test func `a fraction becomes percent by moving the point, so that no new digits appear`() {
        #expect(NumberText.percent(0.182) == "18.2")
        #expect(NumberText.percent(0.07) == "7")
        #expect(NumberText.percent(1) == "100")
        #expect(NumberText.percent(0.145) == "14.5")
        for tenth in 0...1_000 {
            let text = NumberText.percent(Double(tenth) / 1_000)
            #expect(Double(text) == Double(tenth) / 10, "\(tenth)")
        }
    }

    @Test func `counts have separators, and the singular or plural of their noun`() {
        #expect(NumberText.grouped(0) == "0")
        #expect(NumberText.grouped(999) == "999")
        #expect(NumberText.grouped(1_000) == "1,000")
        #expect(NumberText.grouped(-1_234_567) == "-1,234,567")
        #expect(NumberText.count(1, "record") == "1 record")
        #expect(NumberText.count(0, "person") == "0 persons")
        #expect(NumberText.count(2, "person", "people") == "2 people")
    }

    @Test func `a duration has at most two units`() {
        #expect(NumberText.duration(seconds: 12.9) == "12 s")
        #expect(NumberText.duration(seconds: 119) == "1 min")
        #expect(NumberText.duration(seconds: 7_500) == "2 h 5 min")
        #expect(NumberText.duration(seconds: 7_200) == "2 h")
        #expect(NumberText.duration(seconds: 100 * 3_600) == "4 d 4 h")
    }
}

@Suite struct TableTests {
    @Test func `columns are as wide as their widest cell, and lines have no trailing spaces`() {
        var table = Table(["NAME", .right("COUNT"), "NOTE"])
        table.add(["a", "1"])
        table.add(["longer", "1000", "x"])
        #expect(table.takeLines() == ["NAME    COUNT  NOTE", "a           1", "longer   1000  x"])
    }

    @Test func `a later page keeps the column widths of the pages before`() {
        var table = Table(["A", "B"])
        table.add(["wide cell", "x"])
        _ = table.takeLines()
        table.add(["y", "z"])
        #expect(table.takeLines() == ["y          z"])
    }

    @Test func `a character that is two columns wide on a terminal counts as two`() {
        var table = Table(["DATE", "B"])
        table.add(["2026年3月5日", "x"])
        table.add(["2026-03-05", "y"])
        #expect(table.takeLines() == ["DATE          B", "2026年3月5日  x", "2026-03-05    y"])
        #expect(Table.width("15. März 2026 µg °C ″") == 21 && Table.width("体重 👨‍👩‍👧 한") == 10)
    }

    @Test func `colours do not count towards a column's width`() {
        var table = Table(["A", "B"])
        table.add([StatusColour.good.paint("yes", true), "x"])
        #expect(table.takeLines().map(PlainText.line) == ["A    B", "\u{1B}[32myes\u{1B}[0m  x"])
        #expect(StatusColour.bad.paint("no", false) == "no")
    }
}

@Suite struct RecordTextTests {
    /// A record as the hub prints it, for a person with this unit for weights.
    private func text(_ json: String, in unit: PersonProfile.Unit? = nil) throws -> RecordText {
        var person = PersonSection(name: "me")
        person.unit = unit
        var reader = RecordReader()
        return RecordText(try reader.record(Array(json.utf8)[...]), ReadingUnits([person]))
    }

    private let tail =
        #""person":"me","personId":"u1","source":{"plugin":"ihealth-hs3","device":"02"},"key":"k","provenance":"measured","number":7,"seq":9}"#

    @Test func `a quantity is shown with value and unit, and the local time of its measurement`() throws {
        let start = #""start":"2026-03-15T07:30:05.25+01:00","end":"2026-03-15T07:30:05.25+01:00""#
        let text = try text(#"{"kind":"quantity","type":"weight","value":72.3,"unit":"kg",\#(start),\#(tail)"#)
        #expect(text.cells == ["2026-03-15 07:30:05.25 +01:00", "me", "weight", "72.3 kg", "ihealth-hs3/02", "7"])
    }

    @Test(arguments: [
        (PersonProfile.Unit.pounds, 80.28584949, "177.0 lb"), (.stones, 80.28584949, "12 st 9 lb"),
        (.kilograms, 80.28584949, "80.3 kg"), (nil, 72.3, "72.3 kg"),
    ]) func `a weight is in the unit of its person, rounded as people read it`(
        _ unit: PersonProfile.Unit?, _ value: Double, _ shown: String
    ) throws {
        let start = #""start":"2026-03-15T06:30:05Z","end":"2026-03-15T06:30:05Z""#
        let record = #"{"kind":"quantity","type":"weight","value":\#(value),"unit":"kg",\#(start),"#
        #expect(try text(record + tail, in: unit).value == shown)
        let inbox = tail.replacing(#""person":"me","personId":"u1""#, with: #""person":null,"unassigned":"why""#)
        #expect(
            try text(record + inbox, in: unit).value == shown, "the same unit without a person, if all persons read it")
    }

    @Test func `a record without a person uses the unit and locale that all people share`() {
        var (anna, ben) = (PersonSection(name: "anna"), PersonSection(name: "ben"))
        (anna.unit, ben.unit, anna.locale, ben.locale) = (.pounds, .stones, "de_DE", "de_DE")
        func text(_ person: String?, _ units: ReadingUnits) -> String {
            units.format("kg", of: .weight, for: person).text(1_080.28584949)
        }
        let units = ReadingUnits([anna, ben], machine: Locale(identifier: "en_US"))
        #expect(text(nil, units) == "1.080,3 kg" && text("anna", units) == "2.381,6 lb")
        #expect(text("ben", units) == "170 st 1,6 lb" && text("gone", units) == "2,381.6 lb")
        ben.locale = nil
        #expect(
            text(nil, ReadingUnits([anna, ben])) == "1,080.3 kg" && text(nil, ReadingUnits([anna])) == "2.381,6 lb")
    }

    @Test(arguments: [
        ("de_DE", "15. März 2026 07:30:05.25 +01:00", "1.072,3 kg"),
        ("en_US", "Mar 15, 2026 07:30:05.25 +01:00", "2,364.0 lb"),
        ("fr_FR", "15 mars 2026 07:30:05.25 +01:00", "1\u{202F}072,3 kg"),
        ("es_ES", "15 mar 2026 07:30:05.25 +01:00", "1072,3 kg"),
        ("ja_JP", "2026年3月15日 07:30:05.25 +01:00", "1,072.3 kg"),
    ]) func `a person's locale determines the month's name, the separators and the units`(
        _ locale: String, _ time: String, _ value: String
    ) throws {
        var me = PersonSection(name: "me")
        me.locale = locale
        let start = #""start":"2026-03-15T07:30:05.25+01:00","end":"2026-03-15T07:30:05.25+01:00""#
        var reader = RecordReader()
        let json = #"{"kind":"quantity","type":"weight","value":1072.3,"unit":"kg",\#(start),\#(tail)"#
        let text = RecordText(try reader.record(Array(json.utf8)[...]), ReadingUnits([me]))
        #expect(text.time == time && text.value == value)
    }

    @Test func `a change is shown with enough decimals to see it, and programs get every digit`() throws {
        func stored(_ value: Double) throws -> StoredRecord {
            var reader = RecordReader()
            let json =
                #"{"kind":"quantity","type":"weight","value":\#(value),"unit":"kg","start":"2026-03-15T06:30:05Z","end":"2026-03-15T06:30:05Z",\#(tail)"#
            return try reader.record(Array(json.utf8)[...])
        }
        let units = ReadingUnits([])
        #expect(try ValueText.change(from: stored(80.41), to: stored(80.44), units) == ("80.41 kg", "80.44 kg"))
        #expect(try ValueText.change(from: stored(80.41), to: stored(81.44), units) == ("80.4 kg", "81.4 kg"))
        #expect(try ValueText.change(from: stored(80.41), to: stored(80.41), units) == ("80.4 kg", "80.4 kg"))
        #expect(try PendingWeighing(stored(80.28584949)).summary().values == ["weight 80.28584949 kg"])
        #expect(try PendingWeighing(stored(80.28584949)).summary(units).values == ["weight 80.3 kg"])
    }

    @Test func `a fraction is shown as percent`() throws {
        let start = #""start":"2026-03-15T06:30:05Z","end":"2026-03-15T06:30:05Z""#
        let text = try text(
            #"{"kind":"quantity","type":"bodyFatPercentage","value":0.182,"unit":"%",\#(start),\#(tail)"#)
        #expect(text.value == "18.2 %")
        #expect(text.time == "2026-03-15 06:30:05 Z")
    }

    @Test func `an interval shows its end as briefly as is unambiguous`() throws {
        func time(_ start: String, _ end: String) throws -> String {
            MomentText.interval(try Timestamp(parsing: start), try Timestamp(parsing: end))
        }
        #expect(
            try time("2026-03-15T07:00:00+01:00", "2026-03-15T08:30:00+01:00") == "2026-03-15 07:00:00–08:30:00 +01:00")
        #expect(
            try time("2026-03-14T23:00:00+01:00", "2026-03-15T06:30:00+01:00")
                == "2026-03-14 23:00:00 – 2026-03-15 06:30:00 +01:00")
        #expect(
            try time("2026-03-29T01:00:00+01:00", "2026-03-29T04:00:00+02:00")
                == "2026-03-29 01:00:00 +01:00 – 2026-03-29 04:00:00 +02:00")
    }

    @Test func `records without a person, categories and retractions are shown differently`() throws {
        let unassigned = try text(
            #"{"kind":"category","type":"sleepAnalysis","value":"asleepCore","raw":3,"start":"2026-03-15T00:00:00Z","end":"2026-03-15T01:00:00Z","person":null,"unassigned":"two persons","source":{"plugin":"p"},"key":"k","provenance":"measured","number":1,"seq":1}"#
        )
        #expect(unassigned.person == "-")
        #expect(unassigned.value == "Asleep core")
        let retraction = try text(
            #"{"kind":"retraction","type":"weight","person":"me","personId":"u1","source":{"plugin":"p"},"key":"k","by":"person","reason":"the dog","number":1,"seq":2}"#
        )
        #expect(retraction.value == "retracted by a person: the dog")
        #expect(retraction.time == "")
    }

    @Test func `text that is not a record is an error that says what to do`() {
        var reader = RecordReader()
        #expect(throws: Failure.self) { try reader.record(Array("{}".utf8)[...]) }
    }
}

@Suite struct DateArgumentTests {
    /// 2026-03-15 12:00 in Berlin, a Sunday.
    private let now: Int64 = 1_773_572_400_000_000

    private func span(_ text: String) throws -> (String, String) {
        let date = try #require(DateArgument(text))
        let clock = try PersonClock(zone: "Europe/Berlin", now: now)
        return (date.start(by: clock).text, date.end(by: clock).text)
    }

    @Test func `a date means the whole day in the zone`() throws {
        #expect(try span("2026-03-01") == ("2026-03-01T00:00:00+01:00", "2026-03-02T00:00:00+01:00"))
    }

    @Test func `a day on which clocks change has its true length`() throws {
        #expect(try span("2026-03-29") == ("2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"))
    }

    @Test func `today and yesterday are days of the zone by the hub's clock`() throws {
        #expect(try span("today") == ("2026-03-15T00:00:00+01:00", "2026-03-16T00:00:00+01:00"))
        #expect(try span("yesterday") == ("2026-03-14T00:00:00+01:00", "2026-03-15T00:00:00+01:00"))
    }

    @Test(arguments: [
        ("18.10.1974", "1974-10-18"), ("1.3.2026", "2026-03-01"), ("2026/3/1", "2026-03-01"),
        ("2 days ago", "2026-03-13"), ("a week ago", "2026-03-08"), ("1 month ago", "2026-02-15"),
        ("last monday", "2026-03-09"), ("Last Sunday", "2026-03-08"), ("last saturday", "2026-03-14"),
        ("Yesterday", "2026-03-14"),
    ]) func `common ways to write a day are accepted`(_ text: String, _ day: String) throws {
        #expect(try span(text).0.hasPrefix("\(day)T00:00:00"))
        #expect(try span(text).1 == span(day).1)
    }

    @Test func `a span is counted back from now, and an instant means itself`() throws {
        #expect(try span("7d").0 == "2026-03-08T12:00:00+01:00")
        #expect(try span("90min").0 == "2026-03-15T10:30:00+01:00")
        #expect(try span("2w").0 == "2026-03-01T12:00:00+01:00")
        #expect(try span("2 hours ago").0 == "2026-03-15T10:00:00+01:00")
        #expect(try span("2026-03-01T07:30:00+01:00").0 == "2026-03-01T07:30:00+01:00")
    }

    @Test(arguments: [
        ("yesterday 7:30", "2026-03-14T07:30:00+01:00"), ("yesterday 8am", "2026-03-14T08:00:00+01:00"),
        ("8:15 pm", "2026-03-15T20:15:00+01:00"), ("18.10.1974 7:30", "1974-10-18T07:30:00+01:00"),
        // A time that does not exist, and one that occurs twice.
        ("2026-03-29 2:30", "2026-03-29T03:30:00+02:00"), ("2025-10-26 2:30", "2025-10-26T02:30:00+02:00"),
    ]) func `a day may be followed by a time`(_ text: String, _ start: String) throws {
        #expect(try span(text) == (start, start))
    }

    @Test func `a time beyond the range of records means the nearest possible time`() throws {
        let (first, last) = ("0001-01-02T00:00:00Z", "9999-12-30T23:59:59.999999Z")
        #expect(try span("0001-01-01") == (first, first))
        #expect(try span("1000000w").0 == first)
        #expect(try span("9999-12-31") == ("9999-12-31T00:00:00+01:00", last))
    }

    @Test(arguments: ["", "d", "7", "-7d", "7 d", "2026-02-30", "tomorrow", "2026-03-01T25:00", "99999999999999d"])
    func `any other text is refused as a date`(_ text: String) { #expect(DateArgument(text) == nil) }

    @Test(arguments: [
        ("2026-02-30", "the calendar has no such day"), ("31.11.2026", "the calendar has no such day"),
        ("3/1/2026", "it is read in two ways: write 2026-MM-DD"), ("5years", "write 5y"), ("90 minutes", "write 90min"),
    ]) func `a text similar to a date is refused with the right form`(_ text: String, _ hint: String) {
        let error = #expect(throws: (any Error).self) { try DateArgument.parsed(text) }
        #expect(error.map { "\($0)".contains("; \(hint)") } == true)
    }
}

@Suite struct TopicArgumentTests {
    @Test func `a topic may omit its last slash and use an alias of a type`() throws {
        #expect(try TopicArgument.prefix("sample/weight") == "sample/weight/")
        #expect(try TopicArgument.prefix("sample/bodyMass/me") == "sample/weight/me/")
        #expect(try TopicArgument.prefix("hub/pulse/") == "hub/pulse/")
        #expect(try TopicArgument.prefix("live") == "live/")
    }

    @Test func `an unknown type causes only a warning, because a plugin may declare it`() throws {
        var warnings: [String] = []
        #expect(try TopicArgument.prefix("sample/wieght") { warnings.append($0) } == "sample/wieght/")
        #expect(
            warnings == [
                "wieght is not a known type; did you mean weight?; waiting anyway, because a plugin may declare it"
            ])
        #expect(try TopicArgument.prefix("sample/x.acme.thing") { warnings.append($0) } == "sample/x.acme.thing/")
        #expect(warnings.count == 1)
    }

    @Test(arguments: ["", "/", "samples/weight", "sample//me", "sample/%7a"])
    func `a text that is no prefix of a topic is refused`(_ text: String) {
        #expect(throws: Failure.self) { try TopicArgument.prefix(text) }
    }
}

@Suite struct EndpointTests {
    @Test func `the printed exports are quoted for any shell`() {
        let endpoints = OwnerEndpoints(door: "ipc:///run/user/1000/health-hub/door", feed: "ipc:///tmp/it's here/feed")
        #expect(
            endpoints.exports == """
                export HUB_DOOR=ipc:///run/user/1000/health-hub/door
                export HUB_FEED='ipc:///tmp/it'\\''s here/feed'
                """)
    }

    @Test func `hub.conf is searched for in the documented order`() {
        #expect(
            ConfigurationFile.places(["HOME": "/home/a"])
                == ["hub.conf", "/home/a/.config/health-hub/hub.conf", "/etc/health-hub/hub.conf"])
        #expect(
            ConfigurationFile.places(["HOME": "/home/a", "XDG_CONFIG_HOME": "/cfg"])
                == ["hub.conf", "/cfg/health-hub/hub.conf", "/etc/health-hub/hub.conf"])
    }
}

@Suite struct LogTests {
    private func line(_ message: String, _ metadata: Logger.Metadata = [:]) throws -> String {
        let zone = try #require(TimeZone(secondsFromGMT: 3_600))
        return TerminalLogHandler.line(
            time: Date(timeIntervalSince1970: 23_405), level: .warning, label: "hub", message: message,
            metadata: metadata, zone: zone)
    }

    @Test func `a log line has the time, the level and its metadata in order`() throws {
        #expect(
            try line("ready", ["b": "two words", "a": "1", "c": ""])
                == #"07:30:05 warning  hub: ready  a=1 b="two words" c="""#)
    }

    @Test func `line breaks within a log message are escaped`() throws {
        #expect(try line("a\nb", ["x": "c\r\nd e"]) == #"07:30:05 warning  hub: a\nb  x="c\r\nd e""#)
    }
}
