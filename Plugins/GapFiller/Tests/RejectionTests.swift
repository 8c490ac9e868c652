import HubWire
import PluginKit
import Testing

@testable import GapFiller

@Suite struct RejectionTests {
    private func day(_ date: Int, _ value: Double = 80) throws -> Record {
        .day(
            DayValue(
                source: Source(plugin: "gap-filler"), person: "me", type: .weight, series: "mean30",
                date: try #require(LocalDate("2024-05-\(date)")), value: value, unit: "kg", method: "mean"))
    }

    @Test func `rejected days are one line per code, and are retried until the hub has them`() throws {
        let days = try (10...13).map { try day($0) }
        let stored = RecordResult.duplicate(number: 1, sequence: 1)
        var rejections = Rejections()
        rejections.note(
            days,
            [
                .rejected(.value, reason: "second"), stored, .rejected(.unit, reason: "third"),
                .rejected(.value, reason: "x"),
            ])
        #expect(rejections.records == [days[0], days[2], days[3]])
        let library = ReadingIndex(try ReadingIndexTests.settings(), [:])
        #expect(
            StatusProblems.text(library, rejections)
                == "the hub rejected 1 day (unit): third; the hub rejected 2 days (value): second")
        #expect(rejections.concern(SeriesName(person: "me", type: .weight, series: "mean30")))
        #expect(!rejections.concern(SeriesName(person: "me", type: .weight, series: "last30")))
        // Another value of the day replaces the rejected one.
        rejections.note([try day(10, 79)], [stored])
        rejections.note([days[2]], [.rejected(.unknown, reason: "nothing to take back")])
        #expect(rejections.records == [days[3]])
        rejections.note([days[3]], [stored])
        #expect(rejections.isEmpty && StatusProblems.text(library, rejections) == nil)
    }
}
