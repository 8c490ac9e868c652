package import Samples

/// A day as people type it: `today`, `yesterday`, `2 days ago`, `last monday`, `2026-03-01`, `18.10.1974`, `18.10.`.
package enum TypedDay: Hashable, Sendable {
    case date(LocalDate)
    case daysAgo(Int)
    case monthsAgo(Int)
    /// The last such weekday before today, 0 for Monday.
    case weekday(Int)
    /// The last such date up to today.
    case dayOfYear(month: Int, day: Int)

    package static let forms =
        "a date (2026-03-01, 1.3.2026 or 1.3.), today, yesterday, \"2 days ago\", \"last monday\""

    private static let weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

    /// `nil` for any other text.
    package init?(_ text: String) {
        let words = text.lowercased().split(separator: " ").map(String.init)
        switch words {
        case ["today"]: self = .daysAgo(0)
        case ["yesterday"]: self = .daysAgo(1)
        case let words where words.count == 3 && words[2] == "ago":
            guard let count = ["a", "an", "one"].contains(words[0]) ? 1 : TypedDay.count(words[0]) else { return nil }
            switch words[1] {
            case "day", "days": self = .daysAgo(count)
            case "week", "weeks": self = .daysAgo(7 * count)
            case "month", "months": self = .monthsAgo(count)
            case "year", "years": self = .monthsAgo(12 * count)
            default: return nil
            }
        case let words where words.first == "last" && words.count == 2:
            guard let place = TypedDay.weekdays.firstIndex(of: words[1]) else { return nil }
            self = .weekday(place)
        case let words where words.count == 1 && words[0].hasSuffix("."):
            let parts = words[0].dropLast().split(separator: ".", omittingEmptySubsequences: false)
            // The year 2000 has a 29 February.
            guard parts.count == 2, let day = TypedDay.count(parts[0]), let month = TypedDay.count(parts[1]),
                LocalDate(2000, month, day) != nil
            else { return nil }
            self = .dayOfYear(month: month, day: day)
        case let words where words.count == 1:
            guard let date = LocalDate(typed: words[0]) else { return nil }
            self = .date(date)
        default: return nil
        }
    }

    private static func count(_ text: some StringProtocol) -> Int? {
        guard text.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int(text), count <= 100_000 else {
            return nil
        }
        return count
    }

    /// The calendar date of the day.
    package func date(today: LocalDate) -> LocalDate {
        switch self {
        case .date(let date): return date
        case .daysAgo(let days): return today.adding(days: -days)
        case .monthsAgo(let months): return today.adding(months: -months)
        case .weekday(let place):
            // 1 January 1970 was a Thursday.
            let since = (today.daysSinceEpoch + 3 - place) % 7
            return today.adding(days: since > 0 ? -since : -since - 7)
        case .dayOfYear(let month, let day):
            // Up to eight years may lie between two 29 Februaries.
            let dates = (0...8).lazy.compactMap { LocalDate(today.year - $0, month, day) }
            return dates.first { $0 <= today } ?? today
        }
    }
}
