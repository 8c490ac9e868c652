import Foundation
import Platform
import Testing

@testable import Samples

/// The Gregorian calendar.
@Suite struct LocalDateTests {
    @Test func `every date of eight centuries equals Foundation's`() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let first = try #require(LocalDate("1600-01-01")).daysSinceEpoch
        let last = try #require(LocalDate("2399-12-31")).daysSinceEpoch
        #expect(last - first + 1 == 2 * 146_097)
        for days in first...last {
            let parts = calendar.dateComponents(
                [.year, .month, .day], from: Date(timeIntervalSince1970: Double(days) * 86_400))
            let date = LocalDate(daysSinceEpoch: days)
            guard (parts.year, parts.month, parts.day) == (date.year, date.month, date.day), date.daysSinceEpoch == days
            else {
                Issue.record("day \(days): \(date.text) here, \(parts) there")
                return
            }
        }
    }

    @Test func `months follow one another without gaps from year 1 to 9999`() throws {
        var days = try #require(LocalDate("0001-01-01")).daysSinceEpoch
        #expect(days == -719_162)
        for year in 1...9_999 {
            for month in 1...12 {
                let length = LocalDate.daysInMonth(month, year: year)
                let (first, last) = (LocalDate(daysSinceEpoch: days), LocalDate(daysSinceEpoch: days + length - 1))
                guard (first.year, first.month, first.day) == (year, month, 1), first.daysSinceEpoch == days,
                    (last.year, last.month, last.day) == (year, month, length),
                    last.daysSinceEpoch == days + length - 1, LocalDate(last.text) == last, first < last || length == 1
                else {
                    Issue.record("\(year)-\(month): \(first.text) to \(last.text)")
                    return
                }
                days += length
            }
        }
        #expect(LocalDate(daysSinceEpoch: days - 1).text == "9999-12-31")
    }

    @Test(arguments: [
        (1, false), (4, true), (1900, false), (2000, true), (2023, false), (2024, true), (2100, false), (2400, true),
    ])
    func `a century is a leap year only every fourth time`(year: Int, isLeap: Bool) throws {
        #expect(LocalDate.daysInMonth(2, year: year) == (isLeap ? 29 : 28))
        let text = String(format: "%04d-02-29", year)
        #expect((LocalDate(text) != nil) == isLeap)
        let march = try #require(LocalDate(String(format: "%04d-03-01", year)))
        #expect(march.adding(days: -1).day == (isLeap ? 29 : 28))
    }

    @Test(arguments: [
        "", "2024-3-15", "2024-03-1", "2024-03-155", "24-03-15", "2024/03/15", "2024-03-15Z", " 2024-03-15",
        "+024-03-15", "2024-00-01",
        "2024-13-01", "2024-01-00", "2024-01-32", "2024-04-31", "2023-02-29", "0000-01-01", "٢٠24-03-15",
        "2024-03-1\u{0}",
    ])
    func `a text that is not a valid date is rejected`(text: String) { #expect(LocalDate(text) == nil) }

    @Test func `adding days crosses months, leap days and years in both directions`() throws {
        let date = try #require(LocalDate("2024-02-28"))
        #expect(date.adding(days: 1).text == "2024-02-29" && date.adding(days: 2).text == "2024-03-01")
        #expect(date.adding(days: -59).text == "2023-12-31" && date.adding(days: 366).text == "2025-02-28")
        #expect(date.adding(days: 0) == date)
    }

    @Test(arguments: [UInt64(31)]) func `dates have the same order as their day numbers`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let left = Int.random(in: -800_000...3_000_000, using: &generator)
            let right = left + Int.random(in: -400...400, using: &generator)
            #expect(
                (LocalDate(daysSinceEpoch: left) < LocalDate(daysSinceEpoch: right)) == (left < right), "seed \(seed)")
        }
    }

    @Test func `every timestamp has a local date, also beyond the printable range`() {
        for microseconds in [Int64.min, Int64.max] {
            for offset: Int16? in [nil, .min, .max] {
                let date = Timestamp(microseconds: microseconds, offsetMinutes: offset).localDate
                #expect(LocalDate(daysSinceEpoch: date.daysSinceEpoch) == date)
            }
        }
        #expect(LocalDate(daysSinceEpoch: -719_163).text == "0000-12-31")
        #expect(LocalDate(daysSinceEpoch: -719_163 - 366).text == "-0001-12-31")
    }

    @Test(arguments: [
        ("1988-02-29", "2023-02-28", 34), ("1988-02-29", "2023-03-01", 35), ("1988-02-29", "2024-02-29", 36),
        ("1984-05-06", "2026-05-05", 41), ("1984-05-06", "2026-05-06", 42), ("1984-05-06", "1984-05-06", 0),
        ("1984-05-06", "1984-05-05", nil),
    ])
    func `an age is the difference of the years, less one before the birthday`(
        _ birth: String, _ day: String, _ age: Int?
    ) throws { #expect(try #require(LocalDate(birth)).age(on: #require(LocalDate(day))) == age) }
}
