import Foundation
import HealthText
import HubClient
import HubWire
import Samples

/// Statistics as a table with a bar for each interval.
struct StatsText {
    private let statistics: StatisticsPage
    private let unit: StatsCommand.Unit?
    private let values: ValueFormat
    private let reader: DisplayPreferences
    /// Whether the clocks change within the table, so that its times show their offset.
    private let hasOffsets: Bool

    /// - Parameters:
    ///   - unit: the unit of the intervals; `nil` for a single one over everything.
    ///   - zone: the zone of the times.
    init(_ statistics: StatisticsPage, by unit: StatsCommand.Unit?, units: ReadingUnits, zone: TimeZone) {
        (self.statistics, self.unit) = (statistics, unit)
        let person = statistics.person
        values = units.format(statistics.unit, of: try? TypeID(statistics.type), for: person)
        var reader = units[person]
        reader.zone = zone
        self.reader = reader
        let shown = statistics.intervals.flatMap { unit == nil ? [$0.from, $0.to] : [$0.from] }
        hasOffsets = Set(shown.map { StatsText.local($0, zone)?.offsetMinutes }).count > 1
    }

    private static func local(_ text: String, _ zone: TimeZone?) -> Timestamp? {
        let time = try? Timestamp(parsing: text)
        return zone.flatMap { zone in time.map { $0.local(in: zone) } } ?? time
    }

    var isEmpty: Bool { statistics.intervals.isEmpty }

    func lines(hasChart: Bool, colours: Bool) -> [String] {
        guard !isEmpty else { return [] }
        let figures = statistics.figures
        let hasSources = statistics.intervals.contains { $0.sources != nil }
        var header: [Table.Column] = [.left(unit?.rawValue.uppercased() ?? "FROM")]
        if unit == nil { header.append("TO") }
        if hasSources { header.append("SOURCE") }
        header += figures.map { .right($0.title) } + [.right("SAMPLES")]
        let bars = hasChart && unit != nil ? self.bars() : nil
        if bars != nil { header.append("") }
        var table = Table(header)
        for (place, interval) in statistics.intervals.enumerated() {
            let time = label(interval)
            let bar = bars.map { [StatusColour.faint.paint($0[place], colours && !$0[place].isEmpty)] } ?? []
            table.add(time + (hasSources ? ["all"] : []) + cells(interval.figures, figures) + bar)
            for part in interval.sources ?? [] {
                let row = time.map { _ in "" } + [part.source.words] + cells(part.figures, figures)
                table.add(row.map { StatusColour.faint.paint($0, colours && !$0.isEmpty) })
            }
        }
        return table.takeLines()
    }

    /// The start of the interval, as precise as its unit needs; for a single interval, its start and end.
    private func label(_ interval: StatisticsPage.Interval) -> [String] {
        func day(_ text: String) -> String {
            LocalDate(text.prefix(10)).map { reader.date($0) } ?? String(text.prefix(10))
        }
        func minute(_ text: String) -> String {
            let text = StatsText.local(text, reader.zone)?.text ?? text
            let offset = text.hasSuffix("Z") ? "Z" : text.suffix(6)
            return "\(day(text)) \(text.dropFirst(11).prefix(5))" + (hasOffsets ? " \(offset)" : "")
        }
        return switch unit {
        case .hour: [minute(interval.from)]
        case .day, .week: [day(interval.from)]
        case .month: ["\(interval.from.prefix(7))"]
        case .year: ["\(interval.from.prefix(4))"]
        case nil: [minute(interval.from), minute(interval.to)]
        }
    }

    private func cells(_ row: StatisticsPage.Figures, _ figures: [StatisticsFigure]) -> [String] {
        figures.map { figure in
            guard let value = row[figure] else { return "" }
            return figure == .duration ? NumberText.duration(seconds: value) : values.text(value)
        } + [NumberText.grouped(row.count)]
    }

    /// Bars for the first figure: sums from zero, averages from a little below the least.
    private func bars() -> [String]? {
        guard let figure = statistics.figures.first(where: { $0 != .mostRecent }) else { return nil }
        let shown = statistics.intervals.map { $0.figures[figure] }
        guard let high = shown.compactMap(\.self).max(), let low = shown.compactMap(\.self).min(), low >= 0 else {
            return nil
        }
        let isFromZero = figure == .sum || figure == .duration || high == low
        let base = isFromZero ? 0 : low - (high - low) / 4
        guard high > base else { return nil }
        return shown.map { value in
            guard let value else { return "" }
            let eighths = Int(((value - base) / (high - base) * Double(Self.barWidth * 8)).rounded())
            let part = eighths % 8 == 0 ? "" : String(Self.parts[eighths % 8 - 1])
            return String(repeating: "█", count: eighths / 8) + part
        }
    }

    private static let barWidth = 24
    private static let parts: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]
}

extension StatisticsFigure {
    fileprivate var title: String { self == .mostRecent ? "LATEST" : rawValue.uppercased() }
}
