/// Makes text safe for a terminal.
///
/// This is the only place that decides which characters are unsafe: all text for people passes through it. Names, reasons and messages come
/// from devices, services and scripts. A control character could control the terminal. A bidirectional character could make the text look
/// different. A line end could forge a line that the program has not printed.
package enum PlainText {
    /// Begins a colour of this program.
    ///
    /// It is an escape character and a number that only this process knows, so that text from outside cannot use colours.
    package static let colour = "\u{1B}\(UInt64.random(in: .min ... .max))"

    /// A line for stdout or stderr.
    package static func line(_ text: String) -> String {
        let text = escaped(text)
        return text.utf8.contains(0x1B) ? text.replacing(colour, with: "\u{1B}") : text
    }

    /// The lines of a text that this program has composed, each treated by ``line(_:)``.
    package static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }.joined(separator: "\n")
    }

    /// `text` with all characters escaped that could control a terminal, such as `\u001b` and `\n`; escaping twice changes nothing more.
    package static func escaped(_ text: String) -> String { rewritten(text, keepsSpace: false) }

    /// The same JSON value; only its strings can contain characters that are escaped.
    package static func json(_ text: String) -> String { rewritten(text, keepsSpace: true) }

    /// Whether it is a control character (C0, DEL, C1), a line or paragraph separator, or a bidirectional control.
    package static func steers(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F, 0x2028, 0x2029: true
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private static func rewritten(_ text: String, keepsSpace: Bool) -> String {
        guard text.utf8.contains(where: { !(0x20..<0x7F).contains($0) }) else { return text }
        var (shown, rest) = (String.UnicodeScalarView(), text.unicodeScalars[...])
        while let scalar = rest.popFirst() {
            if !steers(scalar) {
                shown.append(scalar)
            } else if scalar == "\u{1B}", rest.starts(with: colour.unicodeScalars.dropFirst()) {
                shown.append(contentsOf: colour.unicodeScalars)
                rest = rest.dropFirst(colour.unicodeScalars.count - 1)
            } else if keepsSpace, scalar == "\n" || scalar == "\r" || scalar == "\t" {
                shown.append(scalar)
            } else {
                shown.append(contentsOf: spelling(of: scalar).unicodeScalars)
            }
        }
        return String(shown)
    }

    private static func spelling(of scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default:
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }
}
