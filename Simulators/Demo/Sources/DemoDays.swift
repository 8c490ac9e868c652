import HealthText
import HubClient
import HubWire
import Samples

/// The days of one person at Exist, against what they have to be: computed here from the weigh-ins alone.
///
/// The gap-filler's code has no part in it: the mean of a day's weigh-ins, the last one's on the 29 days after it, else nothing.
struct DemoDays: Encodable, Sendable {
    let person: String
    /// The first day and the last one that is judged; days after it may be there already.
    let from, to: String
    private(set) var (measured, carried, empty) = (0, 0, 0)
    /// Days that should have a value and have none.
    private(set) var missing = 0
    /// With another value, or with one where none should be.
    private(set) var wrong = 0
    /// What is not right, a sentence each.
    private(set) var problems: [String] = []

    private enum CodingKeys: String, CodingKey {
        case person, from, to, measured, carried, empty, missing, wrong
    }

    /// A weigh-in of the person.
    struct Reading: Hashable, Sendable {
        let date: LocalDate
        let tenthsOfKilogram: Int
    }

    /// What a day has to be.
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
    ///   - last: what has begun by now; later days may be there already.
    ///   - held: kilograms at Exist, by day.
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
            // Two decimals, as a double that is nearest to them.
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

    /// Every day from the first to the last, in order.
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

    /// A table, for people.
    var lines: [String] {
        var table = Table(
            [("EXIST", .left), ("DAYS", .right), ("MEASURED", .right), ("CARRIED", .right), ("EMPTY", .right)]
                + [("MISSING", .right), ("WRONG", .right)])
        table.add(
            [person] + [measured + carried + empty, measured, carried, empty, missing, wrong].map(NumberText.grouped))
        return table.takeLines()
    }
}

extension DemoDays {
    /// The weigh-ins that are a person's: those of the year before, and of the plan those that the hub has given to them.
    ///
    /// What waits in the inbox has no day. Whether the rest is theirs, ``DemoAccount`` judges.
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
