/// Extracts text from scanned JSON.
package enum JSONText {
    /// The text of a scanned string with escapes resolved; `nil` if it contains half a surrogate pair.
    package static func string(_ value: JSONValue, in bytes: UnsafeRawBufferPointer) -> String? {
        let content = UnsafeRawBufferPointer(rebasing: bytes[(value.start + 1)..<(value.end - 1)])
        guard value.hasEscapes else { return plain(content) }
        guard !value.hasLoneSurrogate else { return nil }
        return String(decoding: unescaped(content), as: UTF8.self)
    }

    /// A scanned value as JSON without white space between its tokens, otherwise byte for byte.
    package static func compact(_ value: JSONValue, in bytes: UnsafeRawBufferPointer) -> String {
        let text = UnsafeRawBufferPointer(rebasing: bytes[value.start..<value.end])
        guard !value.isCompact else { return plain(text) }
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var isInString = false
        var position = 0
        while position < text.count {
            let byte = text[position]
            position += 1
            if !isInString, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { continue }
            output.append(byte)
            if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            } else if byte == UInt8(ascii: "\\") {
                output.append(text[position])
                position += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Converts bytes that were checked to be UTF-8 to text.
    ///
    /// The standard library is fast only with bound memory.
    package static func plain(_ utf8: UnsafeRawBufferPointer) -> String {
        String(decoding: utf8.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
    }

    /// The value of a hexadecimal digit.
    static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }

    /// Resolves escapes that a scanner found well-formed and paired.
    private static func unescaped(_ content: UnsafeRawBufferPointer) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(content.count)
        var position = 0
        func unit() -> UInt32 {
            var unit: UInt32 = 0
            for offset in 0..<4 { unit = unit << 4 | UInt32(hexadecimalDigit(content[position + offset]) ?? 0) }
            position += 4
            return unit
        }
        while position < content.count {
            let byte = content[position]
            position += 1
            guard byte == UInt8(ascii: "\\") else {
                output.append(byte)
                continue
            }
            let escape = content[position]
            position += 1
            switch escape {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                var scalar = unit()
                if (0xD800...0xDBFF).contains(scalar) {
                    position += 2
                    scalar = 0x10000 + (scalar - 0xD800) << 10 + (unit() - 0xDC00)
                }
                output.append(contentsOf: String(Unicode.Scalar(scalar) ?? "\u{FFFD}").utf8)
            default: output.append(escape)
            }
        }
        return output
    }
}

/// Reads scanned JSON numbers.
package enum NumberReader {
    /// Exactly representable powers of ten.
    ///
    /// A product or quotient of two exact doubles is rounded once and is therefore correct.
    private static let powers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// The double nearest to a number; `nil` if it is outside the range of doubles, above or below.
    package static func double(_ number: JSONValue, in bytes: UnsafeRawBufferPointer) -> Double? {
        var position = number.start
        let isNegative = bytes[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        var digits: UInt64 = 0
        var count = 0  // Number of significant digits read into `digits`.
        var exponent = 0
        var isFraction = false
        while position < number.end {
            let byte = bytes[position]
            if byte == UInt8(ascii: ".") {
                isFraction = true
            } else if byte &- 0x30 <= 9 {
                digits = digits &* 10 &+ UInt64(byte &- 0x30)
                if digits > 0 { count += 1 }
                if isFraction { exponent -= 1 }
                if count > 18 { return slowly(number, in: bytes) }
            } else {
                break
            }
            position += 1
        }
        if position < number.end {
            // No double needs more than three digits of exponent; the slow path handles longer ones.
            guard number.end - position <= 5 else { return slowly(number, in: bytes) }
            exponent += writtenExponent(from: position + 1, to: number.end, in: bytes)
        }
        guard digits <= 1 << 53, (-22...22).contains(exponent) else { return slowly(number, in: bytes) }
        let magnitude = exponent < 0 ? Double(digits) / powers[-exponent] : Double(digits) * powers[exponent]
        return isNegative ? -magnitude : magnitude
    }

    /// The integer of a number without fraction and exponent; `nil` for others and beyond `Int64`.
    package static func integer(_ number: JSONValue, in bytes: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = bytes[number.start] == UInt8(ascii: "-")
        var value: Int64 = 0
        for position in (isNegative ? number.start + 1 : number.start)..<number.end {
            let digit = bytes[position] &- 0x30
            guard digit <= 9 else { return nil }
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            // Subtract, because Int64.min has no positive counterpart.
            let (sum, overflows) = product.subtractingReportingOverflow(Int64(digit))
            guard !overflowed, !overflows else { return nil }
            value = sum
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    private static func writtenExponent(from start: Int, to end: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        var value = 0
        for position in start..<end where bytes[position] &- 0x30 <= 9 {
            value = value * 10 + Int(bytes[position] - 0x30)
        }
        return bytes[start] == UInt8(ascii: "-") ? -value : value
    }

    private static func slowly(_ number: JSONValue, in bytes: UnsafeRawBufferPointer) -> Double? {
        let text = JSONText.plain(UnsafeRawBufferPointer(rebasing: bytes[number.start..<number.end]))
        guard let value = Double(text), value.isFinite else { return nil }
        if value == 0 {
            let mantissa = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
            guard !mantissa.contains(where: { (0x31...0x39).contains($0) }) else { return nil }
        }
        return value
    }
}
