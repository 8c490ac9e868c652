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
