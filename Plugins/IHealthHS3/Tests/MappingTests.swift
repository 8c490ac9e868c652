import Foundation
import PluginKit
import ScaleFrames
import Testing

@testable import IHealthHS3

struct MappingTests {
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
    func `a wall time is placed by its zone, also where the clock is changed`(
        zone: String, local: String, start: String, mark: String
    ) throws {
        let clock = LocalClock(try #require(TimeZone(identifier: zone)))
        let placed = clock.place(try #require(WallTime(local)))
        #expect(placed.time.text == start)
        #expect(placed.isAmbiguous == (mark == "ambiguous"))
        #expect(placed.isInGap == (mark == "gap"))
        if mark.isEmpty { #expect(clock.wall(at: placed.time.microseconds).description == local) }
    }

    @Test func `weights are the double that the digits name, at every tenth`() throws {
        for tenths in 0...1500 {
            let time = try #require(WallTime("2026-11-20 07:30:05"))
            let key = try #require(HS3Record(time, tenthsOfKilogram: tenths)?.key)
            let text = try record(key)
            #expect(
                text.contains("\"value\":\(tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"),"))
            let reading = try #require(Self.reading(key))
            let sample = try #require(Self.mapping.sample(reading, at: time, isClockSuspect: false))
            #expect(sample.value == .quantity(Double("\(tenths / 10).\(tenths % 10)") ?? -1, unit: "kg"))
            #expect(Self.text(sample) == text)
        }
    }

    static let mapping = WeightMapping(
        source: Source(plugin: "ihealth-hs3", device: SimulatedScale.device), clock: LocalClock(SimulatedScale.zone))

    static func text(_ sample: Sample) -> String {
        var bytes: [UInt8] = []
        RecordEncoder.append(.sample(sample), to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What the dialogue makes of a weighing.
    static func reading(_ key: HS3RecordKey, _ mode: HS3HourMode = .sdk12) -> HS3Reading? {
        var settings = HS3Host.Settings()
        settings.hourMode = mode
        var host = HS3Host(settings: settings)
        let moment = ScaleMoment(uptime: .zero, wall: .startOf2000)
        _ = host.handle(.linkOpened, at: moment)
        guard let frame = HS3Frame(from: .scale, 0x28, sequence: 0, data: key.bytes) else { return nil }
        for case .deliver(let delivery) in host.handle(.received(frame.bytes), at: moment) {
            return delivery.readings.first
        }
        return nil
    }

    @Test func `the reading of the hour is a setting, and changes the time and nothing else`() throws {
        // 17:55:46 on 2018-01-04 as a 12-hour number, 21:55:46 as a 24-hour one (bytes of the captured form).
        let key = try #require(HS3Record([0x48, 0x49, 0x5D, 0xEE, 0x07, 0x23])?.key)
        for (mode, hour) in [(HS3HourMode.sdk12, "17"), (.raw24, "21")] {
            let reading = try #require(Self.reading(key, mode))
            let wall = try #require(reading.time)
            let sample = try #require(Self.mapping.sample(reading, at: wall, isClockSuspect: false))
            #expect(sample.start.text == "2018-01-04T\(hour):55:46+01:00")
            #expect(sample.key.text == "48495dee0723")
            #expect(sample.metadata?.text == "{\"local\":\"2018-01-04 \(hour):55:46\"}")
        }
    }

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

    @Test func `what is known survives being saved, keeps what comes again, and forgets the rest at its bound`() throws
    {
        let keys = (0..<1100).compactMap { second in
            WallTime(secondsSince2000: 800_000_000 + second * 60).flatMap { HS3Record($0, tenthsOfKilogram: 700)?.key }
        }
        var known = KnownWeighings(rule: "Europe/Berlin sdk12")
        for (place, key) in keys.prefix(KnownWeighings.limit).enumerated() {
            known.note(.init(key: key, isClockSuspect: place % 2 == 0, isUndated: place % 3 == 0))
        }
        known.touch(keys[0])
        known.note(.init(key: keys[1050]))
        #expect(known.entries.count == KnownWeighings.limit)
        #expect(known[keys[0]] != nil, "seen again")
        #expect(known[keys[1]] == nil, "the longest unseen")
        let same = KnownWeighings(rule: known.rule, saved: known.bytes, under: known.rule)
        #expect(same == known)
        let other = KnownWeighings(rule: "Asia/Tokyo sdk12", saved: known.bytes, under: known.rule)
        #expect(other.entries.allSatisfy { !$0.isSettled })
        #expect(other.entries.map(\.isClockSuspect) == known.entries.map(\.isClockSuspect))
        let torn = KnownWeighings(rule: known.rule, saved: Array(known.bytes.dropLast(3)), under: known.rule)
        #expect(torn.entries.count == known.entries.count - 1)
    }
}
