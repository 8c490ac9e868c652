import Foundation
import JSON
import Samples

/// Whether a value is probably a time: a record without a start, and with such a member, is not of now.
enum LikelyTime {
    static func isIn(_ value: JSONTree) -> Bool { isIn(value, depth: 0) }

    private static func isIn(_ value: JSONTree, depth: Int) -> Bool {
        switch value {
        case .text(let text): isTime(text.trimmed)
        case .number(let digits): isEpoch(digits)
        case .object(let members) where depth < 8: members.contains { isIn($0.value, depth: depth + 1) }
        case .list(let elements) where depth < 8: elements.contains { isIn($0, depth: depth + 1) }
        default: false
        }
    }

    private static func isTime(_ text: String) -> Bool {
        guard text.utf8.count <= 64 else { return false }
        if PhoneTime.read(text) != nil || PhoneTime.readLocal(text) != nil || isEpoch(text) { return true }
        guard let (scalars, _) = ForeignDate.plain(text) else { return false }
        let plain = String(String.UnicodeScalarView(scalars))
        // 2026-11-19, 19.11.2026, 11/19/26, 2026年11月19日, with or without a time behind it.
        if let parts = plain.prefixMatch(of: #/(\d{1,4})[-.\/年](\d{1,2})[-.\/月](\d{2,4})?(?!\d)/#),
            parts.1.count == 4 || parts.1.count <= 2 && [2, 4].contains(parts.3?.count)
        {
            return true
        }
        // 20261119, 20261119T070000Z.
        if plain.wholeMatch(of: #/(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([T ]?\d{4,6}.{0,6})?/#) != nil {
            return true
        }
        // 7:30, 07:30:02 pm.
        if plain.wholeMatch(of: #/\d{1,2}:\d\d(:\d\d(\.\d+)?)?( ?[\p{L}. ]{1,6})?/#) != nil { return true }
        // Thu, 19 Nov 2026; November 19, 2026.
        return plain.firstMatch(of: #/\b(\d{1,2}\.? \p{L}{3,12}\.?,? \d{4}|\p{L}{3,12}\.? \d{1,2},? \d{4})\b/#) != nil
    }

    /// Seconds or milliseconds since 1970, in the years 2001 to 2099.
    private static func isEpoch(_ digits: String) -> Bool {
        guard let number = Double(digits) else { return false }
        return [1.0, 1_000].contains { (978_307_200.0..<4_102_444_800).contains(number / $0) }
    }
}
