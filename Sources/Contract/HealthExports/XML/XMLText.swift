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

    /// Appends text or an attribute value.
    ///
    /// Characters that XML does not allow (control characters, U+FFFE, U+FFFF) become U+FFFD.
    mutating func append(xml text: String) {
        // In UTF-8, U+FFFE and U+FFFF begin with 0xEF 0xBF, like U+FFFD. Most texts contain none of the three.
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
