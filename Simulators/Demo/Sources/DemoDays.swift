import HealthText
import HubClient
import HubWire
import Samples

/// Compares one person's days at Exist with the expected days, which are computed here from the weigh-ins alone.
///
/// It does not use the gap-filler's code. A day is the mean of its weigh-ins; the last mean applies to the 29 days after it; other days are
/// empty.
struct DemoDays: Encodable, Sendable {
    let person: String
    /// The first and the last day to check; later days may already exist.
    let from, to: String
    private(set) var (measured, carried, empty) = (0, 0, 0)
    /// Days without their expected value.
    private(set) var missing = 0
    /// Days with a different or an unexpected value.
    private(set) var wrong = 0
    /// The differences, one sentence each.
    private(set) var problems: [String] = []

    private enum CodingKeys: String, CodingKey {
        case person, from, to, measured, carried, empty, missing, wrong
    }

    /// A weigh-in of the person.
    struct Reading: Hashable, Sendable {
        let date: LocalDate
        let tenthsOfKilogram: Int
    }

    /// The expected value of a day.
    enum Day: Hashable {
        case measured(hundredths: Int)
        case carried(hundredths: Int, from: LocalDate)
        case empty

        var hundredths: Int? {
            switch self {
            case .measured(let value), .carried(let value, _): value
            case .empty: nil
            }
        }
    }

    /// - Parameters:
    ///   - last: the last day that has begun; later days may already exist.
    ///   - held: the weights that Exist has, in kilograms, by day.
    init(of person: String, _ readings: [Reading], through last: LocalDate, held: [LocalDate: Double]) {
        let first = readings.map(\.date).min() ?? last
        (self.person, from, to) = (person, first.text, last.text)
        let newest = max(last, held.keys.max() ?? last)
        for (date, day) in DemoDays.days(readings, first, newest) {
            let value = held[date]
            if date <= last { count(day) }
            guard let value else {
                guard date <= last, day != .empty else { continue }
                missing += 1
                problems.append("Exist has nothing on \(date.text): \(DemoDays.words(day))")
                continue
            }
            // Two decimals, as the nearest double.
            guard let hundredths = day.hundredths, value == Double(hundredths) / 100 else {
                wrong += 1
                problems.append("Exist has \(value) on \(date.text): \(DemoDays.words(day))")
                continue
            }
        }
        for date in held.keys.sorted() where date < first {
            wrong += 1
            problems.append("Exist has a value on \(date.text), before the first weigh-in")
        }
    }

    private mutating func count(_ day: Day) {
        switch day {
        case .measured: measured += 1
        case .carried: carried += 1
        case .empty: empty += 1
        }
    }

    /// All days from the first to the last, in order.
    static func days(_ readings: [Reading], _ first: LocalDate, _ last: LocalDate) -> [(date: LocalDate, day: Day)] {
        let byDay = Dictionary(grouping: readings, by: \.date)
        var newest: (date: LocalDate, hundredths: Int)?
        var days: [(LocalDate, Day)] = []
        for number in first.daysSinceEpoch...max(first, last).daysSinceEpoch {
            let date = LocalDate(daysSinceEpoch: number)
            if let own = byDay[date] {
                let sum = own.reduce(0) { $0 + $1.tenthsOfKilogram }
                // Half a hundredth is rounded up.
                let mean = (2 * 10 * sum + own.count) / (2 * own.count)
                newest = (date, mean)
                days.append((date, .measured(hundredths: mean)))
            } else if let newest, number - newest.date.daysSinceEpoch < 30 {
                days.append((date, .carried(hundredths: newest.hundredths, from: newest.date)))
            } else {
                days.append((date, .empty))
            }
        }
        return days
    }

    private static func words(_ day: Day) -> String {
        switch day {
        case .measured(let value): "the mean of its weigh-ins is \(Double(value) / 100) kg"
        case .carried(let value, let date): "\(Double(value) / 100) kg is carried from \(date.text)"
        case .empty: "no one was weighed for thirty days"
        }
    }

    /// A table for people.
    var lines: [String] {
        var table = Table(
            ["EXIST"] + ["DAYS", "MEASURED", "CARRIED", "EMPTY", "MISSING", "WRONG"].map(Table.Column.right))
        table.add(
            [person] + [measured + carried + empty, measured, carried, empty, missing, wrong].map(NumberText.grouped))
        return table.takeLines()
    }
}

extension DemoDays {
    /// The weigh-ins of a person: those of the year before, and those of the plan that the hub assigned to the person.
    ///
    /// Weigh-ins in the inbox have no day. ``DemoAccount`` checks the assignment of the others.
    static func readings(of person: String, _ plan: DemoPlan, _ records: [StoredRecord]) -> [Reading] {
        let planned = Set(plan.weighings.map(\.place))
        let own = records.compactMap { stored -> Reading? in
            guard case .sample(let sample) = stored.record, stored.assignment.person?.name == person,
                let place = DemoWeighing.Place(stored), planned.contains(place),
                let date = LocalDate(sample.start.text.prefix(10))
            else { return nil }
            return Reading(date: date, tenthsOfKilogram: place.tenthsOfKilogram)
        }
        guard plan.year.person == person else { return own }
        return plan.year.readings.map { Reading(date: $0.time.date, tenthsOfKilogram: $0.tenthsOfKilogram) } + own
    }
}
