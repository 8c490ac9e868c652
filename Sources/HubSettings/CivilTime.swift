/// A day of the Gregorian calendar, without a zone.
public struct CivilDate: Sendable, Hashable {
    /// 1–9999.
    public let year: Int
    /// 1–12.
    public let month: Int
    /// 1–31, within the month.
    public let day: Int

    /// Reads `YYYY-MM-DD`; nil if it is no day of the calendar.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 3, let year = digits(parts[0], 4), let month = digits(parts[1], 2),
            let day = digits(parts[2], 2), year >= 1, (1...12).contains(month)
        else { return nil }
        let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (1...lengths[month - 1]).contains(day) else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Days from 1970-01-01, negative before it.
    public var daysSince1970: Int {
        // Years begin in March here, so the leap day is the last day of its year.
        let shifted = month > 2 ? year : year - 1
        let era = shifted >= 0 ? shifted / 400 : (shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

/// Where the hub and its plugins take the time from.
public enum ClockSetting: Sendable, Hashable {
    /// The clock of the machine.
    case system
    /// A clock that starts at `start` (microseconds since 1970-01-01T00:00:00Z) and runs `rate` times as fast as the machine's.
    case simulated(start: Int64, rate: Double)

    /// Reads `system` or `START@RATE`: an RFC 3339 time with offset, at most microseconds, and a number above 0 up to 1,000,000.
    public init?(_ text: String) {
        if text == "system" {
            self = .system
            return
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, let start = instant(String(parts[0])), let rate = Double(String(parts[1])),
            rate > 0, rate <= 1_000_000, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E })
        else { return nil }
        self = .simulated(start: start, rate: rate)
    }
}

/// Minutes after midnight of `HH:MM`; nil if it is no time of day.
func minutesOfDay(_ text: String) -> Int? {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 2, let hour = digits(parts[0], 2), let minute = digits(parts[1], 2), hour < 24, minute < 60
    else { return nil }
    return hour * 60 + minute
}

/// Microseconds since 1970 of an RFC 3339 time; nil if it is none, or finer than a microsecond.
private func instant(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes[10] == UInt8(ascii: "T"), let date = CivilDate(String(text.prefix(10))),
        let minutes = minutesOfDay(String(text.dropFirst(11).prefix(5))), bytes[16] == UInt8(ascii: ":"),
        let seconds = digits(bytes[17..<19], 2), seconds < 60
    else { return nil }
    var rest = bytes[19...]
    var fraction = 0
    if rest.first == UInt8(ascii: ".") {
        let shown = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
        guard (1...6).contains(shown.count), let value = digits(shown, shown.count) else { return nil }
        fraction = value
        for _ in shown.count..<6 { fraction *= 10 }
        rest = rest.dropFirst(1 + shown.count)
    }
    let offset: Int
    if rest.elementsEqual([UInt8(ascii: "Z")]) {
        offset = 0
    } else {
        guard let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            let size = minutesOfDay(String(decoding: rest.dropFirst(), as: UTF8.self))
        else { return nil }
        offset = sign == UInt8(ascii: "-") ? -size : size
    }
    let total = (date.daysSince1970 * 1_440 + minutes - offset) * 60 + seconds
    return Int64(total) * 1_000_000 + Int64(fraction)
}

/// The value of exactly `count` ASCII digits.
private func digits(_ text: some Collection<UInt8>, _ count: Int) -> Int? {
    guard text.count == count, text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
}
