import HealthText
import PluginKit
import Samples

/// A value for each day: from the gap-filler if it covers the type, otherwise the hub's daily averages or sums.
struct DayLine: Sendable {
    struct Day: Sendable {
        let date: LocalDate
        let value: Double
        /// The day of the measurement, if the value was carried.
        let observedOn: LocalDate?
        var low, high: Double?
    }

    /// More than ten years; of more days only the newest are shown.
    static let most = 4_000
    /// Number of days loaded before the shown ones.
    ///
    /// A trend depends on earlier days; beyond this many the effect is invisible.
    static let before = 366

    /// In order of time.
    let days: [Day]
    /// The gap-filler's series; nil if the days come from the hub's statistics.
    let series: String?
    let isSum: Bool

    /// Loads days from a date, with the earlier days that a trend needs.
    init(_ reader: HealthReader, _ type: TypeID, of subject: PagePerson, from: LocalDate?) async throws {
        isSum = TypeRegistry.standard.type(type)?.aggregation == .cumulative
        let from = from?.adding(days: -Self.before)
        let filled = try await Self.filled(reader, type, of: subject, from: from)
        if let (name, days) = filled {
            (series, self.days) = (name, days)
            return
        }
        let oldest = subject.today.adding(days: -Self.most)
        let first = from.map { max($0, oldest) } ?? oldest
        let rows = try await reader.rows(type, of: subject, from: first, through: nil, by: .day, most: Self.most + 2)
        series = nil
        days = rows.compactMap { row in
            guard let value = row.figures.sum ?? row.figures.average else { return nil }
            return Day(
                date: row.from.localDate, value: value, observedOn: nil, low: row.figures.minimum,
                high: row.figures.maximum)
        }
    }

    private static func filled(
        _ reader: HealthReader, _ type: TypeID, of subject: PagePerson, from: LocalDate?
    ) async throws -> (String, [Day])? {
        var filter = QueryRequest.Filter()
        (filter.types, filter.persons, filter.kinds) = ([type.rawValue], [subject.name], [.day])
        // The hub compares only the date of a day.
        filter.from = from.map { Timestamp(microseconds: Int64($0.daysSinceEpoch) * 86_400_000_000) }
        var found: [String: [Day]] = [:]
        for try await page in reader.hub.query(filter, order: .newestFirst, limit: Int64(most)) {
            for record in page.records {
                guard case .day(let day) = record.record, DayValue.maker(ofSeries: day.series) == "gap-filler" else {
                    continue
                }
                let value = record.canonical?.value ?? day.value
                found[day.series, default: []].append(Day(date: day.date, value: value, observedOn: day.observedOn))
            }
        }
        // Prefer the series with the latest day, then the one with the most days.
        let best = found.max { left, right in
            (left.value[0].date, left.value.count, right.key) < (right.value[0].date, right.value.count, left.key)
        }
        return best.map { ($0.key, $0.value.reversed()) }
    }

    var measured: [Day] { days.filter { $0.observedOn == nil } }

    /// The trend that `hub days --trend time-aware` shows.
    var trend: [Trend.Point] {
        guard !isSum else { return [] }
        return Trend.timeAware.points(
            measured.map { MeasuredDay(day: Int32(clamping: $0.date.daysSinceEpoch), value: $0.value) })
    }

    /// The last day with a value at or before a date, at most 30 days earlier.
    func last(until date: LocalDate) -> Day? {
        days.last { $0.date <= date }.flatMap { $0.date >= date.adding(days: -30) ? $0 : nil }
    }

    /// The rate of change: a least-squares line through the measured days of the last four weeks.
    ///
    /// - Returns: nil with fewer than three measured days, or if they span less than a week.
    func rate(until today: LocalDate) -> Rate? {
        let recent = measured.filter { $0.date > today.adding(days: -28) && $0.date <= today }
        guard let first = recent.first, let last = recent.last, recent.count >= 3,
            last.date.daysSinceEpoch - first.date.daysSinceEpoch >= 7
        else { return nil }
        let days = recent.map { Double($0.date.daysSinceEpoch - today.daysSinceEpoch) }
        let count = Double(recent.count)
        let (meanDay, meanValue) = (days.reduce(0, +) / count, recent.reduce(0) { $0 + $1.value } / count)
        var (products, squares) = (0.0, 0.0)
        for (day, value) in zip(days, recent) {
            products += (day - meanDay) * (value.value - meanValue)
            squares += (day - meanDay) * (day - meanDay)
        }
        let slope = products / squares
        return Rate(perDay: slope, today: meanValue - slope * meanDay)
    }

    struct Rate: Sendable {
        let perDay: Double
        /// The value of the line on the given day.
        let today: Double
    }
}
