import Samples

/// Measures the gap-filler's pure function on ten years of four weigh-ins a day for many persons, from arrays of weigh-ins to
/// arrays of days, one person after the other, on one core.
///
/// Programs/days.py does the same with pandas.
@main
struct DayFillBench {
    static func main() {
        let persons = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000
        guard let calendar = DayCalendar(zone: "Europe/Berlin") else {
            preconditionFailure("the machine has no time zones")
        }
        let today = Int32(first + days - 1)
        let rules = SeriesRules(.mean, mirrorTolerance: 0.05)
        var (spent, checked) = (Duration.zero, 0)
        for person in 0..<persons {
            let (times, values) = history(of: person)
            let begin = ContinuousClock.now
            checked += days(times, values, calendar, rules, through: today).count
            spent += ContinuousClock.now - begin
        }
        precondition(checked == persons * days, "a day is missing")
        print("persons_per_s", Double(persons) / (spent / .seconds(1)))
    }

    /// The measured work.
    ///
    /// It is not in `main`, which belongs to the main actor: each closure there would check at run time that it runs on the main actor.
    private static func days(
        _ times: [Timestamp], _ values: [Double], _ calendar: DayCalendar, _ rules: SeriesRules, through today: Int32
    ) -> [FilledDay] {
        let readings = times.indices.map { index in
            Reading(
                number: Int64(index), time: times[index].microseconds, value: values[index],
                day: calendar.day(of: times[index]))
        }
        return DayFill.series(readings, rules, through: today)
    }

    static let (first, days) = (16_000, 3_650)

    /// Four weigh-ins a day, at about the same hours.
    private static func history(of person: Int) -> (times: [Timestamp], values: [Double]) {
        var (times, values): ([Timestamp], [Double]) = ([], [])
        var state = UInt64(person)
        for day in 0..<days {
            for hour in [7, 12, 18, 22] as [Int64] {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let microseconds = (Int64(first + day) * 86_400 + hour * 3_600) * 1_000_000 - 3_600_000_000
                times.append(Timestamp(microseconds: microseconds + Int64(state >> 40), offsetMinutes: 60))
                values.append(80 + Double(state >> 54) / 1_000)
            }
        }
        return (times, values)
    }
}
