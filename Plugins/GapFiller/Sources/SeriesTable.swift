import DaySeries
import PluginKit

/// The readings of one person and type, and the days made of them.
struct SeriesTable: Sendable {
    struct Key: Hashable, Sendable {
        let person: String
        let type: TypeID
    }

    let key: Key
    let type: FillerSettings.DayType
    let calendar: DayCalendar
    /// Whether one zone cuts all days.
    let isFixed: Bool
    var history: DayHistory
    /// Sources that readings have come from.
    var sources: Set<Int32> = []

    /// A day as a record for the hub.
    func record(_ day: FilledDay, of series: Int, source: Source) -> DayValue {
        let rules = history.rules[series]
        let isCarried = day.age > 0
        var metadata = #"{"formula":"\#(rules.name)","formulaVersion":"\#(SeriesTable.formulaVersion)""#
        if calendar.dayStartMinutes > 0 { metadata += #","dayStart":"\#(calendar.dayStart)""# }
        var basis = history.basis(series, of: day.observedOn)
        if basis.count > SeriesTable.mostBasis {
            metadata += #","basisCount":\#(basis.count)"#
            basis.removeLast(basis.count - SeriesTable.mostBasis)
        }
        return DayValue(
            source: source, person: key.person, type: key.type, series: rules.name, date: LocalDate(day.day),
            value: day.value, unit: type.type.unit ?? "",
            method: isCarried ? "carried" : rules.aggregator.rawValue,
            observedOn: isCarried ? LocalDate(day.observedOn) : nil, age: isCarried ? day.age : nil,
            basis: basis.map(Provenance.Basis.number), zone: isFixed ? calendar.zone : nil,
            metadata: JSONObject(trusted: metadata + "}"))
    }

    /// Grows when the same readings would make other days.
    static let formulaVersion = 1
    /// More numbers than that would not fit a record: steps of a day, one a minute, are 1,440.
    static let mostBasis = 1_000
}

extension LocalDate {
    init(_ day: Int32) { self.init(daysSinceEpoch: Int(day)) }
}

extension DayCalendar {
    /// As `04:00`.
    fileprivate var dayStart: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(dayStartMinutes / 60)):\(two(dayStartMinutes % 60))"
    }
}
