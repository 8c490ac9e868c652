/// Checks JSON by RFC 8259 and copies it without the white space between tokens.
///
/// Strings and numbers are copied byte for byte. Strings must be valid UTF-8; escapes must be well formed, surrogates paired.
struct JSONCompactor {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var output: [UInt8] = []

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        output.reserveCapacity(min(bytes.count, JSONObject.maximumBytes))
    }

    /// The whole input as one compact object, or `nil`.
    mutating func object() -> String? {
        skipSpace()
        guard peek == UInt8(ascii: "{"), value(depth: 0) else { return nil }
        skipSpace()
        guard position == bytes.count else { return nil }
        return String(validating: output, as: UTF8.self)
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        output.append(byte)
        return true
    }

    private mutating func value(depth: Int) -> Bool {
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return depth < JSONObject.maximumDepth && members(depth: depth + 1)
        case UInt8(ascii: "["): return depth < JSONObject.maximumDepth && elements(depth: depth + 1)
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    private mutating func members(depth: Int) -> Bool {
        guard take(UInt8(ascii: "{")) else { return false }
        skipSpace()
        if take(UInt8(ascii: "}")) { return true }
        repeat {
            skipSpace()
            guard string() else { return false }
            skipSpace()
            guard take(UInt8(ascii: ":")), value(depth: depth) else { return false }
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}"))
    }

    private mutating func elements(depth: Int) -> Bool {
        guard take(UInt8(ascii: "[")) else { return false }
        skipSpace()
        if take(UInt8(ascii: "]")) { return true }
        repeat {
            guard value(depth: depth) else { return false }
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]"))
    }

    private mutating func word(_ word: StaticString) -> Bool {
        for offset in 0..<word.utf8CodeUnitCount {
            guard take(word.utf8Start[offset]) else { return false }
        }
        return true
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) {
            guard digits() else { return false }
        }
        if take(UInt8(ascii: ".")) {
            guard digits() else { return false }
        }
        if let byte = peek, byte | 0x20 == UInt8(ascii: "e") {
            position += 1
            output.append(byte)
            if let sign = peek, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
                position += 1
                output.append(sign)
            }
            guard digits() else { return false }
        }
        return true
    }

    private mutating func digits() -> Bool {
        let first = position
        while let byte = peek, (0x30...0x39).contains(byte) {
            position += 1
            output.append(byte)
        }
        return position > first
    }

    private mutating func string() -> Bool {
        guard take(UInt8(ascii: "\"")) else { return false }
        while let byte = peek {
            position += 1
            output.append(byte)
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): guard escape() else { return false }
            case 0..<0x20: return false
            default: break
            }
        }
        return false
    }

    private mutating func escape() -> Bool {
        guard let byte = peek else { return false }
        position += 1
        output.append(byte)
        switch byte {
        case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: return true
        case UInt8(ascii: "u"): break
        default: return false
        }
        guard let unit = hexadecimal() else { return false }
        if (0xDC00...0xDFFF).contains(unit) { return false }
        guard (0xD800...0xDBFF).contains(unit) else { return true }
        guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let low = hexadecimal() else { return false }
        return (0xDC00...0xDFFF).contains(low)
    }

    private mutating func hexadecimal() -> UInt16? {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek else { return nil }
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x37
            case 0x61...0x66: digit = byte - 0x57
            default: return nil
            }
            position += 1
            output.append(byte)
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
