import Foundation
import HubSettings
import HubWire
import PluginKit
import Samples
import Testing

@testable import GapFiller

/// Changed days from delivered records, without a hub.
@Suite struct ReadingIndexTests {
    private let now = moment("2024-05-20T10:00:00+02:00")

    static func settings(_ values: [String: SettingValue] = [:]) throws -> FillerSettings {
        let defaults = FillerSettings.declarations.compactMap { declaration in
            declaration.defaultValue.map { (declaration.name, $0) }
        }
        return try FillerSettings(PluginSettings(Dictionary(defaults) { first, _ in first }.merging(values) { $1 }))
    }

    @Test func `all mistakes in the settings are reported at once`() throws {
        let failure = try #require(throws: PluginFailure.self) {
            try Self.settings([
                "types": .list([.string("weight"), .string("stepCount")]), "day_zone": .string("fixed"),
                "sources": .list([.string("stepCount=watch"), .string("heartRate=watch"), .string("nonsense")]),
                "stop_carrying": .list([.string("heartRate=2024-05-01")]),
            ])
        }
        #expect(failure.reasons.count == 5, "\(failure.reasons)")
        for word in ["setting zone", "stepCount is summed", "heartRate is not among types", "nonsense"] {
            #expect(failure.reasons.contains { $0.contains(word) }, "\(word): \(failure.reasons)")
        }
    }

    private func library(_ values: [String: SettingValue] = [:]) throws -> ReadingIndex {
        ReadingIndex(
            try Self.settings(values),
            ["me": FillerPerson(zone: "Europe/Berlin"), "anna": FillerPerson(zone: "Asia/Tokyo")])
    }

    /// Dates and values of edits; `-` for a removed day.
    private func texts(_ edits: [ReadingIndex.Edit], _ library: ReadingIndex) -> [String] {
        edits.map { edit in
            let shelf = library.shelves[edit.shelf]
            let day = edit.change.now.map { day in
                "\(day.value)" + (day.age > 0 ? " of \(LocalDate(day.observedOn).text.suffix(5))" : "")
            }
            return "\(shelf.key.person) \(LocalDate(edit.change.day).text.suffix(5)) \(day ?? "-")"
        }
    }

    @Test func `a late weigh-in changes the days from its own to the next measured one, and no others`() throws {
        var library = try library()
        library.load([weight(1, 80, "2024-05-10"), weight(2, 79, "2024-05-18")], at: now)
        let edits = library.take([weight(3, 78.5, "2024-05-14")], at: now)
        #expect(
            texts(edits, library) == [
                "me 05-14 78.5", "me 05-15 78.5 of 05-14", "me 05-16 78.5 of 05-14", "me 05-17 78.5 of 05-14",
            ])
    }

    @Test func `a correction and a deletion change all days that carried the value`() throws {
        var library = try library()
        library.load([weight(1, 80, "2024-05-10"), weight(2, 79, "2024-05-18")], at: now)
        #expect(
            texts(library.take([weight(2, 78, "2024-05-18", sequence: 3)], at: now), library) == [
                "me 05-18 78.0", "me 05-19 78.0 of 05-18", "me 05-20 78.0 of 05-18",
            ])
        #expect(
            texts(library.take([retraction(2, sequence: 4)], at: now), library) == [
                "me 05-18 80.0 of 05-10", "me 05-19 80.0 of 05-10", "me 05-20 80.0 of 05-10",
            ])
        let gone = library.take([retraction(1, sequence: 5)], at: now)
        #expect(gone.count == 11 && gone.allSatisfy { $0.change.now == nil })
    }

    @Test func `a weigh-in that moves to another person changes the days of both`() throws {
        var library = try library()
        library.load([weight(1, 80, "2024-05-19")], at: now)
        let edits = library.take([weight(1, 80, "2024-05-19", sequence: 2, person: "anna")], at: now)
        #expect(
            Set(texts(edits, library)) == [
                "me 05-19 -", "me 05-20 -", "anna 05-19 80.0", "anna 05-20 80.0 of 05-19",
            ])
    }

    @Test func `a note, a repeat and an old version change nothing`() throws {
        var library = try library()
        library.load([weight(1, 80, "2024-05-19", sequence: 5)], at: now)
        #expect(library.take([weight(1, 80, "2024-05-19", sequence: 9, note: "with shoes")], at: now).isEmpty)
        #expect(library.take([weight(1, 80, "2024-05-19", sequence: 9)], at: now).isEmpty)
        #expect(library.take([weight(1, 70, "2024-05-19", sequence: 8)], at: now).isEmpty)
        #expect(library.take([retraction(77, sequence: 10)], at: now).isEmpty)
    }

    @Test func `an impossible weight is reported and in no day until it is corrected or retracted`() throws {
        var library = try library()
        library.load(
            [weight(1, 0, "2024-05-19"), weight(2, 9_000, "2024-05-19"), weight(3, 80, "2024-05-18")], at: now)
        #expect(library.leftOut.keys.sorted() == [1, 2])
        #expect(
            StatusProblems.text(library)?.contains("2 records are in no day, such as 1: zero is not a measurement")
                == true)
        #expect(StatusProblems.text(library)?.contains("9000") == false)
        #expect(!library.take([weight(1, 80.5, "2024-05-19", sequence: 4)], at: now).isEmpty)
        #expect(library.take([retraction(2, sequence: 5)], at: now).isEmpty)
        #expect(library.leftOut.isEmpty && StatusProblems.text(library) == nil)
    }

    @Test func `a reading that the hub marked implausible is in no day until a person confirms it`() throws {
        var library = try library()
        library.load(
            [weight(1, 450, "2024-05-19", implausible: [.value]), weight(2, 80, "2024-05-18")]
                + [weight(3, 81, "2024-05-17", implausible: [.start])], at: now)
        #expect(library.leftOut.keys.sorted() == [1, 3] && library.readingCount == 1)
        #expect(StatusProblems.text(library)?.contains("hub inbox") == true)
        let edits = library.take([weight(1, 450, "2024-05-19", sequence: 4)], at: now)
        #expect(texts(edits, library).contains("me 05-19 450.0"))
        #expect(library.leftOut.keys.sorted() == [3])
    }

    @Test func `a filled value is not a reading`() throws {
        var library = try library()
        let filled = weight(1, 80, "2024-05-19", provenance: .filled(method: "guess", basis: []))
        library.load([filled], at: now)
        #expect(library.readingCount == 0)
        #expect(library.leftOut[1]?.reason.contains("filled in") == true)
    }

    @Test func `if a phone and a watch count steps at one time, those of the better source are used`() throws {
        let steps = [
            steps(1, 4_000, "2024-05-19", "phone"), steps(2, 3_900, "2024-05-19", "watch"),
            steps(3, 100, "2024-05-18", "watch"),
        ]
        var library = try library(["types": .list([.string("stepCount")])])
        let asked = library.unranked(steps)
        #expect(Set(asked.keys.map(\.source.plugin)) == ["phone", "watch"])
        for (index, origin) in asked.keys.sorted(by: { $0.source.plugin > $1.source.plugin }).enumerated() {
            library.note(Int64(index), of: origin)
        }
        #expect(library.unranked(steps).isEmpty && !library.hasUnranked)
        library.load(Array(steps.prefix(1)), at: now)
        let edits = library.take(Array(steps.dropFirst()), at: now)
        #expect(texts(edits, library) == ["me 05-18 100.0", "me 05-19 3900.0"])
        #expect(library.shelves[0].history.basis(0, of: library.shelves[0].calendar.today(at: now) - 1) == [2])
        #expect(StatusProblems.text(library) == nil)
    }

    @Test func `each person's day begins at their midnight, and today never goes back`() throws {
        var library = try library()
        let before = moment("2024-05-19T16:59:59+02:00")  // 23:59:59 in Tokyo.
        library.load([weight(1, 80, "2024-05-18"), weight(2, 60, "2024-05-18", person: "anna")], at: before)
        #expect(library.nextDay(after: before) == moment("2024-05-20T00:00:00+09:00"))
        #expect(texts(library.advance(to: before + 1_000_000), library) == ["anna 05-20 60.0 of 05-18"])
        #expect(texts(library.advance(to: before), library).isEmpty)
        #expect(texts(library.advance(to: before + 2_000_000), library).isEmpty)
        #expect(
            Set(texts(library.advance(to: moment("2024-05-21T00:00:00+02:00")), library)) == [
                "me 05-20 80.0 of 05-18", "me 05-21 80.0 of 05-18", "anna 05-21 60.0 of 05-18",
            ])
    }

    @Test func `a record that changes while it is read counts once, in its newest version`() throws {
        var library = try library()
        library.load([weight(1, 80, "2024-05-18"), weight(1, 82, "2024-05-19", sequence: 7)], at: now)
        library.load([weight(1, 81, "2024-05-20", sequence: 9)], at: now)
        #expect(library.readingCount == 1)
        let days = library.shelves[0].history.series(0, through: library.today(of: library.shelves[0]))
        #expect(days.map(\.value) == [81])
    }

    @Test func `the last of several edits of a day counts`() throws {
        var library = try library()
        library.load([weight(1, 80, "2024-05-18")], at: now)
        let edits =
            library.take([weight(2, 79, "2024-05-20")], at: now) + library.take([retraction(2, sequence: 9)], at: now)
        #expect(edits.count == 2)
        #expect(texts(ReadingIndex.latest(edits), library) == ["me 05-20 80.0 of 05-18"])
    }

    @Test func `a reading dated after today waits for its day`() throws {
        var library = try library()
        let now = moment("2024-05-10T10:00:00+02:00")
        library.load([weight(1, 80, "2024-05-09")], at: now)
        #expect(library.take([weight(2, 79, "2024-05-11")], at: now).isEmpty)
        #expect(texts(library.advance(to: now + 86_400_000_000), library) == ["me 05-11 79.0"])
    }

    @Test func `a person with an unknown zone has no days, and the reason is reported`() throws {
        var library = ReadingIndex(try Self.settings(), ["me": FillerPerson(zone: "Mars/Olympus")])
        library.load([weight(1, 80, "2024-05-19")], at: now)
        #expect(
            library.leftOut[1]?.reason
                == "this machine does not know Mars/Olympus, the zone of me: install tzdata, or correct it in hub.conf")
    }

    @Test func `readings of a person missing from hub.conf are in no day, and the report names a remedy`() throws {
        var library = try library()
        library.load([weight(1, 80, "2024-05-18", person: "carl"), weight(2, 80, "2024-05-19")], at: now)
        #expect(library.take([weight(3, 81, "2024-05-19", person: "carl")], at: now).isEmpty)
        #expect(
            StatusProblems.text(library)
                == "2 records are of carl, whom hub.conf does not name: no days are made of them, and existing days stay; add [person.carl] again and run hub apply, or run hub erase --forget carl"
        )
        #expect(!StatusProblems.isSevere(library, Rejections()) && library.takeDaysWithoutReadings().isEmpty)
        // A note changes nothing. A reading that moves to another person or loses its person is no longer carl's.
        _ = library.take([weight(1, 80, "2024-05-18", sequence: 4, person: "carl", note: "shoes")], at: now)
        #expect(library.takeDaysWithoutReadings().isEmpty)
        let moved = library.take([weight(1, 80, "2024-05-18", sequence: 5)], at: now)
        #expect(texts(moved, library) == ["me 05-18 80.0"])
        #expect(
            library.takeDaysWithoutReadings() == ["carl": [moment("2024-05-18T10:00:00+02:00")]]
                && library.takeDaysWithoutReadings().isEmpty)
        _ = library.take([retraction(3, sequence: 6, person: "carl")], at: now)
        #expect(library.takeDaysWithoutReadings().keys.elementsEqual(["carl"]) && StatusProblems.text(library) == nil)
    }

    @Test func `days that may have lost a reading are queried in few ranges of dates`() {
        #expect(DayReconciliation.spans([400...402, 10...10, 41...50, 12...12, 420...420]) == [10...50, 400...420])
        #expect(DayReconciliation.spans([]).isEmpty)
    }

    @Test func `a day of a removed reading stays until another of its readings is retracted or moves to another day`()
        throws
    {
        var library = try library()
        library.load([weight(2, 80, "2024-05-10"), weight(3, 81, "2024-05-11")], at: now)
        let made = try #require(library.shelves.first)
        func day(_ date: String, _ numbers: Int64...) throws -> StoredDay {
            var day = made.record(
                try #require(made.history.series(0, through: library.today(of: made)).first), of: 0,
                source: Source(plugin: "gap-filler"))
            (day.date, day.basis) = (try #require(LocalDate(date)), numbers.map(Provenance.Basis.number))
            return StoredDay(day: day, sequence: 4)
        }
        let (whole, partial) = (try day("2024-05-11", 3), try day("2024-05-10", 1, 2))
        library.learn(from: [whole, partial])
        #expect(library.stays(partial) && !library.stays(whole))
        // A note changes nothing; another day does.
        _ = library.take([weight(2, 80, "2024-05-10", sequence: 5, note: "shoes")], at: now)
        #expect(library.stays(partial))
        _ = library.take([weight(2, 80, "2024-05-09", sequence: 6)], at: now)
        #expect(!library.stays(partial))
        _ = library.take([weight(2, 80, "2024-05-10", sequence: 7)], at: now)
        #expect(library.stays(partial))
        _ = library.take([retraction(2, sequence: 8)], at: now)
        #expect(!library.stays(partial))
    }

    @Test func `a day names its readings, and a carried day its origin`() throws {
        var library = try library(["day_start": .string("04:00")])
        library.load([weight(1, 80, "2024-05-19"), weight(2, 81, "2024-05-19", hour: 20)], at: now)
        let shelf = library.shelves[0]
        let days = shelf.history.series(0, through: library.today(of: shelf))
            .map { shelf.record($0, of: 0, source: Source(plugin: "gap-filler")) }
        #expect(days.map(\.method) == ["mean", "carried"])
        #expect(days.map(\.age) == [nil, 1])
        #expect(days.map { $0.observedOn?.text } == [nil, "2024-05-19"])
        #expect(days.allSatisfy { $0.value == 80.5 && $0.basis == [.number(1), .number(2)] && $0.zone == nil })
        #expect(days[0].metadata?.text == #"{"formula":"mean30","formulaVersion":"1","dayStart":"04:00"}"#)
    }

    @Test func `a heart rate gets weighted means, whatever the other types have`() throws {
        let settings = try Self.settings([
            "types": .list([.string("weight"), .string("heartRate")]),
            "series": .list([.string("mean"), .string("maximum")]),
        ])
        #expect(
            settings.types.map { settings.rules(of: $0).map(\.name) } == [
                ["mean30", "maximum30"], ["weightedMean", "maximum"],
            ])
    }

    // MARK: - Settings

    @Test(
        arguments: [
            (["types": .list([.string("wieght")])], "did you mean weight"),
            (["types": .list([.string("environmentalAudioExposure")])], "decibels"),
            (["types": .list([.string("sleepAnalysis")])], "not a quantity"),
            (["types": .list([])], "at least one type"),
            (["series": .list([])], "setting series"),
            (["day_zone": .string("fixed")], "setting zone"),
            (["zone": .string("Europe/Berlin")], "setting zone"),
            (["sources": .list([.string("stepCount=phone")])], "not among types"),
            (
                ["types": .list([.string("stepCount")]), "sources": .list([.string("stepCount=phone")])],
                "[priority.NAME] of hub.conf"
            ),
            (["stop_carrying": .list([.string("weight=2024-13-01")])], "setting stop_carrying"),
        ] as [([String: SettingValue], String)])
    func `invalid settings are refused with the reason`(values: [String: SettingValue], reason: String) throws {
        let failure = #expect(throws: PluginFailure.self) { try Self.settings(values) }
        #expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
        #expect(failure?.exit == .settings)
    }

    @Test func `a type is carried, averaged or summed according to its kind`() throws {
        let settings = try Self.settings([
            "types": .list([.string("bodyMass"), .string("bloodGlucose"), .string("stepCount")]),
            "series": .list([.string("mean"), .string("minimum")]), "carry_days": .integer(7),
        ])
        #expect(
            settings.types.map { settings.rules(of: $0).map(\.name) } == [
                ["mean7", "minimum7"], ["mean", "minimum"], ["sum"],
            ])
        #expect(settings.summary.contains("weight (mean7, minimum7)"))
    }

    @Test func `sample.conf matches the declarations of the manifest`() throws {
        let rendered = SampleConfiguration.render(instance: "gap-filler", declarations: FillerSettings.declarations)
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../sample.conf")
        #expect(try String(contentsOf: file, encoding: .utf8) == rendered)
        #expect(GapFiller.fullManifest.faults.isEmpty)
        #expect(GapFiller.commands.map(\.declaration.name) == ["recompute", "report"])
    }
}
