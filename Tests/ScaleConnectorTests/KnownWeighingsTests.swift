import ScaleFrames
import Testing

@testable import ScaleConnector

struct KnownWeighingsTests {
    static func reading(
        _ local: String, _ tenths: Int = 723, user: UInt32? = nil, byHost: Bool = false
    ) throws -> ScaleReading {
        let wall = try #require(WallTime(local))
        let record = try #require(HS5Record(wall, tenthsOfKilogram: tenths))
        return ScaleReading(
            key: record.key, time: wall, tenthsOfKilogram: tenths, user: user, raw: record.bytes, isDatedByHost: byHost)
    }

    static func live(_ local: String, _ tenths: Int = 723, user: UInt32? = nil) throws -> KnownWeighings.Entry {
        let reading = try reading(local, tenths, user: user, byHost: true)
        return KnownWeighings.Entry(
            key: .init(reading), hostTime: 1, liveWall: reading.time?.secondsSince2000, tenthsOfKilogram: tenths)
    }

    static func known(_ entries: KnownWeighings.Entry...) -> KnownWeighings {
        var known = KnownWeighings(rule: "Europe/Berlin")
        for entry in entries { known.note(entry) }
        return known
    }

    @Test(arguments: [
        ("2026-11-20 07:30:00", true), ("2026-11-20 07:29:00", true), ("2026-11-20 07:28:59", false),
        ("2026-11-20 07:30:05", true), ("2026-11-20 07:30:06", false),
    ])
    func `a record is the copy of a weighing dated by the host from a minute before it to five seconds after`(
        local: String, isCopy: Bool
    ) throws {
        let known = Self.known(try Self.live("2026-11-20 07:30:00"))
        #expect((known.twin(of: try Self.reading(local)) != nil) == isCopy)
    }

    @Test func `another weight, another user or a date by the scale is another weighing`() throws {
        let live = try Self.live("2026-11-20 07:30:00", user: 7)
        #expect(Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58", user: 7)) != nil)
        #expect(Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58", 724, user: 7)) == nil)
        #expect(Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58", user: 8)) == nil)
        #expect(Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58")) == nil)
        #expect(
            Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58", user: 7, byHost: true)) == nil,
            "who stands on the scale now weighs now")
        var dated = live
        dated.liveWall = nil
        #expect(Self.known(dated).twin(of: try Self.reading("2026-11-20 07:29:58", user: 7)) == nil)
    }

    @Test func `a weighing has one copy, and the nearest of two weighings is taken`() throws {
        var (first, second) = (try Self.live("2026-11-20 07:30:00"), try Self.live("2026-11-20 07:30:30"))
        let record = try Self.reading("2026-11-20 07:29:57")
        #expect(Self.known(first, second).twin(of: record)?.key == first.key)
        #expect(Self.known(first, second).twin(of: try Self.reading("2026-11-20 07:30:28"))?.key == second.key)
        first.isTwin = true
        #expect(Self.known(first, second).twin(of: record)?.key == second.key)
        second.isTwin = true
        #expect(Self.known(first, second).twin(of: record) == nil)
    }

    @Test func `what is known survives being saved, keeps what comes again, and forgets the rest at its bound`() throws
    {
        let keys = (0..<4200).compactMap { second in
            WallTime(secondsSince2000: 800_000_000 + second * 60).flatMap { HS5Record($0, tenthsOfKilogram: 700)?.key }
        }.map { KnownWeighings.Key(bytes: $0) }
        var known = KnownWeighings(rule: "Europe/Berlin sdk12")
        for (place, key) in keys.prefix(KnownWeighings.limit).enumerated() {
            known.note(.init(key: key, isClockSuspect: place % 2 == 0, isUndated: place % 3 == 0))
        }
        known.touch(keys[0])
        known.note(.init(key: keys[4150]))
        #expect(known.entries.count == KnownWeighings.limit)
        #expect(known[keys[0]] != nil, "seen again")
        #expect(known[keys[1]] == nil, "the longest unseen")
        let other = KnownWeighings(rule: "Asia/Tokyo sdk12", saved: known.bytes, under: known.rule)
        #expect(other.entries.allSatisfy { !$0.isSettled })
        #expect(other.entries.map(\.isClockSuspect) == known.entries.map(\.isClockSuspect))
        let torn = KnownWeighings(rule: known.rule, saved: Array(known.bytes.dropLast(3)), under: known.rule)
        #expect(torn.entries.count == known.entries.count - 1)
    }

    @Test func `what only a weighing as it happened could tell stays, however much the cloud brings`() throws {
        let live = try Self.live("2026-11-20 07:30:00")
        var known = Self.known(live)
        for number in 0..<KnownWeighings.limit + 10 {
            known.note(.init(key: .init(bytes: [0, UInt8(number >> 8), UInt8(number & 255)])))
        }
        #expect(known.entries.count == KnownWeighings.limit)
        #expect(known[live.key] == live)
    }

    @Test func `every part of an entry is saved`() throws {
        var known = KnownWeighings(rule: "x")
        for bits in 0..<128 {
            var key = KnownWeighings.Key(bytes: [UInt8](repeating: UInt8(bits), count: 6 + bits % 4))
            if bits & 1 != 0 { key.user = 0x7FFF_FFFF }
            var entry = KnownWeighings.Entry(key: key)
            entry.tenthsOfKilogram = bits * 10
            if bits & 2 != 0 { entry.liveWall = 847_000_000 }
            if bits & 6 == 6 { entry.hostTime = -1_700_000_000_000_000 }
            if bits & 4 != 0 { entry.impedanceWeight = 842 }
            if bits & 8 != 0 { entry.twin = KnownWeighings.Key(bytes: [1, 2, 3], user: key.user) }
            (entry.isTwin, entry.isClockSuspect, entry.isUndated) = (bits & 16 != 0, bits & 32 != 0, bits & 64 != 0)
            entry.isComposed = bits % 3 == 0
            known.note(entry)
        }
        #expect(KnownWeighings(rule: "x", saved: known.bytes, under: "x") == known)
    }
}
