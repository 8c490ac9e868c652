extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits for each byte.
    public var hexadecimal: String {
        var digits: [UInt8] = []
        digits.reserveCapacity(underestimatedCount * 2)
        for byte in self {
            digits.append(Self.digit(byte >> 4))
            digits.append(Self.digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension [UInt8] {
    /// Decodes an even number of hexadecimal digits of either case; `nil` for any other text, such as one with signs or spaces.
    public init?(hexadecimal text: some StringProtocol) {
        let digits = text.utf8.map(Self.value)
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { (digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0) }
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension FixedWidthInteger {
    /// The number in lower-case hexadecimal digits, with zeros in front up to `count` digits.
    public func hexadecimal(digits count: Int) -> String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: Swift.max(0, count - digits.utf8.count)) + digits
    }
}
