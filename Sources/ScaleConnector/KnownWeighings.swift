import PluginKit
import ScaleFrames

/// The weighings of one scale that have been given to the hub, so that a memory transfer does not give them again.
///
/// Which version of a weighing wins: the first. Whether its clock was to be trusted is judged when it is first read, and that
/// judgement is remembered with the key. A later transfer, perhaps from a session whose clock was wrong, changes nothing.
/// When the settings that decide how a date is read change (`zone`, `hour_mode`), what is known is given once more, with
/// the old judgement: same identity, other content, so the hub corrects the records in place.
///
/// A weight that came without a time of the scale has the host's, and the scale may keep the same weighing under its own
/// time: see ``twin(of:)``.
///
/// The set is a cache of 4,096 keys, the memory of a scale 200 for each of at most 20 users; what comes again stays the longest. Should a
/// key fall out or the state be lost, the weighing is given again under the same identity, and the hub answers `duplicate`. What no reading
/// would give anew (a judgement, the host's time, a twin) falls out after what one would.
struct KnownWeighings: Sendable, Equatable {
    /// What makes a weighing this one: the scale's undecoded bytes, and on a scale with users whose it is.
    struct Key: Sendable, Hashable {
        var bytes: [UInt8]
        var user: UInt32?
    }

    /// What is remembered of a weighing.
    struct Entry: Sendable, Equatable {
        var key: Key
        /// The judgement that went into its record.
        var isClockSuspect = false
        /// It had no readable date, so no record could be made of it; people have been told.
        var isUndated = false
        /// Settled under the present settings.
        var isSettled = true
        /// When the host read it, in microseconds since 1970, where that is the time of its record.
        var hostTime: Int64?
        /// What the clock showed at a weighing told as it happened, in seconds since 2000: a copy of it may follow.
        var liveWall: Int?
        var tenthsOfKilogram = 0
        /// The body's composition is recorded with it.
        var isComposed = false
        /// In tenths of a kilogram, where it was told.
        var impedanceWeight: Int?
        /// The weighing under whose identity it is recorded, because it is the same one.
        var twin: Key?
        /// Another entry has this one as its twin.
        var isTwin = false

        /// Whether a record made of the reading alone would be another one.
        var isUnique: Bool { liveWall != nil || hostTime != nil || twin != nil || isTwin || isClockSuspect }
    }

    /// The settings that decide how a date is read.
    private(set) var rule: String
    /// The most recently seen last.
    private(set) var entries: [Entry] = []

    static let limit = 4096

    init(rule: String) { self.rule = rule }

    subscript(key: Key) -> Entry? { entries.last { $0.key == key } }

    /// Puts `entry` in the place of what was known of its key, as the most recent.
    mutating func note(_ entry: Entry) {
        if let place = entries.lastIndex(where: { $0.key == entry.key }) { entries.remove(at: place) }
        entries.append(entry)
        guard entries.count > Self.limit else { return }
        // Only while there are many such, or nothing new would be remembered any more.
        let plain = entries.lazy.filter { !$0.isUnique }.count
        let place = plain > Self.limit / 2 ? entries.firstIndex { !$0.isUnique } : nil
        entries.remove(at: place ?? 0)
    }

    /// The weighing came again.
    mutating func touch(_ key: Key) {
        if let entry = self[key] { note(entry) }
    }

    /// The weighing that `reading`, from the memory and not known, is a copy of.
    ///
    /// A copy has the same weight to the last digit, the same user, and a date from a minute before the host's to five seconds
    /// after it: the scale dates a weighing when somebody steps on, the host when the weight stands, and the host has set the
    /// scale's clock. Whoever steps on again is later than that. Each weighing has one copy at most, so a second record of the
    /// same weight is a weighing of its own.
    func twin(of reading: ScaleReading) -> Entry? {
        guard let wall = reading.time?.secondsSince2000, !reading.isDatedByHost else { return nil }
        func distance(_ entry: Entry) -> Int? {
            guard let host = entry.liveWall, !entry.isTwin, entry.twin == nil,
                entry.tenthsOfKilogram == reading.tenthsOfKilogram, entry.key.user == reading.user,
                (-60...5).contains(wall - host)
            else { return nil }
            return abs(wall - host)
        }
        return entries.compactMap { entry in distance(entry).map { (entry, $0) } }.min { $0.1 < $1.1 }?.0
    }
}

// MARK: - Saving

extension KnownWeighings {
    private enum Flag {
        static let suspect: UInt8 = 1
        static let undated: UInt8 = 2
        static let settled: UInt8 = 4
        static let user: UInt8 = 8
        static let live: UInt8 = 16
        static let impedance: UInt8 = 32
        static let twin: UInt8 = 64
        static let isTwin: UInt8 = 128
    }

    /// Reads what ``bytes`` wrote under `oldRule`, to go on under the rule of now; what is torn off is forgotten.
    init(rule: String, saved: [UInt8], under oldRule: String?) {
        self.rule = rule
        var input = ByteInput(bytes: saved)
        while let flags = input.number(1), let key = Self.key(&input, hasUser: flags & Int(Flag.user) != 0),
            let tenths = input.number(2)
        {
            func has(_ flag: UInt8) -> Bool { flags & Int(flag) != 0 }
            var entry = Entry(
                key: key, isClockSuspect: has(Flag.suspect), isUndated: has(Flag.undated),
                isSettled: has(Flag.settled) && rule == oldRule)
            (entry.tenthsOfKilogram, entry.isComposed) = (tenths & ~Self.composed, tenths & Self.composed != 0)
            entry.isTwin = has(Flag.isTwin)
            if has(Flag.live) {
                guard let time = input.number(8), let wall = input.number(8) else { break }
                entry.hostTime = Int64(time) == Self.noTime ? nil : Int64(time)
                entry.liveWall = wall
            }
            if has(Flag.impedance) {
                guard let weight = input.number(2) else { break }
                entry.impedanceWeight = weight
            }
            if has(Flag.twin) {
                guard let twin = Self.key(&input, hasUser: key.user != nil) else { break }
                entry.twin = twin
            }
            entries.append(entry)
        }
    }

    private static func key(_ input: inout ByteInput, hasUser: Bool) -> Key? {
        guard let count = input.number(1), let bytes = input.bytes(count) else { return nil }
        guard hasUser else { return Key(bytes: bytes) }
        return input.number(4).map { Key(bytes: bytes, user: UInt32(truncatingIfNeeded: $0)) }
    }

    private static let noTime = Int64.min

    /// In the number of the weight, which no scale's comes near.
    private static let composed = 0x8000

    /// About 12 bytes for each entry.
    var bytes: [UInt8] {
        var output: [UInt8] = []
        func append(_ number: some FixedWidthInteger) {
            for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
                output.append(UInt8(truncatingIfNeeded: number >> shift))
            }
        }
        func append(_ key: Key) {
            output.append(UInt8(truncatingIfNeeded: key.bytes.count))
            output += key.bytes
            if let user = key.user { append(user) }
        }
        for entry in entries {
            var flags: UInt8 = 0
            if entry.isClockSuspect { flags |= Flag.suspect }
            if entry.isUndated { flags |= Flag.undated }
            if entry.isSettled { flags |= Flag.settled }
            if entry.key.user != nil { flags |= Flag.user }
            if entry.liveWall != nil { flags |= Flag.live }
            if entry.impedanceWeight != nil { flags |= Flag.impedance }
            if entry.twin != nil { flags |= Flag.twin }
            if entry.isTwin { flags |= Flag.isTwin }
            output.append(flags)
            append(entry.key)
            append(UInt16(truncatingIfNeeded: entry.tenthsOfKilogram | (entry.isComposed ? Self.composed : 0)))
            if let wall = entry.liveWall {
                append(entry.hostTime ?? Self.noTime)
                append(Int64(wall))
            }
            if let weight = entry.impedanceWeight { append(UInt16(truncatingIfNeeded: weight)) }
            if let twin = entry.twin { append(twin) }
        }
        return output
    }
}

extension KnownWeighings.Key {
    init(_ reading: ScaleReading) { self.init(bytes: reading.key, user: reading.user) }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Hex digits that sort as the bytes do; with users, the user's number after them.
    var text: String {
        guard let user else { return Self.hex(bytes) }
        return Self.hex(bytes) + "-" + Self.hex((0..<4).map { UInt8(truncatingIfNeeded: user >> (24 - 8 * $0)) })
    }
}

/// Reads numbers and bytes one after the other.
private struct ByteInput {
    let bytes: [UInt8]
    var place = 0

    mutating func bytes(_ count: Int) -> [UInt8]? {
        guard place + count <= bytes.count else { return nil }
        defer { place += count }
        return Array(bytes[place..<place + count])
    }

    /// Big endian; eight bytes are a signed number.
    mutating func number(_ count: Int) -> Int? {
        bytes(count).map { $0.reduce(0) { $0 << 8 | Int($1) } }
    }
}
