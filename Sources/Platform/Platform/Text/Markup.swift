/// Escapes text for elements and quoted attributes of HTML and XML.
public enum Markup {
    /// The language, which decides about characters that only one of the two can contain.
    public enum Language: Sendable {
        /// HTML: attributes in double or single quotes; line feeds and tabs stay as they are.
        case html
        /// XML 1.0: attributes in double quotes, in which line feeds and tabs would become spaces if they were not escaped.
        case xml
    }

    /// The escaped text.
    public static func escaped(_ text: some StringProtocol, for language: Language = .html) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes, for: language)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the escaped text; characters that the language cannot express, such as NUL, become U+FFFD.
    public static func append(_ text: some StringProtocol, to bytes: inout [UInt8], for language: Language = .html) {
        // An export escapes gigabytes, so this reads the text's bytes in place.
        var text = String(text)
        text.withUTF8 { append($0, to: &bytes, isHTML: language == .html) }
    }

    private static func append(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8], isHTML: Bool) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): bytes.append("&amp;")
            case UInt8(ascii: "<"): bytes.append("&lt;")
            case UInt8(ascii: ">"): bytes.append("&gt;")
            case UInt8(ascii: "\""): bytes.append("&quot;")
            case UInt8(ascii: "'") where isHTML: bytes.append("&#39;")
            case 0x09 where !isHTML: bytes.append("&#9;")
            case 0x0A where !isHTML: bytes.append("&#10;")
            // A parser would turn a carriage return into a line feed.
            case 0x0D: bytes.append("&#13;")
            case 0x09, 0x0A: bytes.append(byte)
            case ..<0x20: bytes.append("\u{FFFD}")
            case 0x7F where isHTML: bytes.append("\u{FFFD}")
            // XML excludes U+FFFE and U+FFFF, whose UTF-8 differs from that of U+FFFD only in the last byte.
            case 0xBE, 0xBF: bytes.append(!isHTML && bytes.suffix(2) == [0xEF, 0xBF] ? 0xBD : byte)
            default: bytes.append(byte)
            }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
