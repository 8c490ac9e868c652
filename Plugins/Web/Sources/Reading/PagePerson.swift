import Foundation
import HTTPTypes
import HealthText
import PluginKit
import Samples

/// The person of a page, with their preferences and their present day.
struct PagePerson: Sendable {
    let name: String
    /// The name as people read it.
    let shownName: String
    let reader: DisplayPreferences
    /// The IANA zone in which days begin.
    let zone: String
    let now: Timestamp
    let today: LocalDate
    private let days: Intervals

    init(_ person: Welcome.PersonEntry, _ clock: HubClock) throws {
        (name, reader, now) = (person.name, person.reader, clock.time)
        shownName = person.shownName
        zone =
            [person.zone, TimeZone.current.identifier, "UTC"].compactMap(\.self)
            .first { Intervals(.day, zone: $0) != nil } ?? "GMT"
        guard let days = Intervals(.day, zone: zone),
            let today = LocalDay.of(now, sampleZone: nil, personZone: zone, policy: .fixed)
        else {
            throw RequestRefusal(
                .internalServerError, "This machine knows no time zones", "Install tzdata, and restart the plugin.")
        }
        (self.days, self.today) = (days, today)
    }

    /// The beginning of a day, in microseconds since 1970.
    func midnight(_ date: LocalDate) -> Int64 {
        days.border(date.daysSinceEpoch - Intervals.usualAnchor.daysSinceEpoch)
    }

    /// An instant with the offset of this zone.
    func local(_ time: Int64) -> Timestamp { days.local(time) }

    /// The anchor of this reader's weeks; nil for Mondays, which is the hub's default.
    var weekAnchor: Timestamp? {
        let place = reader.daysToFirstWeekday
        return place == 0 ? nil : days.local(days.border(place))
    }

    /// The day of a sample at the place of measurement.
    func day(of sample: Sample) -> LocalDate {
        LocalDay.of(sample.start, sampleZone: sample.zone, personZone: zone) ?? sample.start.localDate
    }

    func format(_ type: TypeID, unit: String) -> ValueFormat { reader.format(unit, of: type) }

    /// The address of a page for this person.
    func address(_ path: String, _ fields: [(name: String, value: String)] = []) -> String {
        path + "?" + FormText.write([(name: "person", value: name)] + fields)
    }

    /// An interval in words: `26 Nov 2026`, `week of 23 Nov 2026`, `Nov 2026`.
    func words(_ time: Timestamp, _ unit: StatisticsInterval.Unit) -> String {
        let date = time.localDate
        switch unit {
        case .hour: return "\(reader.date(date)) \(time.text.dropFirst(11).prefix(5))"
        case .day: return reader.date(date)
        case .week: return "week of \(reader.date(date))"
        case .month: return "\(reader.dates.month(date)) \(date.year)"
        case .year: return "\(date.year)"
        }
    }
}
