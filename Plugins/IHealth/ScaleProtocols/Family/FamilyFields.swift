/// The identity of a scale (IDPS), in the form that HS4 and HS5 share.
public struct ScaleIdentity: Sendable, Hashable {
    /// Such as `com.jiuan.BWSV01`.
    public var protocolName: String
    public var name: String
    /// Such as `1.0.1`.
    public var firmware: String
    public var hardware: String
    public var manufacturer: String
    public var model: String

    public init(
        protocolName: String, name: String, firmware: String, hardware: String, manufacturer: String, model: String
    ) {
        (self.protocolName, self.name, self.firmware) = (protocolName, name, firmware)
        (self.hardware, self.manufacturer, self.model) = (hardware, manufacturer, model)
    }

    /// Reads the block; `nil` if it is shorter than 70 bytes.
    ///
    /// Texts end at the first zero byte; a byte that is not ASCII becomes `?`.
    public init?(_ data: [UInt8]) {
        guard data.count >= 70 else { return nil }
        func text(_ range: Range<Int>) -> String {
            String(
                decoding: data[range].prefix { $0 != 0 }.map { (0x20..<0x7F).contains($0) ? $0 : 0x3F }, as: UTF8.self)
        }
        func version(_ range: Range<Int>) -> String { text(range).map(String.init).joined(separator: ".") }
        self.init(
            protocolName: text(0..<16), name: text(16..<32), firmware: version(32..<35), hardware: version(35..<38),
            manufacturer: text(38..<54), model: text(54..<70))
    }

    /// The block; texts are cut to the size of their fields.
    public var bytes: [UInt8] {
        func field(_ text: String, _ size: Int) -> [UInt8] {
            let bytes = Array(text.utf8.prefix(size))
            return bytes + Array(repeating: 0, count: size - bytes.count)
        }
        func version(_ text: String) -> [UInt8] { field(text.filter { $0 != "." }, 3) }
        return field(protocolName, 16) + field(name, 16) + version(firmware) + version(hardware)
            + field(manufacturer, 16) + field(model, 16)
    }
}

extension WallTime {
    /// Reads year (two bytes), month, day, hour, minute, second; `nil` if they are not a time.
    package init?(family7 bytes: ArraySlice<UInt8>) {
        guard bytes.count == 7 else { return nil }
        let parts = Array(bytes)
        self.init(
            Int(bigEndian: parts[0..<2]), Int(parts[2]), Int(parts[3]), Int(parts[4]), Int(parts[5]), Int(parts[6]))
    }

    /// Year (two bytes), month, day, 24-hour clock; `nil` if two bytes cannot hold the year.
    package var family7: [UInt8]? {
        guard let year = UInt16(exactly: year) else { return nil }
        return year.bigEndianBytes() + lowerBytes
    }

    /// Reads year − 2000, month, day, hour, minute, second; `nil` if they are not a time.
    package init?(family6 bytes: ArraySlice<UInt8>) {
        guard bytes.count == 6 else { return nil }
        let parts = bytes.map(Int.init)
        self.init(2000 + parts[0], parts[1], parts[2], parts[3], parts[4], parts[5])
    }

    /// Year − 2000, month, day, 24-hour clock; `nil` outside 2000–2255.
    package var family6: [UInt8]? {
        guard (2000...2255).contains(year) else { return nil }
        return [UInt8(year - 2000)] + lowerBytes
    }

    private var lowerBytes: [UInt8] { [month, day, hour, minute, second].map { UInt8(truncatingIfNeeded: $0) } }
}

extension Int {
    /// The number in at most seven bytes.
    package init(bigEndian bytes: ArraySlice<UInt8>) { self = bytes.reduce(0) { $0 << 8 | Int($1) } }
}

extension FixedWidthInteger {
    /// The lowest `count` bytes, or all.
    package func bigEndianBytes(_ count: Int = Self.bitWidth / 8) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: self >> (8 * (count - 1 - $0))) }
    }
}
