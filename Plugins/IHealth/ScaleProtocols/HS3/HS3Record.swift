import Platform

/// An undecoded weighing of the scale: the seven bytes of a memory record, or the six of a weight frame.
public struct HS3Record: Sendable, Hashable {
    /// The six bytes `T0 T1 T2 T3 W0 W1`, the identity of this weighing.
    ///
    /// A memory record and the weight frame of the same weighing have the same key.
    public var key: HS3RecordKey
    /// Counts down to 0 over the whole memory transfer; `nil` in a weight frame.
    public var index: UInt8?

    /// Reads seven bytes (memory) or six (weight); `nil` for any other number.
    public init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count == 6 || bytes.count == 7 else { return nil }
        key = HS3RecordKey(value: bytes.prefix(6).reduce(0) { $0 << 8 | UInt64($1) })
        index = bytes.count == 7 ? bytes.last : nil
    }

    /// A record of a weighing; `nil` outside the years 2000–2063 or 0–999.9 kg, the range of the bytes.
    public init?(_ time: WallTime, tenthsOfKilogram: Int, mode: HS3HourMode = .sdk12, index: UInt8? = nil) {
        guard let packed = time.hs3Packed(mode: mode), (0...9999).contains(tenthsOfKilogram) else { return nil }
        let digits = UInt64(toBCD(tenthsOfKilogram / 100)) << 8 | UInt64(toBCD(tenthsOfKilogram % 100))
        (key, self.index) = (HS3RecordKey(value: UInt64(packed) << 16 | digits), index)
    }

    /// The transmitted bytes, seven with an index and six without.
    public var bytes: [UInt8] { key.bytes + (index.map { [$0] } ?? []) }
}

/// The undecoded identity of a weighing: packed time and weight digits, as the scale sent them.
public struct HS3RecordKey: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The six bytes as a number, time first.
    public let value: UInt64

    init(value: UInt64) { self.value = value & 0xFFFF_FFFF_FFFF }

    /// The six bytes `T0 T1 T2 T3 W0 W1`.
    public var bytes: [UInt8] { value.bigEndianBytes(6) }

    /// The 32 bits of the time.
    public var packedTime: UInt32 { UInt32(truncatingIfNeeded: value >> 16) }

    /// The weight in tenths of a kilogram, 0–9999; `nil` if one of the four nibbles is not a decimal digit.
    public var tenthsOfKilogram: Int? {
        guard let high = bcd(UInt8(truncatingIfNeeded: value >> 8)), let low = bcd(UInt8(truncatingIfNeeded: value))
        else { return nil }
        return high * 100 + low
    }

    /// Twelve lower-case hex digits; they sort by time within a half day.
    public var description: String { value.hexadecimal(digits: 12) }

    public static func < (left: HS3RecordKey, right: HS3RecordKey) -> Bool { left.value < right.value }
}
