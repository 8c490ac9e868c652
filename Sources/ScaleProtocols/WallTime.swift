/// What a clock on the wall shows: a date and a time of day without zone.
///
/// Scales know no more than this. Which instant it was takes the zone, which this module does not know.
public struct WallTime: Sendable, Hashable, Comparable {
    /// Four digits.
    public let year: Int
    /// 1–12.
    public let month: Int
    /// 1–31.
    public let day: Int
    /// 0–23.
    public let hour: Int
    /// 0–59.
    public let minute: Int
    /// 0–59.
    public let second: Int

    /// The given date and time; nil where the calendar has no such date, the day no such time, or the year is not
    /// 1–9999.
    public init?(_ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0, _ second: Int = 0) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= WallTime.days(year, month),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// The time `seconds` after 2000-01-01 00:00:00, in days of 86,400 seconds; nil outside the years 1–9999.
    public init?(secondsSince2000 seconds: Int) {
        guard (-400_000_000_000...400_000_000_000).contains(seconds) else { return nil }
        let (days, time) = (seconds.floor(by: 86400), seconds - seconds.floor(by: 86400) * 86400)
        let (year, month, day) = WallTime.civil(daysSince2000: days)
        self.init(year, month, day, time / 3600, time / 60 % 60, time % 60)
    }

    /// 2000-01-01 00:00:00, the first time an HS3 can show.
    public static let startOf2000 = WallTime()

    private init() { (year, month, day, hour, minute, second) = (2000, 1, 1, 0, 0, 0) }

    /// Seconds since 2000-01-01 00:00:00 on the same wall clock, in days of 86,400 seconds.
    public var secondsSince2000: Int {
        WallTime.daysSince2000(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
    }

    /// What the clock shows `seconds` later, or earlier where negative; nil outside the years 1–9999.
    public func adding(seconds: Int) -> WallTime? {
        let (sum, overflow) = secondsSince2000.addingReportingOverflow(seconds)
        return overflow ? nil : WallTime(secondsSince2000: sum)
    }

    public static func < (left: WallTime, right: WallTime) -> Bool {
        left.secondsSince2000 < right.secondsSince2000
    }

    private static func days(_ year: Int, _ month: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // Days are counted in years that begin on 1 March, so that the leap day is the last of its year and each block of
    // 400 years has 146,097 days. 2000-03-01 is day 60 after 2000-01-01.
    private static func daysSince2000(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let marchYear = month <= 2 ? year - 1 : year
        let era = marchYear.floor(by: 400)
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return (era - 5) * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear + 60
    }

    private static func civil(daysSince2000: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = daysSince2000 - 60
        let era = shifted.floor(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = (era + 5) * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

extension WallTime: CustomStringConvertible {
    /// `yyyy-MM-dd HH:mm:ss`.
    public var description: String {
        "\(year.padded(4))-\(month.padded(2))-\(day.padded(2)) "
            + "\(hour.padded(2)):\(minute.padded(2)):\(second.padded(2))"
    }

    /// Reads `yyyy-MM-dd`, followed by `T` or a space and `HH:mm` or `HH:mm:ss`; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let halves = text.split(whereSeparator: { $0 == "T" || $0 == " " })
        guard (1...2).contains(halves.count) else { return nil }
        let date = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard date.count == 3, date[0].utf8.count == 4, let year = Int(digits: date[0]), date[1].utf8.count == 2,
            let month = Int(digits: date[1]), date[2].utf8.count == 2, let day = Int(digits: date[2])
        else { return nil }
        var time = [0, 0, 0]
        if halves.count == 2 {
            let parts = halves[1].split(separator: ":", omittingEmptySubsequences: false)
            guard (2...3).contains(parts.count) else { return nil }
            for (place, part) in parts.enumerated() {
                guard part.utf8.count == 2, let number = Int(digits: part) else { return nil }
                time[place] = number
            }
        }
        self.init(year, month, day, time[0], time[1], time[2])
    }
}

/// The two clocks a dialogue needs, read at the moment something happens.
public struct ScaleMoment: Sendable, Hashable {
    /// A clock that never jumps, for timeouts on the link.
    ///
    /// Real elapsed time, also where the hub's clock runs faster than the world: the other end of a link answers in
    /// real time.
    public var uptime: Duration
    /// What the host's wall clock shows.
    public var wall: WallTime

    /// A moment on both clocks.
    public init(uptime: Duration, wall: WallTime) { (self.uptime, self.wall) = (uptime, wall) }
}

extension Int {
    /// This divided by `divisor`, rounded down, also below zero.
    fileprivate func floor(by divisor: Int) -> Int {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }

    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }

    /// The number that `text` spells in ASCII digits alone, without sign or space.
    fileprivate init?(digits text: some StringProtocol) {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        self.init(text)
    }
}
