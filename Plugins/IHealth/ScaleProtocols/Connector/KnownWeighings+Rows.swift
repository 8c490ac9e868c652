import PluginKit

/// The stored form of known weighings: one value of the plugin's state for each weighing, of about 40 bytes.
///
/// Only changed rows are written, in the commit that puts the records into the spool. A weighing therefore costs the same whether ten are known
/// or four thousand.
extension KnownWeighings {
    /// The prefix of a scale's weighings in the state.
    static func prefix(_ device: String) -> String { "weighing-\(device)-" }

    /// The values to write, and `nil` for those to remove.
    func changes(of device: String) -> [String: StateValue?] {
        var changes: [String: StateValue?] = [:]
        for key in changed {
            let value = rows[key].map { StateValue.bytes($0.bytes) }
            changes.updateValue(value, forKey: Self.prefix(device) + key.text)
        }
        return changes
    }
}

extension KnownWeighings.Row {
    /// Reads a value written by ``bytes``; `nil` for anything else.
    init?(_ saved: [UInt8]) {
        var input = ByteInput(bytes: saved)
        guard let turn = input.number(8), let entry = KnownWeighings.Entry(&input) else { return nil }
        self.init(entry: entry, turn: Int64(turn))
    }

    /// Reads the entries that an earlier version stored in one value, the most recently seen last; a truncated entry is dropped.
    static func list(_ saved: [UInt8]) -> [Self] {
        var input = ByteInput(bytes: saved)
        var rows: [Self] = []
        while let entry = KnownWeighings.Entry(&input) { rows.append(Self(entry: entry, turn: Int64(rows.count + 1))) }
        return rows
    }

    var bytes: [UInt8] { turn.bigEndianBytes(8) + entry.bytes }
}

extension KnownWeighings.Entry {
    private enum Flag {
        static let suspect = 1
        static let undated = 2
        static let settled = 4
        static let user = 8
        static let timed = 16
        static let impedance = 32
        static let twin = 64
        static let isTwin = 128
        /// A flag in the number of the weight, whose values stay far below it.
        static let composed = 0x8000
        /// A flag in the number of a key's bytes, which are at most 16: exactly one of this key and the weighing has a user.
        static let otherwise = 0x80
    }

    private static let none = Int(Int64.min)

    fileprivate init?(_ input: inout ByteInput) {
        guard let flags = input.number(1), let key = Self.key(&input, hasUser: flags & Flag.user != 0),
            let tenths = input.number(2)
        else { return nil }
        func has(_ flag: Int) -> Bool { flags & flag != 0 }
        self.init(
            key: key, isClockSuspect: has(Flag.suspect), isUndated: has(Flag.undated), isSettled: has(Flag.settled))
        (tenthsOfKilogram, isComposed) = (tenths & ~Flag.composed, tenths & Flag.composed != 0)
        isTwin = has(Flag.isTwin)
        if has(Flag.timed) {
            guard let time = input.number(8), let wall = input.number(8) else { return nil }
            hostTime = time == Self.none ? nil : Int64(time)
            liveWall = wall == Self.none ? nil : wall
        }
        if has(Flag.impedance) {
            guard let weight = input.number(2) else { return nil }
            impedanceWeight = weight
        }
        if has(Flag.twin) {
            guard let twin = Self.key(&input, hasUser: has(Flag.user)) else { return nil }
            self.twin = twin
        }
    }

    /// - Parameter hasUser: whether the weighing itself has a user; its twin may belong to another one.
    private static func key(_ input: inout ByteInput, hasUser: Bool) -> KnownWeighings.Key? {
        guard let count = input.number(1), let bytes = input.bytes(count & ~Flag.otherwise) else { return nil }
        guard hasUser != (count & Flag.otherwise != 0) else { return KnownWeighings.Key(bytes: bytes) }
        return input.number(4).map { KnownWeighings.Key(bytes: bytes, user: UInt32(truncatingIfNeeded: $0)) }
    }

    fileprivate var bytes: [UInt8] {
        func bytes(_ key: KnownWeighings.Key) -> [UInt8] {
            let isOtherwise = (key.user != nil) != (self.key.user != nil)
            let count = key.bytes.count | (isOtherwise ? Flag.otherwise : 0)
            return count.bigEndianBytes(1) + key.bytes + (key.user?.bigEndianBytes(4) ?? [])
        }
        var flags = 0
        if isClockSuspect { flags |= Flag.suspect }
        if isUndated { flags |= Flag.undated }
        if isSettled { flags |= Flag.settled }
        if key.user != nil { flags |= Flag.user }
        if hostTime != nil || liveWall != nil { flags |= Flag.timed }
        if impedanceWeight != nil { flags |= Flag.impedance }
        if twin != nil { flags |= Flag.twin }
        if isTwin { flags |= Flag.isTwin }
        var output = flags.bigEndianBytes(1) + bytes(key)
        output += (tenthsOfKilogram | (isComposed ? Flag.composed : 0)).bigEndianBytes(2)
        if flags & Flag.timed != 0 {
            output += hostTime.map(Int.init)?.bigEndianBytes(8) ?? Self.none.bigEndianBytes(8)
            output += (liveWall ?? Self.none).bigEndianBytes(8)
        }
        if let impedanceWeight { output += impedanceWeight.bigEndianBytes(2) }
        if let twin { output += bytes(twin) }
        return output
    }
}

/// Reads consecutive numbers and bytes.
private struct ByteInput {
    let bytes: [UInt8]
    var place = 0

    mutating func bytes(_ count: Int) -> [UInt8]? {
        guard place + count <= bytes.count else { return nil }
        defer { place += count }
        return Array(bytes[place..<place + count])
    }

    /// Reads a big-endian number; eight bytes are a signed number.
    mutating func number(_ count: Int) -> Int? {
        bytes(count).map { $0.reduce(0) { $0 << 8 | Int($1) } }
    }
}
