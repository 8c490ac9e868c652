import JSON

/// Appends XML 1.0 to a buffer.
extension [UInt8] {
    /// Appends ` name="value"`.
    mutating func append(attribute name: StaticString, _ value: String) {
        append(UInt8(ascii: " "))
        append(literal: name)
        append(literal: "=\"")
        append(xml: value)
        append(UInt8(ascii: "\""))
    }

    /// Appends text, or the value of an attribute; what XML has no way to say, control characters and U+FFFE and U+FFFF, becomes U+FFFD.
    mutating func append(xml text: String) {
        // In UTF-8 the two begin with 0xEF 0xBF, as U+FFFD itself, which most texts do not have.
        let isPlain = !text.utf8.contains(0xEF)
        for byte in (isPlain ? text : text.replacing(/[\u{FFFE}\u{FFFF}]/, with: "\u{FFFD}")).utf8 {
            switch byte {
            case UInt8(ascii: "&"): append(literal: "&amp;")
            case UInt8(ascii: "<"): append(literal: "&lt;")
            case UInt8(ascii: ">"): append(literal: "&gt;")
            case UInt8(ascii: "\""): append(literal: "&quot;")
            case 0x09: append(literal: "&#9;")
            case 0x0A: append(literal: "&#10;")
            case 0x0D: append(literal: "&#13;")
            case 0..<0x20: append(literal: "\u{FFFD}")
            default: append(byte)
            }
        }
    }
}
