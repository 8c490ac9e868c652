/// A span of time as settings write it: `30s`, `5min`, `1h30min`, held exactly in microseconds.
public struct SettingDuration: Sendable, Hashable, Comparable {
    /// The span; never negative.
    public let microseconds: Int64

    /// Longest unit first, the order that a text must follow.
    private static let units: [(name: String, microseconds: Int64)] = [
        ("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1),
    ]

    /// A span of `microseconds`; nil if negative.
    public init?(microseconds: Int64) {
        guard microseconds >= 0 else { return nil }
        self.microseconds = microseconds
    }

    /// Reads whole numbers each followed by one of `d h min s ms us`, longest unit first, without spaces.
    ///
    /// Nil for anything else: a bare number, a fraction, a repeated unit, more than 2⁶³−1 µs.
    public init?(_ text: String) {
        var total: Int64 = 0
        var rest = Substring(text)
        var units = Self.units[...]
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            guard let (amount, unit) = takeAmount(&rest), let index = units.firstIndex(where: { $0.name == unit })
            else {
                return nil
            }
            let (part, tooLarge) = amount.multipliedReportingOverflow(by: units[index].microseconds)
            let (sum, overflow) = total.addingReportingOverflow(part)
            guard !tooLarge, !overflow else { return nil }
            total = sum
            units = units[(index + 1)...]
        }
        microseconds = total
    }

    /// The span as a `Duration`.
    public var duration: Duration { .microseconds(microseconds) }

    public static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }
}

extension SettingDuration: CustomStringConvertible {
    /// The shortest exact text with one unit, such as `90s`; it reads back as the same span.
    public var description: String {
        guard microseconds > 0 else { return "0s" }
        let unit = Self.units.first { microseconds.isMultiple(of: $0.microseconds) } ?? ("us", 1)
        return "\(microseconds / unit.microseconds)\(unit.name)"
    }
}

/// An amount of memory as settings write it: `256MiB`, `500kB`, held exactly in bytes.
public struct ByteSize: Sendable, Hashable, Comparable {
    /// The amount; never negative.
    public let bytes: Int64

    private static let units: [(name: String, bytes: Int64)] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1),
    ]

    /// An amount in MiB.
    package init(mebibytes: UInt16) { bytes = Int64(mebibytes) << 20 }

    /// An amount of `bytes`; nil if negative.
    public init?(bytes: Int64) {
        guard bytes >= 0 else { return nil }
        self.bytes = bytes
    }

    /// Reads a whole number followed by `B kB MB GB TB KiB MiB GiB TiB`; nil for anything else.
    public init?(_ text: String) {
        var rest = Substring(text)
        guard let (amount, name) = takeAmount(&rest), rest.isEmpty,
            let unit = Self.units.first(where: { $0.name == name })
        else { return nil }
        let (bytes, overflow) = amount.multipliedReportingOverflow(by: unit.bytes)
        guard !overflow else { return nil }
        self.bytes = bytes
    }

    public static func < (left: Self, right: Self) -> Bool { left.bytes < right.bytes }
}

extension ByteSize: CustomStringConvertible {
    /// The shortest exact text, such as `256MiB`; it reads back as the same amount.
    public var description: String {
        guard bytes > 0 else { return "0B" }
        let unit = Self.units.first { bytes.isMultiple(of: $0.bytes) } ?? ("B", 1)
        return "\(bytes / unit.bytes)\(unit.name)"
    }
}

/// Takes `<digits><letters>` off the front; nil if either is missing or the number is over `Int64`.
private func takeAmount(_ text: inout Substring) -> (Int64, String)? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    text = text.dropFirst(digits.count)
    let letters = text.prefix { $0.isASCII && $0.isLetter }
    text = text.dropFirst(letters.count)
    guard let amount = Int64(digits), !letters.isEmpty else { return nil }
    return (amount, String(letters))
}

extension SettingDuration: Codable {
    /// Reads the text form.
    public init(from decoder: any Decoder) throws {
        self = try decodeText(decoder, "a duration such as 30s") { SettingDuration($0) }
    }

    /// Writes the text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension ByteSize: Codable {
    /// Reads the text form.
    public init(from decoder: any Decoder) throws {
        self = try decodeText(decoder, "a size such as 256MiB") { ByteSize($0) }
    }

    /// Writes the text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

private func decodeText<Value>(
    _ decoder: any Decoder, _ expected: String, _ read: (String) -> Value?
) throws -> Value {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let value = read(text) else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "\"\(text)\": expected \(expected)")
    }
    return value
}
