import Foundation
import PluginKit
import Testing

@testable import ScaleProtocols

struct ClockTests {
    @Test(arguments: [
        ("Europe/Berlin", "2026-07-01 07:30:05", "2026-07-01T07:30:05+02:00", ""),
        ("Europe/Berlin", "2026-03-29 01:59:59", "2026-03-29T01:59:59+01:00", ""),
        ("Europe/Berlin", "2026-03-29 02:30:00", "2026-03-29T03:30:00+02:00", "gap"),
        ("Europe/Berlin", "2026-03-29 03:00:00", "2026-03-29T03:00:00+02:00", ""),
        ("Europe/Berlin", "2026-10-25 01:59:59", "2026-10-25T01:59:59+02:00", ""),
        ("Europe/Berlin", "2026-10-25 02:30:00", "2026-10-25T02:30:00+02:00", "ambiguous"),
        ("Europe/Berlin", "2026-10-25 03:00:00", "2026-10-25T03:00:00+01:00", ""),
        ("America/New_York", "2026-11-01 01:30:00", "2026-11-01T01:30:00-04:00", "ambiguous"),
        ("Australia/Lord_Howe", "2026-10-04 02:15:00", "2026-10-04T02:45:00+11:00", "gap"),
        ("Asia/Kathmandu", "2026-01-01 00:00:00", "2026-01-01T00:00:00+05:45", ""),
        ("Pacific/Apia", "2011-12-31 00:30:00", "2011-12-31T00:30:00+14:00", ""),
    ])
    func `a wall time is placed by its zone, also if the clock is changed`(
        zone: String, local: String, start: String, mark: String
    ) throws {
        let clock = LocalClock(try #require(TimeZone(identifier: zone)))
        let placed = clock.place(try #require(WallTime(local)))
        #expect(placed.time.text == start)
        #expect(placed.isAmbiguous == (mark == "ambiguous"))
        #expect(placed.isInGap == (mark == "gap"))
        if mark.isEmpty { #expect(clock.wall(at: placed.time.microseconds).description == local) }
    }

    @Test func `a time that this machine read from its clock is its exact instant, also in the repeated hour`()
        throws
    {
        let clock = LocalClock(try #require(TimeZone(identifier: "Europe/Berlin")))
        for text in ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"] {
            let now = try Timestamp(parsing: text).microseconds
            let wall = clock.wall(at: now)
            #expect(wall.description == "2026-10-25 02:30:00")
            #expect(clock.instant(of: wall, near: now + 2_000_000) == now)
        }
        #expect(
            clock.timestamp(at: try Timestamp(parsing: "2026-10-25T01:30:00Z").microseconds).text
                == "2026-10-25T02:30:00+01:00")
    }

    static let mapping = WeighingMapping(
        source: Source(plugin: "ihealth-hs3", device: "020000003001"),
        clock: LocalClock(TimeZone(identifier: "Europe/Berlin") ?? .gmt))

    @Test(
        arguments: [
            ("2026-11-20 13:05:00", nil, false), ("2026-11-20 13:05:01", nil, true),
            ("2010-01-01 00:00:00", nil, false),
            ("2009-12-31 23:59:59", nil, true), ("2026-11-20 07:00:00", 300, false), ("2026-11-20 07:00:00", 301, true),
            ("2026-11-20 07:00:00", -301, true),
        ] as [(String, Int?, Bool)])
    func `a date is suspect in the future, before 2010, and from a clock more than five minutes wrong`(
        local: String, deviation: Int?, isSuspect: Bool
    ) throws {
        let now = try Timestamp(parsing: "2026-11-20T12:00:00Z").microseconds
        let wall = try #require(WallTime(local))
        #expect(Self.mapping.isClockSuspect(wall, deviation: deviation, now: now) == isSuspect)
    }

    @Test(arguments: [
        ("0001-01-01 00:00:00", false), ("9999-12-31 23:59:59", false), ("1970-01-01 00:00:00", true),
        ("0001-01-03 00:00:00", true), ("9999-12-30 12:00:00", true),
    ])
    func `a date that no record can have counts as no date`(local: String, isDate: Bool) throws {
        let wall = try #require(WallTime(local))
        let told = ScaleReading(key: [1], time: wall, tenthsOfKilogram: 700, raw: [1])
        #expect((Self.mapping.dated(told) != nil) == isDate)
        let instant = ScaleReading(
            key: [1], time: nil, tenthsOfKilogram: 700, raw: [1], instant: wall.secondsSince2000)
        #expect((Self.mapping.dated(instant) != nil) == isDate)
        #expect(Self.mapping.dated(ScaleReading(key: [1], time: nil, tenthsOfKilogram: 700, raw: [1])) == nil)
    }

    @Test func `the impedance weight of a weighing ends with it, however it ends`() {
        #expect(ScaleEvent.impedanceWeight(700).impedanceWeight(after: nil) == 700)
        #expect(ScaleEvent.memoryStart(true).impedanceWeight(after: 700) == 700)
        #expect(ScaleEvent.unstableWeight(650).impedanceWeight(after: 700) == nil)
        #expect(ScaleEvent.deviceError(.disconnected(.hs5)).impedanceWeight(after: 700) == nil)
        #expect(ScaleEvent.disconnected.impedanceWeight(after: 700) == nil)
    }

    @Test func `muscle in kilograms is a mass, and a part above the whole is omitted`() throws {
        var mapping = Self.mapping
        mapping.isGroup = true
        mapping.muscleUnit = .kilograms
        let composition = HS5Record.Composition(
            fat: 1001, water: 453, muscle: 413, bone: 0, visceralFat: 8, dailyCalories: 2502)
        let weighing = Weighing(key: "00", time: .host(0), tenthsOfKilogram: 842, composition: composition)
        let samples = mapping.samples(weighing)
        #expect(
            samples.map(\.type.rawValue) == [
                "weight", "x.ihealth.bodyWaterPercentage", "x.ihealth.muscleMass", "x.ihealth.visceralFatLevel",
                "x.ihealth.dailyCalorieIntake",
            ])
        #expect(samples[2].value == .quantity(41.3, unit: "kg"))
        #expect(samples.allSatisfy { $0.group == "00" })
    }
}
