/// Markup in which each value that was put in is text, whatever it holds.
///
/// What stands in the program's own source is markup; what is interpolated is escaped, for elements and for attributes in double quotes alike:
///
/// ```swift
/// let row: HTML = "<tr><th scope=\"row\">\(name)</th><td class=\"\(shade)\">\(value)</td></tr>"
/// ```
///
/// Markup goes into markup as it is. A text of which the program learns only while it runs cannot become markup: literals are static.
public struct HTML: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// In UTF-8.
    public private(set) var bytes: [UInt8]

    /// Nothing.
    public init() { bytes = [] }

    public init(stringLiteral literal: StaticString) { bytes = literal.withUTF8Buffer { Array($0) } }

    public init(stringInterpolation interpolation: Interpolation) { bytes = interpolation.bytes }

    public var text: String { String(decoding: bytes, as: UTF8.self) }

    public var isEmpty: Bool { bytes.isEmpty }

    public static func + (left: HTML, right: HTML) -> HTML {
        var sum = left
        sum += right
        return sum
    }

    public static func += (left: inout HTML, right: HTML) { left.bytes += right.bytes }

    /// What is made of each element, one after the other.
    public static func each<Element>(_ elements: some Sequence<Element>, _ make: (Element) throws -> HTML) rethrows
        -> HTML
    {
        var all = HTML()
        for element in elements { all += try make(element) }
        return all
    }

    /// Joins parts, such as words that stand in one line.
    public static func joined(_ parts: some Sequence<HTML>, by separator: HTML) -> HTML {
        var all = HTML()
        for (index, part) in parts.enumerated() {
            if index > 0 { all += separator }
            all += part
        }
        return all
    }

    /// Takes up a literal and its values.
    public struct Interpolation: StringInterpolationProtocol, Sendable {
        fileprivate var bytes: [UInt8] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            bytes.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        public mutating func appendLiteral(_ literal: StaticString) {
            literal.withUTF8Buffer { bytes.append(contentsOf: $0) }
        }

        public mutating func appendInterpolation(_ markup: HTML) { bytes += markup.bytes }

        /// Nothing where there is none.
        public mutating func appendInterpolation(_ markup: HTML?) { if let markup { bytes += markup.bytes } }

        public mutating func appendInterpolation(_ text: some StringProtocol) { Escaping.append(text, to: &bytes) }

        public mutating func appendInterpolation(_ number: some BinaryInteger) { bytes += Array(String(number).utf8) }

        /// A word of markup, such as `checked`, where a condition holds.
        public mutating func appendInterpolation(_ word: StaticString, if condition: Bool) {
            if condition { appendLiteral(word) }
        }

        /// An address for `href`, `src` or `action`: one of this place, or by HTTP or HTTPS; any other becomes `#`, which leads nowhere.
        ///
        /// An address of this place begins with `/`, `?` or `#`; two slashes would be another host.
        public mutating func appendInterpolation(url address: String) {
            Escaping.append(Escaping.isHarmless(address: address) ? address : "#", to: &bytes)
        }
    }
}

private enum Escaping {
    /// Text for elements, and for attributes in double or single quotes.
    ///
    /// What HTML has no way to say, such as NUL, becomes the replacement character.
    static func append(_ text: some StringProtocol, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += Array("&amp;".utf8)
            case UInt8(ascii: "<"): bytes += Array("&lt;".utf8)
            case UInt8(ascii: ">"): bytes += Array("&gt;".utf8)
            case UInt8(ascii: "\""): bytes += Array("&quot;".utf8)
            case UInt8(ascii: "'"): bytes += Array("&#39;".utf8)
            // A parser would make a line feed of it.
            case 0x0D: bytes += Array("&#13;".utf8)
            case 0x09, 0x0A: bytes.append(byte)
            case ..<0x20, 0x7F: bytes += [0xEF, 0xBF, 0xBD]
            default: bytes.append(byte)
            }
        }
    }

    static func isHarmless(address: String) -> Bool {
        let bytes = Array(address.utf8.prefix(9))
        // Browsers take out line feeds and tabs, and read a backslash as a slash.
        guard !address.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") }) else {
            return false
        }
        switch bytes.first {
        case UInt8(ascii: "/"): return bytes.count == 1 || bytes[1] != UInt8(ascii: "/")
        case UInt8(ascii: "?"), UInt8(ascii: "#"): return true
        default:
            let beginning = String(decoding: bytes, as: UTF8.self).lowercased()
            return beginning.hasPrefix("http://") || beginning.hasPrefix("https://")
        }
    }
}
