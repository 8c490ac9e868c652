import JSON

/// Reads the numbers of an export: `80.4`, `9.94651e-05`.
public enum DecimalText {
    /// A number, and whether its digits are valid JSON as written.
    public struct Number {
        public let value: Double
        public let isJSON: Bool
    }

    /// `nil` if the text is not a number or exceeds the range of doubles; decimal commas are not accepted.
    public static func number(_ bytes: UnsafeRawBufferPointer) -> Number? {
        var place = 0
        let count = bytes.count
        guard count > 0, count <= 64 else { return nil }
        var isJSON = true
        var isNegative = false
        if bytes[0] == 0x2D || bytes[0] == 0x2B {
            isNegative = bytes[0] == 0x2D
            isJSON = isNegative
            place = 1
        }
        let first = place
        var (digits, significant, exponent): (UInt64, Int, Int) = (0, 0, 0)
        func isDigit(_ place: Int) -> Bool { place < count && bytes[place] &- 0x30 < 10 }
        var written = 0
        while isDigit(place) {
            digits = digits &* 10 &+ UInt64(bytes[place] &- 0x30)
            if digits > 0 { significant += 1 }
            place += 1
            written += 1
        }
        if written == 0 || written > 1 && bytes[first] == 0x30 { isJSON = false }
        if place < count, bytes[place] == 0x2E {
            place += 1
            let start = place
            while isDigit(place) {
                digits = digits &* 10 &+ UInt64(bytes[place] &- 0x30)
                if digits > 0 { significant += 1 }
                exponent -= 1
                place += 1
            }
            written += place - start
            if place == start { isJSON = false }
        }
        guard written > 0 else { return nil }
        if place < count, bytes[place] | 0x20 == 0x65 {
            place += 1
            var isDown = false
            if place < count, bytes[place] == 0x2D || bytes[place] == 0x2B {
                isDown = bytes[place] == 0x2D
                place += 1
            }
            let start = place
            var power = 0
            while isDigit(place) {
                power = min(power * 10 + Int(bytes[place] &- 0x30), 10_000)
                place += 1
            }
            guard place > start else { return nil }
            exponent += isDown ? -power : power
        }
        guard place == count else { return nil }
        if significant <= 15, (-22...22).contains(exponent) {
            let magnitude =
                exponent < 0 ? Double(digits) / powers[-exponent] : Double(digits) * powers[exponent]
            return Number(value: isNegative ? -magnitude : magnitude, isJSON: isJSON)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let value = Double(text.hasPrefix("+") ? String(text.dropFirst()) : text), value.isFinite,
            value != 0 || digits == 0
        else { return nil }
        return Number(value: value, isJSON: isJSON)
    }

    public static func number(_ text: some StringProtocol) -> Double? {
        Array(text.utf8).withUnsafeBytes { number($0)?.value }
    }

    /// The exactly representable powers of ten: a product or quotient of two exact doubles is rounded only once.
    private static let powers: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// A value to four significant digits, as an integer and a power of ten: `8040e-2`.
    ///
    /// An export writes six digits in the unit that the person chose. After conversion, the first four digits are the same in every unit.
    public static func appendFourDigits(_ value: Double, to output: inout [UInt8]) {
        guard value != 0, value.isFinite else { return output.append(0x30) }
        if value < 0 { output.append(0x2D) }
        // The smallest doubles are too small for the powers of ten in the table.
        let isTiny = value.magnitude < 1e-290
        let magnitude = isTiny ? value.magnitude * 1e60 : value.magnitude
        var exponent = magnitude >= 1e-20 && magnitude < 1e20 ? 0 : Int(magnitude.exponent) * 30_103 / 100_000 - 3
        var scaled = magnitude / power(exponent)
        while scaled >= 9_999.5 {
            exponent += 1
            scaled = magnitude / power(exponent)
        }
        while scaled < 999.95 {
            exponent -= 1
            scaled = magnitude / power(exponent)
        }
        NumberWriter.append(Int64(scaled.rounded(.toNearestOrEven)), to: &output)
        output.append(0x65)
        NumberWriter.append(Int64(isTiny ? exponent - 60 : exponent), to: &output)
    }

    private static func power(_ exponent: Int) -> Double {
        switch exponent {
        case 0...22: powers[exponent]
        case -22..<0: 1 / powers[-exponent]
        default: Double("1e\(exponent)") ?? 1
        }
    }
}
