import Samples

/// Reads unambiguous times in forms of other programs and of phones in other languages.
///
/// `2026-02-10T06:31:00.5Z`, `20150616071820-0700`, `2026-02-10 6:31:00 AM GMT+1`, `2026-02-10 오전 6:31:00 +0900`, in digits of any
/// script. A time without an offset is ambiguous, and so is a date whose order depends on the language.
struct TimeText {
    /// Maximum length in bytes; words for halves of the day have up to 60.
    static let longest = 160

    private let scalars: [Unicode.Scalar]
    private let hasForeignDigits: Bool
    private var place = 0

    /// - Returns: the instant, and whether its form differs by language or calendar.
    static func read(_ text: String) -> (time: ExportTime, isForeign: Bool)? {
        guard var reader = TimeText(text) else { return nil }
        return reader.read()
    }

    /// The text with plain digits, spaces and signs.
    private init?(_ text: String) {
        guard let plain = ForeignDate.plain(text) else { return nil }
        (scalars, hasForeignDigits) = plain
    }

    private mutating func read() -> (ExportTime, Bool)? {
        guard let (written, month, day) = date(), let year = ForeignDate.gregorianYear(written) else { return nil }
        var before = word { !Self.isDigit($0) }
        if before == "T" || before == "t" { before = "" }
        guard let (hour, minute, second) = clock(), let fraction = fraction() else { return nil }
        let after = word { $0 != "+" && $0 != "-" }
        let shift = offset()
        let (half, isUTC) = Self.split(after, hasOffset: shift != nil)
        guard place == scalars.count, before.isEmpty || half.isEmpty, shift != nil || isUTC else { return nil }
        let words = before + half
        var hours = hour
        if !words.isEmpty {
            guard let isAfternoon = HalfDayWords.isAfternoon(words, at: hour), hour <= 12 else { return nil }
            hours = hour % 12 + (isAfternoon ? 12 : 0)
        }
        guard hours < 24, minute < 60, second < 60,
            let date = LocalDate(year, month, day)
        else { return nil }
        let seconds =
            Int64(date.daysSinceEpoch) * 86_400 + Int64(hours * 3_600 + minute * 60 + second) - (shift ?? 0)
        guard Timestamp.range.contains(seconds * 1_000_000 + fraction) else { return nil }
        return (
            ExportTime(seconds: seconds, microseconds: fraction), hasForeignDigits || !words.isEmpty || year != written
        )
    }

    /// Year, month and day, in this order.
    private mutating func date() -> (Int, Int, Int)? {
        guard let year = number(4, 4) else { return nil }
        if let mark = scalars[place...].first, mark == "-" || mark == "/" {
            guard take(mark), let month = number(1, 2), take(mark), let day = number(1, 2) else { return nil }
            return (year, month, day)
        }
        guard let month = number(2, 2), let day = number(2, 2) else { return nil }
        return (year, month, day)
    }

    private mutating func clock() -> (Int, Int, Int)? {
        // Without colons, each field has two digits.
        if place + 6 <= scalars.count, scalars[place..<place + 6].allSatisfy(Self.isDigit) {
            guard let hour = number(2, 2), let minute = number(2, 2), let second = number(2, 2) else { return nil }
            return (hour, minute, second)
        }
        guard let hour = number(1, 2), take(":"), let minute = number(2, 2) else { return nil }
        guard take(":") else { return (hour, minute, 0) }
        return number(2, 2).map { (hour, minute, $0) }
    }

    /// Microseconds; `nil` for a decimal point without digits.
    private mutating func fraction() -> Int64? {
        guard take(".") || take(",") else { return 0 }
        let digits = word(trimmed: false, Self.isDigit)
        guard (1...12).contains(digits.count) else { return nil }
        return Int64(digits.prefix(6) + String(repeating: "0", count: max(0, 6 - digits.count)))
    }

    /// The offset in seconds: `+0100`, `+01:00`, `+1`.
    private mutating func offset() -> Int64? {
        let isWest = scalars[place...].first == "-"
        guard take("+") || take("-"), let hours = number(1, 2) else { return nil }
        let hasColon = take(":")
        let minutes = number(2, 2)
        guard minutes != nil || !hasColon, hours < 24, minutes ?? 0 < 60 else { return nil }
        let seconds = Int64(hours * 3_600 + (minutes ?? 0) * 60)
        return isWest ? -seconds : seconds
    }

    /// Splits off the zone: returns the word for the half of the day, or an empty string, and whether the zone is UTC.
    private static func split(_ words: String, hasOffset: Bool) -> (half: String, isUTC: Bool) {
        for zone in hasOffset ? ["GMT", "UTC"] : ["GMT", "UTC", "Z", "z"] where words.hasSuffix(zone) {
            var half = String(words.dropLast(zone.count))
            while half.last == " " { half.removeLast() }
            return (half, true)
        }
        return (words, false)
    }

    // MARK: - Scalars

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { scalar >= "0" && scalar <= "9" }

    private mutating func take(_ mark: Unicode.Scalar) -> Bool {
        guard place < scalars.count, scalars[place] == mark else { return false }
        place += 1
        return true
    }

    private mutating func number(_ least: Int, _ most: Int) -> Int? {
        var (value, count) = (0, 0)
        let start = place
        while count < most, place < scalars.count, Self.isDigit(scalars[place]) {
            value = value * 10 + Int(scalars[place].value - 0x30)
            (place, count) = (place + 1, count + 1)
        }
        guard count < least else { return value }
        place = start
        return nil
    }

    private mutating func word(trimmed: Bool = true, _ belongs: (Unicode.Scalar) -> Bool) -> String {
        var text = String.UnicodeScalarView()
        while place < scalars.count, belongs(scalars[place]) {
            text.append(scalars[place])
            place += 1
        }
        while trimmed, text.first == " " { text.removeFirst() }
        while trimmed, text.last == " " { text.removeLast() }
        return String(text)
    }
}
