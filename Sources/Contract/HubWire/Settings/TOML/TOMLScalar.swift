import Samples

/// Parses a TOML value without quotes or brackets: a number, a boolean, a date or a time.
///
/// It follows the grammar of TOML 1.0; integers must fit into 64 bits, and dates must exist in the calendar.
enum TOMLScalar {
    /// - Throws: the problem, without its place.
    static func node(_ bytes: ArraySlice<UInt8>) throws(TOMLError) -> Node {
        guard bytes.count <= 128, bytes.allSatisfy({ $0 < 0x80 }) else { throw .notAValue }
        let text = String(decoding: bytes, as: UTF8.self)
        switch text {
        case "true": return .boolean(true)
        case "yes", "no", "on", "off", "Yes", "No", "On", "Off", "True", "False", "TRUE", "FALSE":
            throw TOMLError(message: "expected true or false, in small letters and without quotes")
        case "false": return .boolean(false)
        case "inf", "+inf": return .number(.infinity)
        case "-inf": return .number(-.infinity)
        case "nan", "+nan", "-nan": return .number(.nan)
        default:
            if let meant = nearestName(to: text, among: ["true", "false"]) {
                throw TOMLError(message: "expected a value; did you mean \(meant)?")
            }
        }
        if let number = try integer(text) { return number }
        if let number = try float(text) { return number }
        return try moment(text)
    }

    private static func integer(_ text: String) throws(TOMLError) -> Node? {
        let (digits, radix): (Substring, Int)
        if let match = text.wholeMatch(
            of: /0(?:x([0-9A-Fa-f](?:_?[0-9A-Fa-f])*)|o([0-7](?:_?[0-7])*)|b([01](?:_?[01])*))/)
        {
            radix = match.1 != nil ? 16 : match.2 != nil ? 8 : 2
            digits = match.1 ?? match.2 ?? match.3 ?? ""
        } else if text.wholeMatch(of: /[+\-]?(0|[1-9](_?[0-9])*)/) != nil {
            (digits, radix) = (text[...], 10)
        } else {
            return nil
        }
        guard let value = Int64(digits.filter { $0 != "_" }, radix: radix) else {
            throw TOMLError(message: "a whole number is from \(Int64.min) to \(Int64.max)")
        }
        return .integer(value)
    }

    private static func float(_ text: String) throws(TOMLError) -> Node? {
        let form = /[+\-]?(0|[1-9](_?[0-9])*)(\.[0-9](_?[0-9])*)?([eE][+\-]?[0-9](_?[0-9])*)?/
        guard text.wholeMatch(of: form) != nil, let value = Double(text.filter { $0 != "_" }) else { return nil }
        guard value.isFinite else { throw TOMLError(message: "the number is beyond the range of doubles") }
        return .number(value)
    }

    private static func moment(_ text: String) throws(TOMLError) -> Node {
        let form =
            /([0-9]{4}-[0-9]{2}-[0-9]{2})?(?:([Tt ])?(([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?)([Zz]|[+\-]([0-9]{2}):([0-9]{2}))?)?/
        guard !text.isEmpty, let match = text.wholeMatch(of: form) else { throw .notAValue }
        if let date = match.1, LocalDate(date) == nil {
            throw TOMLError(message: "the calendar has no day \(date)")
        }
        guard let time = match.3, let hour = match.4, let minute = match.5, let second = match.6 else {
            guard let date = match.1, match.2 == nil else { throw .notAValue }
            return .date(String(date))
        }
        // RFC 3339 allows second 60 for leap seconds.
        guard hour < "24", minute < "60", second <= "60", (match.8 ?? "00") < "24", (match.9 ?? "00") < "60" else {
            throw TOMLError(message: "a day has no time \(time)\(match.7 ?? "")")
        }
        switch (match.1, match.2, match.7) {
        case (nil, nil, nil): return .time(String(time))
        case (let date?, _?, let offset): return .dateTime("\(date)T\(time)\(offset?.uppercased() ?? "")")
        default: throw .notAValue
        }
    }
}

extension TOMLError {
    fileprivate static let notAValue = TOMLError(message: "expected a value; a text stands in quotes")
}
