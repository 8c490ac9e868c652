import FoundationEssentials
// Without this import `TimeZone` knows no zone but GMT.
import FoundationInternationalization

/// Divides time into hours, days, weeks, months or years, in both directions from an anchor, by the clocks of a zone.
///
/// Each border is computed from the anchor itself: months from 31 January begin on the last day of short months and on the 31st of the
/// others. A day lasts from a wall-clock time to the same time on the next day, so it has 23 or 25 hours if the clocks change. If a local
/// time occurs twice, the first one is used. If the clocks skip it, the border is later by the length of the skip.
public struct Intervals: Sendable {
    /// The unit of a length.
    public enum Unit: String, Hashable, Sendable, CaseIterable {
        /// 60 minutes.
        case hour
        /// From a wall-clock time to the same time on the next day.
        case day
        /// Seven days.
        case week
        /// To the same day of the next month, or its last day.
        case month
        /// To the same day of the next year, or the last of February.
        case year
    }

    /// The number of units in an interval.
    public let count: Int
    /// The unit of an interval.
    public let unit: Unit
    /// Microseconds since 1970, a whole second.
    public let anchor: Int64
    private let zone: TimeZone
    /// The date in the zone at the anchor.
    private let date: LocalDate
    private let secondOfDay: Int64

    /// The allowed number of units per interval.
    public static let counts = 1...10_000

    /// Creates intervals of which one begins at an instant.
    ///
    /// - Parameters:
    ///   - count: the number of units in an interval.
    ///   - unit: the unit.
    ///   - anchor: microseconds since 1970; fractions of a second are cut off.
    ///   - zone: IANA name.
    /// - Returns: `nil` if the machine does not know the zone, or if the count is outside ``counts``.
    public init?(every count: Int = 1, _ unit: Unit, anchor: Int64, zone: String) {
        guard Intervals.counts.contains(count), let zone = TimeZone(identifier: zone) else { return nil }
        (self.count, self.unit, self.zone) = (count, unit, zone)
        let second = anchor.flooredDivision(by: 1_000_000)
        self.anchor = second * 1_000_000
        let local = second + Intervals.offset(zone, at: second)
        date = LocalDate(daysSinceEpoch: Int(local.flooredDivision(by: 86_400)))
        secondOfDay = local - Int64(date.daysSinceEpoch) * 86_400
    }

    /// Creates intervals of which one begins at midnight of Monday, 1 January 2001.
    ///
    /// - Parameters:
    ///   - count: the number of units in an interval.
    ///   - unit: the unit.
    ///   - zone: IANA name.
    ///   - dayStartMinutes: minutes after midnight at which days begin.
    /// - Returns: `nil` if the machine does not know the zone, or if the count is outside ``counts``.
    public init?(every count: Int = 1, _ unit: Unit, zone: String, dayStartMinutes: Int = 0) {
        guard let days = Intervals(every: 1, .day, anchor: 0, zone: zone) else { return nil }
        let begin = days.instant(Intervals.usualAnchor, at: Int64(dayStartMinutes) * 60) * 1_000_000
        self.init(every: count, unit, anchor: begin, zone: zone)
    }

    /// Monday, 1 January 2001: the day of the default anchor.
    public static let usualAnchor = LocalDate(daysSinceEpoch: 11_323)

    /// An instant with the zone's offset at that time.
    public func local(_ time: Int64) -> Timestamp {
        let offset = Intervals.offset(zone, at: time.flooredDivision(by: 1_000_000))
        return Timestamp(microseconds: time, offsetMinutes: Int16(offset.flooredDivision(by: 60)))
    }

    /// The `number`-th border after the anchor; before it for negative numbers.
    public func border(_ number: Int) -> Int64 {
        let steps = number * count
        // Hours are 3,600 seconds, regardless of clock changes.
        guard unit != .hour, steps != 0 else { return anchor + Int64(steps) * 3_600_000_000 }
        let day =
            switch unit {
            case .hour, .day: date.adding(days: steps)
            case .week: date.adding(days: 7 * steps)
            case .month: date.adding(months: steps)
            case .year: date.adding(months: 12 * steps)
            }
        return instant(day, at: secondOfDay) * 1_000_000
    }

    /// The instant at which the zone's clocks show a time on a day, in seconds since 1970.
    private func instant(_ day: LocalDate, at secondOfDay: Int64) -> Int64 {
        LocalDay.instant(at: Int64(day.daysSinceEpoch) * 86_400 + secondOfDay, in: zone)
    }

    private static func offset(_ zone: TimeZone, at second: Int64) -> Int64 {
        Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second))))
    }

    /// The number of the interval that contains an instant: that of the last border that is not after it.
    public func number(of time: Int64) -> Int {
        // No unit is longer than this, so the estimate is never further from the anchor than the true number.
        let longest: Int64 =
            switch unit {
            case .hour: 3_600
            case .day: 90_000
            case .week: 608_400
            case .month: 2_682_000
            case .year: 31_626_000
            }
        var number = Int((time - anchor) / (longest * 1_000_000 * Int64(count)))
        if time < anchor { number -= 1 }
        while true {
            let border = border(number)
            if border > time {
                number -= 1
            } else if self.border(number + 1) <= time {
                // Take large steps while the border is far away.
                number += max(1, Int((time - border) / (longest * 1_000_000 * Int64(count))))
            } else {
                return number
            }
        }
    }

    /// The borders of all intervals that a span touches.
    ///
    /// - Returns: `nil` if there would be more than `most` intervals.
    public func borders(from: Int64, to: Int64, most: Int) -> [Int64]? {
        guard from < to else { return [] }
        let (first, last) = (number(of: from), number(of: to - 1))
        guard last - first < most else { return nil }
        return (first...last + 1).map(border)
    }
}
