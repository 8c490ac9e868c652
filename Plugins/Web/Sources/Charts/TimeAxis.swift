import Foundation
import HealthText
import Samples

/// The time axis: a span with marks at midnights, weeks, months or years, by the clocks of a zone.
struct TimeAxis {
    struct Mark: Hashable {
        /// 0 at the beginning, 1 at the end.
        let place: Double
        let text: String
    }

    /// Microseconds since 1970.
    let from, to: Int64
    private let zone: String
    private let reader: DisplayPreferences

    private static let most = 6
    private static let steps: [(count: Int, unit: Intervals.Unit)] = [
        (1, .hour), (3, .hour), (6, .hour), (12, .hour), (1, .day), (2, .day), (1, .week), (2, .week), (1, .month),
        (2, .month), (3, .month), (6, .month), (1, .year), (2, .year), (5, .year), (10, .year), (50, .year),
        (500, .year),
    ]

    /// - Parameter zone: IANA name; UTC if this machine does not know it.
    init(from: Int64, to: Int64, zone: String, reader: DisplayPreferences) {
        let middle = from + (max(from, to) - from) / 2
        (self.from, self.to) = from < to ? (from, to) : (middle - 43_200_000_000, middle + 43_200_000_000)
        self.zone = Intervals(.day, zone: zone) == nil ? "UTC" : zone
        self.reader = reader
    }

    /// 0 at the beginning, 1 at the end; times outside are clamped.
    func place(_ time: Int64) -> Double { min(max(Double(time - from) / Double(to - from), 0), 1) }

    var marks: [Mark] {
        for (count, unit) in Self.steps {
            // Skip a unit with too many marks before counting them. The limit is safe, because no unit is longer than this estimate assumes.
            guard Double(to - from) / (Self.seconds(unit) * 1e6 * Double(count)) <= Double(Self.most + 2),
                let intervals = intervals(count, unit)
            else { continue }
            let first = intervals.number(of: from - 1) + 1
            var times: [Int64] = []
            while times.count <= Self.most, intervals.border(first + times.count) <= to {
                times.append(intervals.border(first + times.count))
            }
            guard times.count <= Self.most else { continue }
            return times.map { Mark(place: place($0), text: text(intervals.local($0), unit)) }
        }
        return []
    }

    private static func seconds(_ unit: Intervals.Unit) -> Double {
        switch unit {
        case .hour: 3_600
        case .day: 86_400
        case .week: 604_800
        case .month: 2_629_746
        case .year: 31_556_952
        }
    }

    private func intervals(_ count: Int, _ unit: Intervals.Unit) -> Intervals? {
        guard let days = Intervals(.day, zone: zone) else { return nil }
        switch unit {
        // Start at the first midnight, so that marks are at the same hours in summer and winter.
        case .hour: return Intervals(every: count, unit, anchor: days.border(days.number(of: from)), zone: zone)
        case .week: return Intervals(every: count, unit, anchor: days.border(reader.daysToFirstWeekday), zone: zone)
        default: return Intervals(every: count, unit, zone: zone)
        }
    }

    private func text(_ time: Timestamp, _ unit: Intervals.Unit) -> String {
        let (date, clock) = (time.localDate, time.text.dropFirst(11).prefix(5))
        switch unit {
        case .hour: return clock == "00:00" ? reader.dates.dayOfYear(date) : String(clock)
        case .day, .week: return reader.dates.dayOfYear(date)
        case .month: return date.month == 1 ? "\(date.year)" : reader.dates.month(date)
        case .year: return "\(date.year)"
        }
    }
}
