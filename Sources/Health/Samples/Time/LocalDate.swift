/// A calendar date without a zone, in the proleptic Gregorian calendar.
///
/// Texts cover the years 0001 to 9999. Arithmetic also works beyond them, for every day that an `Int64` of microseconds can name.
public struct LocalDate: Hashable, Sendable, Comparable {
    /// The year; the year before 1 is 0.
    public let year: Int
    /// The month, 1…12.
    public let month: Int
    /// The day of the month, 1…31.
    public let day: Int

    /// A date whose fields are already known to be valid.
    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates the date from its fields; `nil` if the calendar has no such day, or the year is not 1…9999.
    public init?(_ year: Int, _ month: Int, _ day: Int) {
        guard (1...9_999).contains(year), (1...12).contains(month), day >= 1,
            day <= LocalDate.daysInMonth(month, year: year)
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// Reads `yyyy-MM-dd`; `nil` if the text has another form or the day does not exist, such as 2023-02-29.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, bytes[4] == 0x2D, bytes[7] == 0x2D else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            var value = 0
            for byte in bytes[range] {
                guard (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int(byte - 0x30)
            }
            return value
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10) else { return nil }
        self.init(year, month, day)
    }

    /// The date `days` days after 1970-01-01, or before it when negative.
    ///
    /// Uses era arithmetic: cycles of 400 years, which have 146,097 days each.
    public init(daysSinceEpoch days: Int) {
        let shifted = days + 719_468  // Days since 0000-03-01, so that the leap day ends a year.
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days since 1970-01-01; negative before it.
    public var daysSinceEpoch: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The date `days` days later, or earlier when negative.
    public func adding(days: Int) -> LocalDate { LocalDate(daysSinceEpoch: daysSinceEpoch + days) }

    /// The same day `months` months later, or earlier when negative; the last day of the month if the month is too short.
    public func adding(months: Int) -> LocalDate {
        let all = year * 12 + month - 1 + months
        let year = all >= 0 ? all / 12 : (all - 11) / 12
        let month = all - year * 12 + 1
        return LocalDate(year: year, month: month, day: min(day, LocalDate.daysInMonth(month, year: year)))
    }

    /// The age on `date` of a person born on this date, in full years; `nil` before the birth.
    ///
    /// A person born on 29 February is a year older on 1 March of a year without that day.
    public func age(on date: LocalDate) -> Int? {
        guard date >= self else { return nil }
        return date.year - year - ((date.month, date.day) < (month, day) ? 1 : 0)
    }

    /// The number of days in month 1…12 of `year`.
    public static func daysInMonth(_ month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// A date as people type it: `2026-03-01`, `2026/3/1`, `1.3.2026`; `nil` for any other text, including the ambiguous `3/1/2026`.
    package init?(typed text: some StringProtocol) {
        if let date = LocalDate(text) {
            self = date
            return
        }
        let separator: Character = text.contains("/") ? "/" : text.contains(".") ? "." : "-"
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } }) else { return nil }
        let ordered = separator == "." ? parts.reversed() : parts
        guard ordered[0].count == 4, ordered[1...].allSatisfy({ (1...2).contains($0.count) }),
            let year = Int(ordered[0]),
            let month = Int(ordered[1]), let day = Int(ordered[2])
        else { return nil }
        self.init(year, month, day)
    }

    /// `yyyy-MM-dd`, which ``init(_:)`` can read if the year is 0001…9999.
    public var text: String {
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(year < 0 ? "-" : "")\(padded(abs(year), 4))-\(padded(month, 2))-\(padded(day, 2))"
    }

    /// Earlier dates come first.
    public static func < (left: LocalDate, right: LocalDate) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }
}
