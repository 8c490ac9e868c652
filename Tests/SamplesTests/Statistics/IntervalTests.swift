import Foundation
import Platform
import Testing

@testable import Samples

@Suite struct IntervalTests {
    private func time(_ text: String) throws -> Int64 { try Timestamp(parsing: text).microseconds }

    private func intervals(
        every count: Int = 1, _ unit: Intervals.Unit, _ anchor: String, zone: String = "Europe/Berlin"
    ) throws -> Intervals { try #require(Intervals(every: count, unit, anchor: try time(anchor), zone: zone)) }

    @Test func `a day has 23, 24 or 25 hours, depending on clock changes`() throws {
        let days = try intervals(.day, "2026-01-01T00:00:00+01:00")
        func hours(_ day: String) throws -> Int64 {
            let number = days.number(of: try time(day))
            return (days.border(number + 1) - days.border(number)) / 3_600_000_000
        }
        #expect(try hours("2026-03-28T12:00:00Z") == 24)
        #expect(try hours("2026-03-29T12:00:00Z") == 23)
        #expect(try hours("2026-10-25T12:00:00Z") == 25)
        let later = try intervals(.day, "2026-01-01T02:00:00+01:00")
        #expect(
            later.border(later.number(of: try time("2026-02-03T00:30:00Z"))) == (try time("2026-02-02T02:00:00+01:00")))
    }

    @Test func `months are counted from the anchor, and an anchor at the end of a month stays at the end`() throws {
        let months = try intervals(.month, "2025-12-31T00:00:00+01:00")
        let borders = (0...4).map { Timestamp(microseconds: months.border($0)).text }
        #expect(
            borders.map { $0.prefix(10) } == ["2025-12-30", "2026-01-30", "2026-02-27", "2026-03-30", "2026-04-29"])
        let years = try intervals(.year, "2024-02-29T00:00:00+01:00")
        #expect(years.border(1) == (try time("2025-02-28T00:00:00+01:00")))
        #expect(years.border(4) == (try time("2028-02-29T00:00:00+01:00")))
    }

    @Test(
        arguments: Intervals.Unit.allCases,
        ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "UTC"])
    func `every instant lies in exactly one interval, on either side of the anchor`(
        _ unit: Intervals.Unit, _ zone: String
    ) throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<60 {
            let span: ClosedRange<Int64> = -1_000_000_000...4_000_000_000
            let anchor = Int64.random(in: span, using: &random) * 1_000_000
            let count = Int.random(in: 1...5, using: &random)
            let intervals = try #require(Intervals(every: count, unit, anchor: anchor, zone: zone))
            #expect(intervals.border(0) == anchor)
            let time =
                Int64.random(in: span, using: &random) * 1_000_000 + Int64.random(in: 0..<1_000_000, using: &random)
            let number = intervals.number(of: time)
            #expect(intervals.border(number) <= time && time < intervals.border(number + 1), "seed \(seed)")
            #expect(intervals.number(of: intervals.border(number)) == number, "seed \(seed)")
        }
    }

    @Test func `borders covers every interval that a span touches, and is nil if there are too many`() throws {
        let hours = try intervals(every: 6, .hour, "2026-01-01T00:00:00Z")
        let (from, to) = (try time("2026-01-01T05:00:00Z"), try time("2026-01-01T12:00:00Z"))
        #expect(hours.borders(from: from, to: to, most: 2)?.count == 3)
        #expect(hours.borders(from: from, to: to, most: 1) == nil)
        #expect(hours.borders(from: from, to: from, most: 1) == [])
        #expect(Intervals(.day, anchor: 0, zone: "Mars/Olympus") == nil)
        #expect(Intervals(every: 0, .day, anchor: 0, zone: "UTC") == nil)
    }
}
