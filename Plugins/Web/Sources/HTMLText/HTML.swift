import Platform

/// Markup in which every interpolated value is escaped as text.
///
/// Literals in the program's source are markup. Interpolated values are escaped for use in elements and in attributes with double quotes:
///
/// ```swift
/// let row: HTML = "<tr><th scope=\"row\">\(name)</th><td class=\"\(shade)\">\(value)</td></tr>"
/// ```
///
/// Interpolated markup is not escaped. Text known only at run time cannot become markup, because literals are static.
///
/// Each address of this site is interpolated as `url`. The markup marks the place, and ``bytes(below:)`` writes the base path there.
struct HTML: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// In UTF-8, with ``baseMark`` before each address of this site.
    private var marked: [UInt8]

    /// A byte that UTF-8 never contains, so no text can contain it.
    private static let baseMark: UInt8 = 0xFF

    /// Creates empty markup.
    init() { marked = [] }

    init(stringLiteral literal: StaticString) { marked = literal.withUTF8Buffer { Array($0) } }

    init(stringInterpolation interpolation: Interpolation) { marked = interpolation.bytes }

    /// The markup in UTF-8, with the addresses of this site below a base path.
    func bytes(below base: BasePath) -> [UInt8] {
        let parts = marked.split(separator: Self.baseMark, omittingEmptySubsequences: false)
        return Array(parts.joined(separator: base.text.utf8))
    }

    /// The markup without a base path.
    var text: String { String(decoding: bytes(below: .none), as: UTF8.self) }

    var isEmpty: Bool { marked.isEmpty }

    static func + (left: HTML, right: HTML) -> HTML {
        var sum = left
        sum += right
        return sum
    }

    static func += (left: inout HTML, right: HTML) { left.marked += right.marked }

    /// Concatenates the markup made for each element.
    static func each<Element>(_ elements: some Sequence<Element>, _ make: (Element) throws -> HTML) rethrows
        -> HTML
    {
        var all = HTML()
        for element in elements { all += try make(element) }
        return all
    }

    /// Joins parts with a separator, such as words in a line.
    static func joined(_ parts: some Sequence<HTML>, by separator: HTML) -> HTML {
        var all = HTML()
        for (index, part) in parts.enumerated() {
            if index > 0 { all += separator }
            all += part
        }
        return all
    }

    /// Collects a literal and its values.
    struct Interpolation: StringInterpolationProtocol, Sendable {
        fileprivate var bytes: [UInt8] = []

        init(literalCapacity: Int, interpolationCount: Int) {
            bytes.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: StaticString) {
            literal.withUTF8Buffer { bytes.append(contentsOf: $0) }
        }

        mutating func appendInterpolation(_ markup: HTML) { bytes += markup.marked }

        /// Appends nothing if there is no markup.
        mutating func appendInterpolation(_ markup: HTML?) { if let markup { bytes += markup.marked } }

        mutating func appendInterpolation(_ text: some StringProtocol) { Markup.append(text, to: &bytes) }

        mutating func appendInterpolation(_ number: some BinaryInteger) { bytes += Array(String(number).utf8) }

        /// Appends a word of markup, such as `checked`, if a condition holds.
        mutating func appendInterpolation(_ word: StaticString, if condition: Bool) {
            if condition { appendLiteral(word) }
        }

        /// Appends an address for `href`, `src` or `action`: one on this site, or one with HTTP or HTTPS; any other becomes `#`, which leads
        /// nowhere.
        ///
        /// An address on this site begins with `/`, `?` or `#`; two slashes would lead to another host.
        mutating func appendInterpolation(url address: String) {
            let isHarmless = Escaping.isHarmless(address: address)
            if isHarmless, address.hasPrefix("/") { bytes.append(HTML.baseMark) }
            Markup.append(isHarmless ? address : "#", to: &bytes)
        }
    }
}

private enum Escaping {
    static func isHarmless(address: String) -> Bool {
        let bytes = Array(address.utf8.prefix(9))
        // Browsers remove line feeds and tabs, and treat a backslash as a slash.
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
