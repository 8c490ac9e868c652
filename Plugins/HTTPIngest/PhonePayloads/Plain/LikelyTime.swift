import JSON
import Samples

/// Decides whether a member is probably a time.
///
/// A record without a start but with such a member does not get the time of its arrival.
enum LikelyTime {
    /// - Parameter arrival: the arrival time of the post, in microseconds since 1970.
    static func isIn(_ member: JSONTree.Member, at arrival: Int64) -> Bool { isIn(member, arrival, depth: 0) }

    /// Words in names of members that contain numbers with points, colons or many digits but are not times.
    private static let others: Set = [
        "id", "ip", "mac", "serial", "firmware", "version", "build", "barcode", "ean", "address", "location", "place",
        "phone", "pace", "device", "model", "name", "uuid", "note", "comment", "title", "url",
    ]

    private static func isIn(_ member: JSONTree.Member, _ arrival: Int64, depth: Int) -> Bool {
        guard !UnitStatement.words(of: member.name).contains(where: others.contains) else { return false }
        switch member.value {
        case .text(let text): return isTime(text.trimmed, arrival)
        case .number(let digits): return isEpoch(digits, arrival)
        case .object(let members):
            return depth < 8 && members.contains { isIn($0, arrival, depth: depth + 1) }
        case .list(let elements):
            return depth < 8 && elements.prefix(100).contains { isIn(.init("", $0), arrival, depth: depth + 1) }
        case .null, .truth: return false
        }
    }

    private static func isTime(_ text: String, _ arrival: Int64) -> Bool {
        guard text.utf8.count <= 64 else { return false }
        if PhoneTime.read(text) != nil || PhoneTime.readLocal(text) != nil || isEpoch(text, arrival) { return true }
        guard let (scalars, _) = ForeignDate.plain(text) else { return false }
        let plain = String(String.UnicodeScalarView(scalars))
        if let parts = plain.prefixMatch(of: date), isDay(String(parts.1), String(parts.2), String(parts.3)) {
            return true
        }
        if plain.wholeMatch(of: compact) != nil { return true }
        if let parts = plain.wholeMatch(of: clock), let hour = Int(parts.1), hour < 24 { return true }
        return plain.lowercased().firstMatch(of: words) != nil
    }

    /// 2026-11-19, 19.11.2026, 11/19/26, 2026年11月19日, optionally followed by a time.
    private static var date: Regex<(Substring, Substring, Substring, Substring)> {
        #/(\d{1,4})[-.\/年](\d{1,2})[-.\/月](\d{1,4})(?![\d.])/#
    }

    /// 20261119, 20261119T070000Z.
    private static var compact: Regex<(Substring, Substring, Substring, Substring, Substring?)> {
        #/((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([T ]?\d{4,6}.{0,6})?/#
    }

    /// 7:30, 07:30:02 pm.
    private static var clock: Regex<(Substring, Substring)> {
        #/(\d{1,2}):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?: ?[\p{L}. ]{1,6})?/#
    }

    /// Thu, 19 Nov 2026; November 19, 2026; in lower case.
    private static var words: Regex<(Substring, Substring?, Substring?)> {
        #/\b(?:\d{1,2}\.? (jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\p{L}*\.?,? \d{4}|(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\p{L}*\.? \d{1,2},? \d{4})\b/#
    }

    /// Whether three numbers can be a date, with a four-digit year at either end or a two-digit year at the end.
    private static func isDay(_ first: String, _ second: String, _ third: String) -> Bool {
        guard let one = Int(first), let two = Int(second), let three = Int(third) else { return false }
        func fit(_ month: Int, _ day: Int) -> Bool { (1...12).contains(month) && (1...31).contains(day) }
        if first.count == 4 { return third.count <= 2 && fit(two, three) }
        return first.count <= 2 && [2, 4].contains(third.count) && (fit(two, one) || fit(one, two))
    }

    /// Whether the number is seconds or milliseconds since 1970, from ten years before the arrival to one day after it.
    private static func isEpoch(_ digits: String, _ arrival: Int64) -> Bool {
        guard let number = Double(digits) else { return false }
        let now = Double(arrival) / 1e6
        return [1.0, 1_000].contains { (now - 315_576_000...now + 86_400).contains(number / $0) }
    }
}
