import HubProcess
import Platform
import Samples
import Testing

/// The day series and the statistics by day compute the same numbers.
@Suite struct StatisticsTests {
    private static let seeds = Thoroughness.seeds(60).map(Thoroughness.seed)
    private static let zones = ["Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "UTC"]

    /// Readings of three weeks around a clock change, all by one clock.
    private func history(_ dice: inout SeededGenerator, _ clock: DayClock) -> [Reading] {
        let begin: Int64 = 1_711_000_000_000_000
        var readings: [Reading] = []
        for number in 1...Int64.random(in: 2...80, using: &dice) {
            if Int.random(in: 0..<4, using: &dice) == 0, var other = readings.randomElement(using: &dice) {
                // A duplicate of another reading, from another source or the same one.
                (other.number, other.source) = (number, .random(in: 0...3, using: &dice))
                if Bool.random(using: &dice) { other.end = other.time }
                readings.append(other)
                continue
            }
            let time = begin + .random(in: 0..<1_800, using: &dice) * 1_000_000_000
            let lengths: [Int64] = [0, 60_000_000, 3_600_000_000, 40_000_000_000, 300_000_000_000]
            let length = lengths.randomElement(using: &dice) ?? 0
            readings.append(
                Reading(
                    number: number, time: time, end: time + (length == 0 ? 0 : .random(in: 0...length, using: &dice)),
                    value: .random(in: 0...1_000, using: &dice), day: clock.day(of: time),
                    source: .random(in: 0...3, using: &dice)))
        }
        return readings
    }

    @Test(arguments: seeds)
    func `sums, plain means and weighted means of days equal the statistics by day to the last bit`(seed: UInt64) throws
    {
        var dice = SeededGenerator(seed: seed)
        let zone = Self.zones[Int.random(in: 0..<Self.zones.count, using: &dice)]
        let start = [0, 0, 240].randomElement(using: &dice) ?? 0
        let clock = try #require(DayClock(zone: zone, dayStartMinutes: start))
        let intervals = try #require(Intervals(.day, zone: zone, dayStartMinutes: start))
        let readings = history(&dice, clock)
        let first = readings.map(\.time).min() ?? 0
        let last = readings.map { max($0.end, $0.time + 1) }.max() ?? 0
        let borders = try #require(intervals.borders(from: first, to: last, most: 1_000))
        let days = borders.dropLast().map { clock.day(of: $0) }

        var sum = SeriesRules(.sum)
        sum.ranks = [0: 3, 1: 1, 2: 4, 3: 2]
        let portions = readings.map {
            Portion(number: $0.number, start: $0.time, end: $0.end, value: $0.value, rank: sum.ranks[$0.source] ?? 0)
        }
        let sums = zip(days, Figures.sums(portions, borders, bySource: false)).compactMap { day, figures in
            figures.total.total.map { MeasuredDay(day: day, value: $0) }
        }
        #expect(series(readings, sum, clock) == sums)

        for (aggregator, style) in [
            (Aggregator.mean, AggregationStyle.discreteArithmetic), (.weightedMean, .discreteTemporallyWeighted),
        ] {
            let levels = readings.sorted().map {
                Level(number: $0.number, start: $0.time, end: $0.end, value: $0.value, rank: sum.ranks[$0.source] ?? 0)
            }
            let means = zip(days, Figures.levels(levels, borders, style, bySource: false)).compactMap { day, figures in
                figures.total.average(style).map { MeasuredDay(day: day, value: $0) }
            }
            var rules = SeriesRules(aggregator, days: 1)
            rules.ranks = sum.ranks
            #expect(series(readings, rules, clock) == means, "\(aggregator)")
        }
    }

    private func series(_ readings: [Reading], _ rules: SeriesRules, _ clock: DayClock) -> [MeasuredDay] {
        DayFill.series(readings, rules, clocks: [clock], through: .max - 40).map {
            MeasuredDay(day: $0.day, value: $0.value)
        }
    }
}
