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
