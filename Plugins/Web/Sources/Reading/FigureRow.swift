import HealthText
import PluginKit

/// The hub's statistics for an hour, day, week, month or year.
struct FigureRow: Sendable {
    let from, to: Timestamp
    let unit: StatisticsInterval.Unit
    let figures: StatisticsPage.Figures

    /// The point in a chart: the sum, or the average with minimum and maximum; nil without measurements.
    func point(_ subject: PagePerson) -> ChartPoint? {
        guard let value = figures.sum ?? figures.average else { return nil }
        let hasRange = figures.sum == nil && figures.count > 1
        return ChartPoint(
            time: from.microseconds, end: to.microseconds, value: value, low: hasRange ? figures.minimum : nil,
            high: hasRange ? figures.maximum : nil, when: subject.words(from, unit))
    }
}

extension AskError {
    /// Whether the hub has no statistics for this type, as for one that only a plugin knows; other errors are faults.
    var hasNoStatistics: Bool { error?.code == .field || error?.code == .query }
}

extension HealthReader {
    /// The hub's statistics of a type, in order of time, with a maximum number of intervals.
    ///
    /// - Parameter through: the last day, included; nil for the latest.
    func rows(
        _ type: TypeID, of subject: PagePerson, from: LocalDate?, through: LocalDate?, by unit: StatisticsInterval.Unit,
        most: Int
    ) async throws -> [FigureRow] {
        let interval = StatisticsInterval(unit, anchor: unit == .week ? subject.weekAnchor : nil, zone: subject.zone)
        let answer = hub.statistics(
            of: type.rawValue, person: subject.name, from: from.map { subject.local(subject.midnight($0)) },
            to: through.map { subject.local(subject.midnight($0.adding(days: 1))) }, by: interval)
        var rows: [FigureRow] = []
        for try await interval in answer {
            guard let from = try? Timestamp(parsing: interval.from), let to = try? Timestamp(parsing: interval.to)
            else { continue }
            rows.append(FigureRow(from: from, to: to, unit: unit, figures: interval.figures))
            if rows.count == most { break }
        }
        return rows
    }
}
