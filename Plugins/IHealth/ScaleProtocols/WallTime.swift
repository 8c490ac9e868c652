public import Samples

/// The time on a wall clock: a date and a time of day without zone.
///
/// Scales know no more than this. The instant depends on the zone, which this module does not know.
public struct WallTime: Sendable, Hashable, Comparable {
    /// Valid for the years 1–9999.
    public let date: LocalDate
    /// 0–23.
    public let hour: Int
    /// 0–59.
    public let minute: Int
    /// 0–59.
    public let second: Int

    /// The given date and time; `nil` if the date, the time of day or the year (1–9999) is invalid.
    public init?(_ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0, _ second: Int = 0) {
        guard let date = LocalDate(year, month, day), (0...23).contains(hour), (0...59).contains(minute),
            (0...59).contains(second)
        else { return nil }
        (self.date, self.hour, self.minute, self.second) = (date, hour, minute, second)
    }

    public var year: Int { date.year }
    /// 1–12.
    public var month: Int { date.month }
    /// 1–31.
    public var day: Int { date.day }

    /// The time `seconds` after 2000-01-01 00:00:00, in days of 86,400 seconds; `nil` outside the years 1–9999.
    public init?(secondsSince2000 seconds: Int) {
        guard (-400_000_000_000...400_000_000_000).contains(seconds) else { return nil }
        let (days, time) = (seconds.floor(by: 86400), seconds - seconds.floor(by: 86400) * 86400)
        let date = LocalDate(daysSinceEpoch: days + WallTime.daysBefore2000)
        self.init(date.year, date.month, date.day, time / 3600, time / 60 % 60, time % 60)
    }

    /// 2000-01-01 00:00:00, the first time an HS3 can show.
    public static let startOf2000 = WallTime()

    private init() {
        (date, hour, minute, second) = (LocalDate(daysSinceEpoch: WallTime.daysBefore2000), 0, 0, 0)
    }

    /// Seconds since 2000-01-01 00:00:00 on the same wall clock, in days of 86,400 seconds.
    public var secondsSince2000: Int {
        (date.daysSinceEpoch - WallTime.daysBefore2000) * 86400 + hour * 3600 + minute * 60 + second
    }

    /// The time `seconds` later, or earlier if negative; `nil` outside the years 1–9999.
    public func adding(seconds: Int) -> WallTime? {
        let (sum, overflow) = secondsSince2000.addingReportingOverflow(seconds)
        return overflow ? nil : WallTime(secondsSince2000: sum)
    }

    public static func < (left: WallTime, right: WallTime) -> Bool {
        left.secondsSince2000 < right.secondsSince2000
    }

    /// The number of days from 1970-01-01 to 2000-01-01.
    private static let daysBefore2000 = 10_957
}

extension WallTime: CustomStringConvertible {
    /// `yyyy-MM-dd HH:mm:ss`.
    public var description: String {
        "\(date.text) \(hour.padded(2)):\(minute.padded(2)):\(second.padded(2))"
    }

    /// Parses `yyyy-MM-dd`, followed by `T` or a space and `HH:mm` or `HH:mm:ss`; `nil` for any other text.
    public init?(_ text: some StringProtocol) {
        let halves = text.split(whereSeparator: { $0 == "T" || $0 == " " })
        guard (1...2).contains(halves.count), let date = LocalDate(halves[0]) else { return nil }
        var time = [0, 0, 0]
        if halves.count == 2 {
            let parts = halves[1].split(separator: ":", omittingEmptySubsequences: false)
            guard (2...3).contains(parts.count) else { return nil }
            for (place, part) in parts.enumerated() {
                guard part.utf8.count == 2, let number = Int(digits: part) else { return nil }
                time[place] = number
            }
        }
        self.init(date.year, date.month, date.day, time[0], time[1], time[2])
    }
}

/// The two clocks that a dialogue needs, read when an input occurs.
public struct ScaleMoment: Sendable, Hashable {
    /// A monotonic clock for timeouts on the link.
    ///
    /// It measures real elapsed time even if the hub's clock runs faster: the other end of a link answers in real time.
    public var uptime: Duration
    /// The time on the host's wall clock.
    public var wall: WallTime

    /// The moment before the first input.
    package static let start = ScaleMoment(uptime: .zero, wall: .startOf2000)

    /// Creates a moment on both clocks.
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

    /// The number that `text` contains in ASCII digits, without sign or space.
    fileprivate init?(digits text: some StringProtocol) {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        self.init(text)
    }
}
