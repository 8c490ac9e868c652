import PluginKit
import Testing

@testable import ScaleProtocols

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

    @Test func `another weight, another user or a date by the scale makes another weighing`() throws {
        let live = try Self.live("2026-11-20 07:30:00", user: 7)
        #expect(Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58", user: 7)) != nil)
        #expect(Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58", 724, user: 7)) == nil)
        #expect(Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58", user: 8)) == nil)
        #expect(Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58")) == nil)
        #expect(
            Self.known(live).twin(of: try Self.reading("2026-11-20 07:29:58", user: 7, byHost: true)) == nil,
            "a person on the scale now weighs now")
        var dated = live
        dated.liveWall = nil
        #expect(Self.known(dated).twin(of: try Self.reading("2026-11-20 07:29:58", user: 7)) == nil)
    }

    @Test func `a weighing has one copy, and the nearer of two weighings is chosen`() throws {
        var (first, second) = (try Self.live("2026-11-20 07:30:00"), try Self.live("2026-11-20 07:30:30"))
        let record = try Self.reading("2026-11-20 07:29:57")
        #expect(Self.known(first, second).twin(of: record)?.key == first.key)
        #expect(Self.known(first, second).twin(of: try Self.reading("2026-11-20 07:30:28"))?.key == second.key)
        first.isTwin = true
        #expect(Self.known(first, second).twin(of: record)?.key == second.key)
        second.isTwin = true
        #expect(Self.known(first, second).twin(of: record) == nil)
    }

    /// Saves the weighings and reads them as after a restart.
    static func saved(_ known: KnownWeighings, under rule: String? = nil) -> KnownWeighings {
        let prefix = KnownWeighings.prefix("X")
        var rows: [KnownWeighings.Row] = []
        for (key, value) in known.changes(of: "X") where key.hasPrefix(prefix) {
            if case .bytes(let bytes) = value, let row = KnownWeighings.Row(bytes) { rows.append(row) }
        }
        var read = KnownWeighings(rule: rule ?? known.rule)
        read.take(rows, under: known.rule)
        return read
    }

    static func entries(_ known: KnownWeighings) -> [KnownWeighings.Entry] {
        known.rows.values.sorted { $0.turn < $1.turn }.map(\.entry)
    }

    @Test func `known weighings survive a save; repeated ones stay, and the oldest others are dropped at the limit`()
        throws
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
        #expect(known.rows.count == KnownWeighings.limit)
        #expect(known[keys[0]] != nil, "seen again")
        #expect(known[keys[1]] == nil, "the longest unseen")
        #expect(Self.entries(Self.saved(known)) == Self.entries(known))
        #expect(Self.saved(known).changed.isEmpty)
        let other = Self.saved(known, under: "Asia/Tokyo sdk12")
        #expect(Self.entries(other).allSatisfy { !$0.isSettled })
        #expect(Self.entries(other).map(\.isClockSuspect) == Self.entries(known).map(\.isClockSuspect))
        #expect(other.changed.count == KnownWeighings.limit, "or a second start would take them for settled")
    }

    @Test func `only changes are written, and dropped weighings are removed`() throws {
        var known = KnownWeighings(rule: "Europe/Berlin")
        for number in 0..<KnownWeighings.limit {
            known.note(.init(key: .init(bytes: [0, UInt8(number >> 8), UInt8(number & 255)])))
        }
        known.settle()
        #expect(known.changes(of: "X").isEmpty)
        known.touch(.init(bytes: [0, 15, 255]))
        #expect(known.changes(of: "X").isEmpty, "it is the last one seen as it is")
        known.note(.init(key: .init(bytes: [1])))
        let changes = known.changes(of: "X")
        #expect(Set(changes.keys) == ["weighing-X-01", "weighing-X-000000"])
        #expect(changes["weighing-X-000000"] == .some(nil))
    }

    @Test func `the single value of an earlier version is read`() throws {
        // Flags, key, weight; for the second also the host's time and the clock's, the impedance, and a twin.
        let first: [UInt8] = [4, 6, 0x18, 0xF3, 0x86, 0x1E, 0x33, 0x4A, 0x03, 0x4A]
        let second: [UInt8] =
            [0x7C, 2, 1, 2, 0, 0, 4, 0xD2, 0x83, 0x4B, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 8]
            + [3, 0x4A, 2, 3, 4, 0, 0, 4, 0xD2]
        let rows = KnownWeighings.Row.list(first + second + [4, 6, 1])
        #expect(rows.map(\.turn) == [1, 2], "the third was torn off")
        #expect(rows[0].entry == .init(key: .init(bytes: Array(first[2..<8])), tenthsOfKilogram: 842))
        #expect(
            rows[1].entry
                == .init(
                    key: .init(bytes: [1, 2], user: 1234), hostTime: 9, liveWall: 8, tenthsOfKilogram: 843,
                    isComposed: true, impedanceWeight: 842, twin: .init(bytes: [3, 4], user: 1234)))
    }

    @Test func `a reading without a user is the known one`() throws {
        let known = Self.known(try Self.live("2026-11-20 07:30:00", user: 7))
        #expect(known.key(of: try Self.reading("2026-11-20 07:30:00")).user == 7)
        #expect(known.key(of: try Self.reading("2026-11-20 07:30:00", user: 8)).user == 8)
        #expect(known.key(of: try Self.reading("2026-11-20 07:30:01")).user == nil)
    }

    @Test func `a current weight is a copy only of a weight with the host's time`() throws {
        var live = try Self.live("2026-11-20 07:30:00", user: 7)
        let record = try Self.reading("2026-11-20 07:29:58", user: 7)
        #expect(Self.known(live).twin(of: record, amongDatedByHost: true) != nil)
        live.isComposed = true
        #expect(Self.known(live).twin(of: record, amongDatedByHost: true) == nil)
        (live.isComposed, live.hostTime) = (false, nil)
        #expect(Self.known(live).twin(of: record, amongDatedByHost: true) == nil)
    }

    @Test func `facts that only a live weighing can give are kept, however many records the cloud delivers`() throws {
        let live = try Self.live("2026-11-20 07:30:00")
        var known = Self.known(live)
        for number in 0..<KnownWeighings.limit + 10 {
            known.note(.init(key: .init(bytes: [0, UInt8(number >> 8), UInt8(number & 255)])))
        }
        #expect(known.rows.count == KnownWeighings.limit)
        #expect(known[live.key] == live)
    }

    @Test func `every part of an entry is saved`() throws {
        var known = KnownWeighings(rule: "x")
        for bits in 0..<256 {
            var key = KnownWeighings.Key(bytes: [UInt8](repeating: UInt8(bits), count: 6 + bits % 11))
            if bits & 1 != 0 { key.user = 0x7FFF_FFFF }
            var entry = KnownWeighings.Entry(key: key)
            entry.tenthsOfKilogram = bits * 10
            if bits & 2 != 0 { entry.liveWall = 847_000_000 }
            if bits & 6 != 0 { entry.hostTime = -1_700_000_000_000_000 }
            if bits & 4 != 0 { entry.impedanceWeight = 842 }
            if bits & 8 != 0 {
                entry.twin = KnownWeighings.Key(bytes: [1, 2, 3], user: bits & 128 == 0 ? key.user : 5)
            }
            (entry.isTwin, entry.isClockSuspect, entry.isUndated) = (bits & 16 != 0, bits & 32 != 0, bits & 64 != 0)
            entry.isComposed = bits % 3 == 0
            known.note(entry)
        }
        #expect(Self.entries(Self.saved(known)) == Self.entries(known))
    }
}
