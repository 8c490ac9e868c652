import PluginKit
import Samples

/// The readings of one person and type, and the days computed from them.
struct SeriesTable: Sendable {
    struct Key: Hashable, Sendable {
        let person: String
        let type: TypeID
    }

    let key: Key
    let type: FillerSettings.DayType
    let calendar: DayCalendar
    /// Whether all days are cut by one zone.
    let isFixed: Bool
    var history: DayHistory
    /// The sources of the readings.
    var sources: Set<Int32> = []
    /// The history's index of each zone's clock.
    private var clocks: [String: Int32] = [:]

    init(key: Key, type: FillerSettings.DayType, calendar: DayCalendar, isFixed: Bool, rules: [SeriesRules]) {
        (self.key, self.type, self.calendar, self.isFixed) = (key, type, calendar, isFixed)
        history = DayHistory([], rules)
    }

    /// The reading for a sample, placed among the days.
    mutating func reading(_ number: Int64, _ sample: Sample, _ value: Double, of source: Int32) -> Reading {
        let (start, end) = (sample.start.microseconds, sample.end.microseconds)
        guard type.treatment.isSum else {
            return Reading(
                number: number, time: start, end: end, value: value,
                day: calendar.day(of: sample.start, zone: sample.zone), source: source)
        }
        let clock = clock(of: calendar.zone(at: sample.start, zone: sample.zone))
        return Reading(
            number: number, time: start, end: end, value: value, day: history.day(of: start, by: clock),
            source: source, clock: clock)
    }

    private mutating func clock(of zone: String) -> Int32 {
        if let place = clocks[zone] { return place }
        let start = calendar.dayStartMinutes
        guard
            let clock = DayClock(zone: zone, dayStartMinutes: start)
                ?? DayClock(zone: calendar.zone, dayStartMinutes: start)
        else { preconditionFailure("the zone of a calendar is known") }
        let place = history.add(clock)
        clocks[zone] = place
        return place
    }

    /// A day as a record for the hub.
    func record(_ day: FilledDay, of series: Int, source: Source) -> DayValue {
        let rules = history.rules[series]
        let isCarried = day.age > 0
        var metadata = #"{"formula":"\#(rules.name)","formulaVersion":"\#(rules.aggregator.formulaVersion)""#
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

    /// More numbers would not fit into a record: a day of steps, one sample a minute, has 1,440.
    static let mostBasis = 1_000
}

extension Aggregator {
    /// Increases when the same readings would give other days.
    fileprivate var formulaVersion: Int { self == .sum || self == .weightedMean ? 2 : 1 }
}

extension LocalDate {
    init(_ day: Int32) { self.init(daysSinceEpoch: Int(day)) }
}

extension DayCalendar {
    /// For example `04:00`.
    fileprivate var dayStart: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(dayStartMinutes / 60)):\(two(dayStartMinutes % 60))"
    }
}
