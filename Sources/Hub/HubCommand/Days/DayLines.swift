import HealthText
import HubClient
import HubWire
import JSON
import Samples

/// The days that `hub days` shows, with a trend if one was requested.
struct DayLines {
    struct Line {
        let series: Series
        let date: LocalDate
        /// `nil` if only the trend has the day.
        let day: DayValue?
        /// The bytes that the hub printed.
        let json: [UInt8]
        var trend: Double?

        init(day: DayValue, json: [UInt8]) {
            series = Series(person: day.person, type: day.type.rawValue, name: day.series, unit: day.unit)
            (self.date, self.day, self.json) = (day.date, day, json)
        }

        init(_ series: Series, _ date: LocalDate, trend: Double) {
            (self.series, self.date, day, json, self.trend) = (series, date, nil, [], trend)
        }
    }

    struct Series: Hashable, Comparable {
        let person, type, name, unit: String

        static func < (left: Series, right: Series) -> Bool {
            (left.person, left.type, left.name) < (right.person, right.type, right.name)
        }
    }

    /// Sorted by person, type and series, then by date.
    private var lines: [Line]

    init(_ lines: [Line]) { self.lines = Self.sorted(lines) }

    var isEmpty: Bool { lines.isEmpty }

    private static func sorted(_ lines: [Line]) -> [Line] {
        lines.sorted { $0.series == $1.series ? $0.date < $1.date : $0.series < $1.series }
    }

    /// Adds the trend line through each series' measured days.
    ///
    /// - Parameter readings: the readings by number, for a trend of first readings.
    mutating func add(_ trend: Trend, _ readings: [Int64: (time: Int64, value: Double)]) {
        var bare: [Line] = []
        for (series, indices) in Dictionary(grouping: lines.indices, by: { lines[$0].series }) {
            let measured = indices.compactMap { lines[$0].day }.filter { $0.observedOn == nil }.map { day in
                MeasuredDay(
                    day: Int32(clamping: day.date.daysSinceEpoch), value: Self.first(of: day, readings) ?? day.value)
            }
            var points = Dictionary(trend.points(measured).map { (Int($0.day), $0.value) }) { first, _ in first }
            for index in indices { lines[index].trend = points.removeValue(forKey: lines[index].date.daysSinceEpoch) }
            // Days in a hole that is longer than a value is carried.
            bare += points.map { Line(series, LocalDate(daysSinceEpoch: $0.key), trend: $0.value) }
        }
        lines = Self.sorted(lines + bare)
    }

    private static func first(of day: DayValue, _ readings: [Int64: (time: Int64, value: Double)]) -> Double? {
        let own = day.basis.compactMap { basis in
            if case .number(let number) = basis { readings[number] } else { nil }
        }
        return own.min { $0.time < $1.time }?.value
    }

    mutating func keep(_ range: ClosedRange<LocalDate>) { lines.removeAll { !range.contains($0.date) } }

    // MARK: - JSON

    /// One object for each day: as on the feed, with `trend` added at the end.
    var json: [[UInt8]] {
        lines.map { line in
            guard let trend = line.trend else { return line.json }
            let member = Array("\"trend\":\(NumberWriter.text(trend))}".utf8)
            if line.day != nil { return line.json.dropLast() + [UInt8(ascii: ",")] + member }
            func quoted(_ text: String) -> [UInt8] { RawJSON.string(text).bytes }
            return Array("{\"type\":".utf8) + quoted(line.series.type) + Array(",\"unit\":".utf8)
                + quoted(line.series.unit) + Array(",\"series\":".utf8) + quoted(line.series.name)
                + Array(",\"date\":\"\(line.date.text)\",\"person\":".utf8) + quoted(line.series.person)
                + [UInt8(ascii: ",")] + member
        }
    }

    // MARK: - Table

    /// - Parameter units: how persons read values and dates.
    func table(units: ReadingUnits, colours: Bool) -> [String] {
        let hasTrend = lines.contains { $0.trend != nil }
        let series = Set(lines.map(\.series))
        // Omit columns that have the same content in every line.
        let columns = (
            person: Set(series.map(\.person)).count > 1, type: Set(series.map(\.type)).count > 1, name: series.count > 1
        )
        var header: [Table.Column] = ["DATE"]
        if columns.person { header.append("PERSON") }
        if columns.type { header.append("TYPE") }
        if columns.name { header.append("SERIES") }
        header.append(.right(columns.type ? "VALUE" : series.first?.type.uppercased() ?? "VALUE"))
        if hasTrend { header.append(.right("TREND")) }
        header.append("HOW")
        var table = Table(header)
        for line in lines {
            let person = line.series.person
            let unit = units.format(line.series.unit, of: try? TypeID(line.series.type), for: person)
            var cells = [units[person].date(line.date)]
            if columns.person { cells.append(units.name(of: line.series.person)) }
            if columns.type { cells.append(line.series.type) }
            if columns.name { cells.append(line.series.name) }
            cells.append(line.day.map { unit.text($0.value) } ?? "")
            if hasTrend { cells.append(line.trend.map { unit.text($0) } ?? "") }
            cells.append(line.day.map { DayWords.how($0, units[person]) } ?? "no day: the trend alone")
            let isMeasured = line.day.map { $0.observedOn == nil } ?? false
            table.add(isMeasured ? cells : cells.map { StatusColour.faint.paint($0, colours && !$0.isEmpty) })
        }
        return table.takeLines()
    }
}
