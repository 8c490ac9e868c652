/// Reads little-endian fields from the front of a characteristic's value; each field checks that enough bytes are left.
struct SIGReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Collection<UInt8>) { rest = Array(bytes)[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() throws(SIGError) -> UInt8 {
        guard let byte = rest.popFirst() else { throw .tooShort }
        return byte
    }

    mutating func pair() throws(SIGError) -> Int { Int(try byte()) | Int(try byte()) << 8 }

    /// Year (two bytes), month, day, hour, minute, second; `nil` if they are not a date.
    mutating func time() throws(SIGError) -> WallTime? {
        let year = try pair()
        let parts = [Int(try byte()), Int(try byte()), Int(try byte()), Int(try byte()), Int(try byte())]
        return WallTime(year, parts[0], parts[1], parts[2], parts[3], parts[4])
    }

    /// `nil` for `FF`, an unknown person.
    mutating func user() throws(SIGError) -> UInt8? {
        let index = try byte()
        return index == 0xFF ? nil : index
    }
}

/// The reason why a value cannot be read.
public enum SIGError: Error, Sendable, Hashable {
    /// The value ends inside a field that its flags announce.
    case tooShort
    /// The scale reports that the measurement has failed (`FFFF`).
    case unsuccessful
    /// An undefined operation or result.
    case unknown(UInt8)
}

/// A mass in its transmitted form: SI in 0.005 kg, imperial in 0.01 lb.
public struct SIGMass: Sendable, Hashable {
    public let raw: Int
    public let isImperial: Bool

    init(raw: Int, isImperial: Bool) { (self.raw, self.isImperial) = (raw, isImperial) }

    /// The nearest transmittable value; `nil` outside the range of two bytes, of which `FFFF` is reserved.
    public init?(kilograms: Double) {
        let raw = (kilograms / 0.005).rounded()
        guard (0..<65535).contains(raw) else { return nil }
        self.init(raw: Int(raw), isImperial: false)
    }

    public var kilograms: Double { isImperial ? Double(raw) / 100 * 0.45359237 : Double(raw) / 200 }
    /// The mass in pounds, only if the scale itself uses pounds.
    public var pounds: Double? { isImperial ? Double(raw) / 100 : nil }
}

extension WallTime {
    /// The bytes used in every characteristic; `nil` if two bytes cannot hold the year.
    var sig: [UInt8]? {
        guard let year = UInt16(exactly: year) else { return nil }
        return year.littleEndianBytes + [month, day, hour, minute, second].map { UInt8(truncatingIfNeeded: $0) }
    }

    /// 1 Monday to 7 Sunday.
    public var weekday: Int {
        // 2000-01-01 was a Saturday.
        let days = secondsSince2000 >= 0 ? secondsSince2000 / 86400 : (secondsSince2000 - 86399) / 86400
        return ((days + 5) % 7 + 7) % 7 + 1
    }
}

extension UInt16 {
    var littleEndianBytes: [UInt8] { [UInt8(truncatingIfNeeded: self), UInt8(self >> 8)] }
}
