import HubProcess
import Platform
import Testing

@testable import ScaleProtocols

struct TimeTests {
    static func anyTime(_ random: inout SeededGenerator) throws -> WallTime {
        let seconds = Int.random(in: 0..<64 * 365 * 86400, using: &random)
        return try #require(WallTime(secondsSince2000: seconds))
    }

    @Test func `seconds and dates agree with the calendar`() throws {
        #expect(WallTime(2000, 1, 1)?.secondsSince2000 == 0)
        #expect(WallTime(1970, 1, 1)?.secondsSince2000 == -946_684_800)
        #expect(WallTime(2024, 2, 29, 12)?.secondsSince2000 == 762_523_200)
        #expect(WallTime(secondsSince2000: 762_523_200)?.description == "2024-02-29 12:00:00")
        #expect(WallTime(2100, 2, 29) == nil)
        #expect(WallTime(2000, 2, 29) != nil)
        #expect(WallTime(2026, 4, 31) == nil)
        #expect(WallTime(2026, 0, 0) == nil)
        #expect(WallTime(secondsSince2000: .max) == nil)
        #expect(WallTime(secondsSince2000: .min) == nil)
        #expect(WallTime(2026, 1, 1)?.adding(seconds: .max) == nil)
    }

    @Test func `every day of 900 years follows the one before`() throws {
        var day = try #require(WallTime(1599, 1, 1))
        let last = try #require(WallTime(2499, 1, 1))
        var days = 0
        while day < last {
            let next = try #require(day.adding(seconds: 86400))
            let isTomorrow =
                (next.day == day.day + 1 && next.month == day.month && next.year == day.year)
                || (next.day == 1 && day.day >= 28
                    && (next.month == day.month + 1 && next.year == day.year
                        || next.month == 1 && day.month == 12 && next.year == day.year + 1))
            if !isTomorrow { Issue.record("\(next) does not follow \(day)") }
            if next.secondsSince2000 - day.secondsSince2000 != 86400 {
                Issue.record("\(next) is not a day after \(day)")
            }
            day = next
            days += 1
        }
        #expect(days == 328_719)
    }

    @Test func `a text is read strictly and written back`() {
        #expect(WallTime("2026-11-20T07:30")?.description == "2026-11-20 07:30:00")
        #expect(WallTime("2026-11-20 07:30:59")?.description == "2026-11-20 07:30:59")
        #expect(WallTime("2026-11-20")?.hour == 0)
        for wrong in [
            "", "2026-11", "2026-11-20T7:30", "2026-11-31", "2026-11-20T24:00", "+026-11-20", "2026-11-20T07:30Z",
            "2026-11--1",
        ] {
            #expect(WallTime(wrong) == nil, "\(wrong)")
        }
    }

    @Test(arguments: Thoroughness.seeds(200))
    func `every encoding reads back the written time`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let time = try TimeTests.anyTime(&random)
        for mode in [HS3HourMode.sdk12, .raw24] {
            #expect(time.hs3Packed(mode: mode).flatMap { WallTime(hs3Packed: $0, mode: mode) } == time, "seed \(seed)")
        }
        for command in [HS3Command.setClock, .lastKnown] {
            #expect(time.hs3Binary(for: command).flatMap { WallTime(hs3Binary: $0) } == time, "seed \(seed)")
        }
        for mode in [HS3ClockMode.bcd24, .bcd12] {
            let digits = try #require(time.hs3BCD(mode: mode))
            #expect(WallTime(hs3BCD: digits, mode: mode, host: time) == time, "seed \(seed)")
            #expect(WallTime(hs3BCD: digits, mode: .nearest, host: time) == time, "seed \(seed)")
        }
    }

    @Test func `noon and midnight are written as the vendor writes them`() throws {
        let (noon, midnight) = (try #require(WallTime(2024, 2, 29, 12)), try #require(WallTime(2024, 3, 15, 0, 0, 1)))
        #expect(noon.hs3Binary(for: .setClock) == [24, 2, 29, 0x20, 0, 0])
        #expect(noon.hs3Binary(for: .lastKnown) == [24, 2, 29, 0x2C, 0, 0])
        #expect(midnight.hs3Binary(for: .setClock) == [24, 3, 15, 0, 0, 1])
        #expect(midnight.hs3Binary(for: .lastKnown) == [24, 3, 15, 12, 0, 1])
        #expect(noon.hs3Packed(mode: .sdk12) == 0x60BB_C000)
        #expect(midnight.hs3Packed(mode: .sdk12) == 0x60DE_C001)
    }

    @Test func `bits that are not a date are not read`() {
        #expect(WallTime(hs3Packed: 0, mode: .sdk12) == nil)
        #expect(WallTime(hs3Packed: 0xFFFF_FFFF, mode: .sdk12) == nil)
        #expect(WallTime(hs3Binary: [24, 13, 1, 0, 0, 0]) == nil)
        #expect(WallTime(hs3Binary: [24, 1, 1, 13, 0, 0]) == nil)
        #expect(WallTime(hs3Binary: [24, 1, 1]) == nil)
        #expect(WallTime(2064, 1, 1)?.hs3Packed(mode: .sdk12) == nil)
        #expect(WallTime(2256, 1, 1)?.hs3Binary(for: .setClock) == nil)
    }

    @Test func `an afternoon clock is read in the form that is closest to the host's time`() throws {
        let host = try #require(WallTime("2026-11-20 21:03"))
        let digits: [UInt8] = [0x26, 0x11, 0x20, 0x21, 0x05, 0x00]
        #expect(WallTime(hs3BCD: digits, mode: .nearest, host: host)?.hour == 21)
        let noon = try #require(WallTime("2026-11-20 13:03"))
        #expect(WallTime(hs3BCD: digits, mode: .nearest, host: noon)?.hour == 13)
        #expect(WallTime(hs3BCD: digits, mode: .bcd24, host: noon)?.hour == 21)
        #expect(WallTime(hs3BCD: [0x26, 0x11, 0x20, 0x1A, 0, 0], mode: .nearest, host: noon) == nil)
    }

    @Test func `a batch proves its hour form or leaves it open`() throws {
        let evening = try #require(WallTime(2026, 3, 1, 21, 5))
        let afternoon = try #require(WallTime(2026, 3, 1, 14, 5))
        let morning = try #require(WallTime(2026, 3, 1, 7, 5))
        func packed(_ times: [WallTime], _ mode: HS3HourMode) -> [UInt32] {
            times.compactMap { $0.hs3Packed(mode: mode) }
        }
        #expect(HS3HourMode.proven(by: packed([morning, evening], .sdk12)) == .sdk12)
        #expect(HS3HourMode.proven(by: packed([morning, afternoon], .raw24)) == .raw24)
        #expect(HS3HourMode.proven(by: packed([morning], .sdk12)) == nil)
        #expect(HS3HourMode.proven(by: packed([evening], .sdk12) + packed([afternoon], .raw24)) == nil)
    }

    @Test(arguments: Thoroughness.seeds(100))
    func `a key has the bytes of the record, whatever they are`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let data = (0..<7).map { _ in UInt8.random(in: 0...255, using: &random) }
        let record = try #require(HS3Record(data[...]))
        #expect(record.bytes == data)
        #expect(record.key.description.count == 12)
        #expect(HS3Record(data.prefix(6))?.key == record.key)
        #expect(HS3Record(data.prefix(5)) == nil)
    }

    @Test func `weights are four decimal digits, in tenths of a kilogram`() throws {
        let time = try #require(WallTime(2026, 3, 1, 7, 5))
        for tenths in [0, 5, 99, 100, 723, 1500, 9999] {
            #expect(HS3Record(time, tenthsOfKilogram: tenths)?.key.tenthsOfKilogram == tenths)
        }
        #expect(HS3Record(time, tenthsOfKilogram: 10000) == nil)
        #expect(HS3Record(time, tenthsOfKilogram: -1) == nil)
    }

    @Test func `an unknown error byte stays unknown and keeps its number`() {
        #expect(ScaleError.sent(0xE7, by: .hs3).sentence == "HS3: stand still, movement while measuring (Er7)")
        #expect(ScaleError.sent(0xE7, by: .hs3).raw == 0xE7)
        #expect(ScaleError.sent(0x05, by: .hs3).errorClass == .information)
        let unknown = ScaleError.sent(0x9, by: .hs3)
        #expect(unknown.code == nil && unknown.errorClass == .unknown && unknown.raw == 9)
        #expect(unknown.sentence.contains("09"))
        #expect(ScaleError.sent(0x9, by: .hs3, table: [9: 4]).name == "HS3DeviceEr7")
        #expect(ScaleError.sent(0x9, by: .hs3, table: [9: 77]).code == nil)
        #expect(ScaleError.all(of: .hs3).compactMap(\.code) == [1, 2, 3, 4, 5, 6, 7, 111])
    }
}
