/// Appends JSON in canonical form (Protocol §6) to a buffer.
extension [UInt8] {
    package mutating func append(literal text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Like `+=`, but without reference counting of the other array; for text assembled from many small parts.
    @inline(__always)
    package mutating func append(bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append(contentsOf: $0) } }

    /// Appends text that is JSON already.
    package mutating func append(json text: String) { append(contentsOf: text.utf8) }

    /// Appends `text` in quotes.
    package mutating func append(quoted text: String) {
        append(UInt8(ascii: "\""))
        append(escaped: text)
        append(UInt8(ascii: "\""))
    }

    /// Appends the text between the quotes for `text`, with only the escapes that JSON requires, as RFC 8785 §3.2.2.2 spells them.
    package mutating func append(escaped text: String) {
        let isAppended: Void? = text.utf8.withContiguousStorageIfAvailable { append(escaping: $0) }
        guard isAppended == nil else { return }
        var copy = text  // A bridged string has no contiguous UTF-8 until it is requested.
        copy.withUTF8 { append(escaping: $0) }
    }

    private mutating func append(escaping bytes: UnsafeBufferPointer<UInt8>) {
        var plain = 0  // The start of the part that is not appended yet.
        for (position, byte) in bytes.enumerated() {
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            append(contentsOf: UnsafeBufferPointer(rebasing: bytes[plain..<position]))
            append(escapeOf: byte)
            plain = position + 1
        }
        append(contentsOf: UnsafeBufferPointer(rebasing: bytes[plain...]))
    }

    private mutating func append(escapeOf byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append(literal: "\\\"")
        case UInt8(ascii: "\\"): append(literal: "\\\\")
        case 0x08: append(literal: "\\b")
        case 0x09: append(literal: "\\t")
        case 0x0A: append(literal: "\\n")
        case 0x0C: append(literal: "\\f")
        case 0x0D: append(literal: "\\r")
        default:
            append(literal: byte < 0x10 ? "\\u000" : "\\u001")
            let digit = byte & 0x0F
            append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}

/// Writes doubles as in RFC 8785: the fewest digits that read back as the same double; zero has no sign.
package enum NumberWriter {
    /// The number as the hub prints it.
    package static func text(_ value: Double) -> String {
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let powers: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6]

    /// Appends `value`.
    ///
    /// JSON cannot express a number that is not finite: it becomes `null`, which no decoder accepts as a value.
    package static func append(_ value: Double, to output: inout [UInt8]) {
        guard value.isFinite else { return output.append(literal: "null") }
        if value < 0 { output.append(UInt8(ascii: "-")) }
        let magnitude = value.magnitude
        if magnitude < 9_007_199_254_740_992, magnitude == magnitude.rounded(.towardZero) {
            append(UInt64(magnitude), to: &output)
        } else if !appendFewDecimals(magnitude, to: &output) {
            appendShortest(magnitude, to: &output)
        }
    }

    /// Appends an integer.
    package static func append(_ value: Int64, to output: inout [UInt8]) {
        if value < 0 { output.append(UInt8(ascii: "-")) }
        append(value.magnitude, to: &output)
    }

    private static func append(_ value: UInt64, to output: inout [UInt8]) {
        if value < 10 { return output.append(0x30 + UInt8(truncatingIfNeeded: value)) }
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { buffer in
            var rest = value
            var first = 20
            repeat {
                first -= 1
                buffer[first] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            output.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[first..<20]))
        }
    }

    /// The fast path for typical measurements.
    ///
    /// If an integer of at most 15 digits, divided by a power of ten, gives exactly this double, then no other text of at
    /// most 15 digits does. The smallest such power therefore gives the shortest text.
    private static func appendFewDecimals(_ magnitude: Double, to output: inout [UInt8]) -> Bool {
        guard magnitude >= 1e-6, magnitude < 1e9 else { return false }
        for decimals in 1..<powers.count {
            let scaled = (magnitude * powers[decimals]).rounded()
            guard scaled < 1e15 else { return false }
            guard scaled / powers[decimals] == magnitude else { continue }
            let divisor = UInt64(powers[decimals])
            let (whole, fraction) = UInt64(scaled).quotientAndRemainder(dividingBy: divisor)
            append(whole, to: &output)
            output.append(UInt8(ascii: "."))
            var place = divisor / 10
            while fraction < place {
                output.append(UInt8(ascii: "0"))
                place /= 10
            }
            append(fraction, to: &output)
            return true
        }
        return false
    }

    /// Swift prints the same digits as RFC 8785 but places the decimal point differently.
    private static func appendShortest(_ magnitude: Double, to output: inout [UInt8]) {
        var digits: [UInt8] = []
        var point = 0  // The position of the decimal point, in digits from the first.
        var hasPoint = false
        let text = Array(magnitude.description.utf8)
        let mantissa = text.prefix { $0 != UInt8(ascii: "e") }
        for byte in mantissa {
            if byte == UInt8(ascii: ".") {
                hasPoint = true
            } else {
                digits.append(byte)
                if !hasPoint { point += 1 }
            }
        }
        if mantissa.count < text.count {
            point += Int(String(decoding: text[(mantissa.count + 1)...], as: UTF8.self)) ?? 0
        }
        while digits.count > 1, digits.last == UInt8(ascii: "0") { digits.removeLast() }
        while digits.count > 1, digits.first == UInt8(ascii: "0") {
            digits.removeFirst()
            point -= 1
        }
        place(digits, point: point, in: &output)
    }

    /// ECMAScript's Number::toString, which RFC 8785 §3.2.2.3 adopts.
    private static func place(_ digits: [UInt8], point: Int, in output: inout [UInt8]) {
        let zero = UInt8(ascii: "0")
        switch point {
        case digits.count...21:
            output.append(contentsOf: digits)
            output.append(contentsOf: repeatElement(zero, count: point - digits.count))
        case 1...21:
            output.append(contentsOf: digits[..<point])
            output.append(UInt8(ascii: "."))
            output.append(contentsOf: digits[point...])
        case -5...0:
            output.append(literal: "0.")
            output.append(contentsOf: repeatElement(zero, count: -point))
            output.append(contentsOf: digits)
        default:
            output.append(digits[0])
            if digits.count > 1 {
                output.append(UInt8(ascii: "."))
                output.append(contentsOf: digits[1...])
            }
            output.append(literal: point > 0 ? "e+" : "e-")
            append(UInt64((point - 1).magnitude), to: &output)
        }
    }
}
