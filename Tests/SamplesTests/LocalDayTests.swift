import Foundation
import HubProcess
import Platform
import Testing

@testable import Samples

/// The local day that a sample belongs to.
@Suite struct LocalDayTests {
    static func day(
        _ time: String, zone: String? = nil, person: String = "Europe/Berlin", policy: LocalDay.ZonePolicy = .sample,
        start: Int = 0
    ) throws -> String? {
        try LocalDay.of(
            Timestamp(parsing: time), sampleZone: zone, personZone: person, policy: policy, dayStartMinutes: start)?
            .text
    }

    /// Days with a clock change, each with its first and last microsecond in UTC.
    @Test(arguments: [
        ("Europe/Berlin", "2024-03-31", "2024-03-30T23:00:00Z", "2024-03-31T21:59:59.999999Z"),
        ("Europe/Berlin", "2024-10-27", "2024-10-26T22:00:00Z", "2024-10-27T22:59:59.999999Z"),
        ("America/New_York", "2024-03-10", "2024-03-10T05:00:00Z", "2024-03-11T03:59:59.999999Z"),
        ("America/New_York", "2024-11-03", "2024-11-03T04:00:00Z", "2024-11-04T04:59:59.999999Z"),
    ])
    func `a day with a clock change has 23 or 25 hours`(zone: String, day: String, first: String, last: String) throws {
        let (begin, end) = (try Timestamp(parsing: first).microseconds, try Timestamp(parsing: last).microseconds)
        #expect([23, 25].contains((end - begin + 1) / 3_600_000_000) && (end - begin + 1) % 3_600_000_000 == 0)
        let date = try #require(LocalDate(day))
        for (microseconds, expected) in [
            (begin - 1, date.adding(days: -1)), (begin, date), ((begin + end) / 2, date), (end, date),
            (end + 1, date.adding(days: 1)),
        ] {
            let time = Timestamp(microseconds: microseconds)
            #expect(LocalDay.of(time, sampleZone: zone, personZone: "GMT") == expected)
            #expect(LocalDay.of(time, sampleZone: nil, personZone: zone) == expected)
            #expect(LocalDay.of(time, sampleZone: "GMT", personZone: zone, policy: .fixed) == expected)
        }
    }

    @Test func `the day follows the sample's zone, else its offset, else the person's zone`() throws {
        // At 23:30 in Berlin it is already the next day in Tokyo.
        #expect(try Self.day("2024-03-15T23:30:00+01:00") == "2024-03-15")
        #expect(try Self.day("2024-03-15T23:30:00+01:00", person: "Asia/Tokyo") == "2024-03-15")
        #expect(try Self.day("2024-03-15T22:30:00Z", zone: "Asia/Tokyo") == "2024-03-16")
        #expect(try Self.day("2024-03-15T23:30:00+01:00", zone: "Asia/Tokyo") == "2024-03-16")
        #expect(try Self.day("2024-03-15T22:30:00Z", person: "Asia/Tokyo") == "2024-03-16")
        #expect(try Self.day("2024-03-15T22:30:00+00:00", person: "Asia/Tokyo") == "2024-03-15")
    }

    @Test func `the fixed policy uses the person's zone and ignores the sample's zone and offset`() throws {
        for zone in [nil, "America/New_York", "Mars/Olympus"] {
            #expect(try Self.day("2024-03-15T23:30:00-05:00", zone: zone, policy: .fixed) == "2024-03-16")
        }
    }

    @Test func `an unknown zone gives no day, but only if that zone is needed`() throws {
        #expect(try Self.day("2024-03-15T07:30:05Z", zone: "Mars/Olympus") == nil)
        #expect(try Self.day("2024-03-15T07:30:05+01:00", zone: "") == nil)
        #expect(try Self.day("2024-03-15T07:30:05Z", person: "Mars/Olympus") == nil)
        #expect(try Self.day("2024-03-15T07:30:05+01:00", policy: .fixed) == "2024-03-15")
        #expect(try Self.day("2024-03-15T07:30:05+01:00", person: "Mars/Olympus") == "2024-03-15")
        #expect(try Self.day("2024-03-15T07:30:05Z", zone: "Europe/Berlin", person: "Mars/Olympus") == "2024-03-15")
    }

    @Test func `a day may begin at a time other than midnight on the local clock`() throws {
        #expect(try Self.day("2024-03-15T03:59:59.999999+01:00", start: 240) == "2024-03-14")
        #expect(try Self.day("2024-03-15T04:00:00+01:00", start: 240) == "2024-03-15")
        #expect(try Self.day("2024-03-15T23:58:59+01:00", start: 1_439) == "2024-03-14")
        #expect(try Self.day("2024-03-15T23:59:00+01:00", start: 1_439) == "2024-03-15")
        // Days that start at 04:00, after each clock change in Berlin.
        #expect(try Self.day("2024-03-31T01:59:59Z", zone: "Europe/Berlin", start: 240) == "2024-03-30")
        #expect(try Self.day("2024-03-31T02:00:00Z", zone: "Europe/Berlin", start: 240) == "2024-03-31")
        #expect(try Self.day("2024-10-27T02:59:59Z", zone: "Europe/Berlin", start: 240) == "2024-10-26")
        #expect(try Self.day("2024-10-27T03:00:00Z", zone: "Europe/Berlin", start: 240) == "2024-10-27")
    }

    @Test func `the last microsecond before a clock change counts as before it in every century`() throws {
        // Clocks go from 02:00 to 03:00, and the day begins at 02:00. In 2500 a double cannot represent that microsecond.
        for switchover in ["2024-03-31T01:00:00Z", "2500-03-28T01:00:00Z"] {
            let time = try Timestamp(parsing: switchover)
            let before = Timestamp(microseconds: time.microseconds - 1)
            let date = time.localDate
            #expect(LocalDay.of(time, sampleZone: "Europe/Berlin", personZone: "GMT", dayStartMinutes: 120) == date)
            #expect(
                LocalDay.of(before, sampleZone: "Europe/Berlin", personZone: "GMT", dayStartMinutes: 120)
                    == date.adding(days: -1))
        }
    }

    @Test(arguments: [
        "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe", "GMT",
    ])
    func `the day agrees with Foundation's calendar`(zone: String) throws {
        let seed: UInt64 = 41
        var generator = SeededGenerator(seed: seed)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: zone))
        for _ in 0..<Thoroughness.rounds(1_500) {
            let second = Int64.random(in: -2_000_000_000...4_000_000_000, using: &generator)
            let parts = calendar.dateComponents(
                [.year, .month, .day], from: Date(timeIntervalSince1970: Double(second)))
            let day = try #require(
                LocalDay.of(Timestamp(microseconds: second * 1_000_000), sampleZone: zone, personZone: "GMT"))
            #expect((day.year, day.month, day.day) == (parts.year, parts.month, parts.day), "seed \(seed): \(second)")
        }
    }

    @Test func `without a zone the day is the date in the timestamp's text`() throws {
        let seed: UInt64 = 42
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<Thoroughness.rounds(2_000) {
            let time = Timestamp(
                microseconds: Int64.random(in: Timestamp.range, using: &generator),
                offsetMinutes: Int16.random(in: -1_439...1_439, using: &generator))
            let day = LocalDay.of(time, sampleZone: nil, personZone: "Mars/Olympus")
            #expect(day?.text == String(time.text.prefix(10)), "seed \(seed): \(time.text)")
        }
    }
}
