import HTTPTypes
import HealthText
import Hummingbird
import PluginKit

/// The days that the page of a type shows, and the unit of its intervals; both are in the address.
struct TypeWindow: Sendable {
    typealias Unit = StatisticsInterval.Unit

    /// Both days are included.
    let first, last: LocalDate
    let unit: Unit
    /// Whether it covers all samples.
    let isAll: Bool

    /// Maximum number of rows in a table.
    static let most = 370
    private static let years = 1_800...2_200
    private static let units: [Unit] = [.hour, .day, .week, .month, .year]

    /// - Parameters:
    ///   - extent: the days of the first and the latest sample.
    /// - Throws: ``RequestRefusal`` that says which values a parameter takes.
    init(_ request: Request, extent: ClosedRange<LocalDate>, today: LocalDate) throws {
        func date(_ name: String) throws -> LocalDate? {
            guard let text = request.field(name) else { return nil }
            guard let date = LocalDate(text), Self.years.contains(date.year) else {
                throw RequestRefusal(
                    .badRequest, "\(name) is not a day",
                    "The address takes a day of the years 1800 to 2200, such as \(name)=\(today.text).")
            }
            return date
        }
        let (from, to) = (try date("from"), try date("to"))
        isAll = from == nil && to == nil && request.field("span") == "all"
        // A person may be a day ahead of their zone.
        let end = to ?? min(extent.upperBound, today.adding(days: 1))
        let start =
            from
            ?? (isAll
                ? max(min(extent.lowerBound, end), end.adding(months: -12 * 200))
                : end.adding(months: -12).adding(days: 1))
        guard start <= end else {
            throw RequestRefusal(
                .badRequest, "from is after to", "Write an earlier day for from, or a later one for to.")
        }
        (first, last) = (start, end)
        let days = Self.days(start, end)
        let fitting = Self.units.filter { Self.count($0, days) <= Self.most }
        let usual = Self.units.first { Self.count($0, days) <= ($0 == .hour ? 72 : $0 == .day ? 100 : Self.most) }
        guard let name = request.field("by") else {
            unit = usual ?? .year
            return
        }
        guard let asked = Unit(rawValue: name) else {
            throw RequestRefusal(
                .badRequest, "by is not a unit", "The address takes by=hour, day, week, month or year.")
        }
        unit = fitting.contains(asked) ? asked : fitting.first ?? .year
    }

    private static func days(_ first: LocalDate, _ last: LocalDate) -> Int {
        last.daysSinceEpoch - first.daysSinceEpoch + 1
    }

    private static func count(_ unit: Unit, _ days: Int) -> Int {
        switch unit {
        case .hour: days * 24
        case .day: days
        case .week: days / 7 + 1
        case .month: days / 30 + 1
        case .year: days / 365 + 1
        }
    }

    var days: Int { Self.days(first, last) }

    /// The units into which these days may be divided.
    var units: [Unit] {
        Self.units.filter { Self.count($0, days) <= Self.most && Self.count($0, days) > ($0 == .hour ? 0 : 1) }
    }

    // MARK: - Other windows

    /// The query parameters of a window.
    static func fields(_ first: LocalDate, _ last: LocalDate, by unit: Unit? = nil) -> [(name: String, value: String)] {
        [("from", first.text), ("to", last.text)] + (unit.map { [("by", $0.rawValue)] } ?? [])
    }

    var earlier: [(name: String, value: String)]? {
        let start = first.adding(days: -days)
        return Self.years.contains(start.year) ? Self.fields(start, first.adding(days: -1)) : nil
    }

    func later(_ end: LocalDate) -> [(name: String, value: String)]? {
        last < end ? Self.fields(last.adding(days: 1), last.adding(days: days)) : nil
    }

    /// A third of the days, from the middle, or the last ones if the window is at the end.
    func closer(_ end: LocalDate) -> [(name: String, value: String)]? {
        guard days > 1 else { return nil }
        let fewer = max(1, days / 3)
        if last >= end { return Self.fields(last.adding(days: 1 - fewer), last) }
        let start = first.adding(days: (days - fewer) / 2)
        return Self.fields(start, start.adding(days: fewer - 1))
    }

    /// Three times as many days.
    func wider(_ end: LocalDate) -> [(name: String, value: String)]? {
        guard days < 36_500 else { return nil }
        let last = min(self.last.adding(days: days), max(end, self.last))
        return Self.fields(last.adding(days: 1 - 3 * days), last)
    }
}
