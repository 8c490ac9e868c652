import HubProcess
import Platform
import Samples
import Testing

/// Properties that hold for every history.
///
/// Each test checks them on random histories, most on a hundred with `make test-all`.
@Suite struct LawTests {
    private static let seeds = Thoroughness.seeds(100).map(Thoroughness.seed)

    private func eachHistory(
        _ count: Int = seeds.count, _ body: (inout SeededGenerator, [Reading], [SeriesRules]) throws -> Void
    ) rethrows {
        for seed in Self.seeds.prefix(count) {
            var dice = SeededGenerator(seed: seed)
            let rules = dice.rules()
            try body(&dice, dice.readings(), rules)
        }
    }

    /// Puts all readings on one clock: a duplicate by another clock may fall on another day, on which it does not count.
    private func byOneClock(_ readings: [Reading]) -> [Reading] {
        readings.map { reading in
            var reading = reading
            (reading.clock, reading.day) = (0, clocks[0].day(of: reading.time))
            return reading
        }
    }

    @Test func `the order in which readings arrive changes nothing, nor does computing twice`() {
        eachHistory { dice, readings, rules in
            for rules in rules {
                let series = DayFill.series(readings, rules, clocks: clocks, through: today)
                #expect(
                    DayFill.series(readings.shuffled(using: &dice), rules, clocks: clocks, through: today) == series)
                #expect(DayFill.series(readings, rules, clocks: clocks, through: today) == series)
            }
        }
    }

    @Test func `a window of thirty days shows a subset of the stored series`() {
        eachHistory { dice, several, rules in
            let readings = byOneClock(several)
            let rules = SeriesRules(.mean)
            let first = today - 29
            let stored = DayFill.series(readings, rules, clocks: clocks, through: today)
            let window = DayFill.series(readings.filter { $0.day >= first }, rules, clocks: clocks, through: today)
            #expect(Set(window).isSubset(of: stored))
            #expect(window == stored.filter { $0.observedOn >= first })
        }
    }

    @Test func `a value lies among the readings of the day it was observed on, and is never older than allowed`() {
        eachHistory { _, readings, rules in
            for rules in rules where rules.aggregator != .sum {
                for day in DayFill.series(readings, rules, clocks: clocks, through: today) {
                    let values = readings.filter { $0.day == day.observedOn }.map(\.value)
                    #expect(values.contains { $0 <= day.value } && values.contains { $0 >= day.value })
                    #expect((0..<rules.days).contains(day.age))
                    #expect(day.day <= today)
                }
            }
        }
    }

    @Test func `days are in order, each once, and a day with readings has its own value`() {
        eachHistory { _, several, rules in
            let readings = byOneClock(several)
            for rules in rules where rules.aggregator != .sum {
                let series = DayFill.series(readings, rules, clocks: clocks, through: today)
                #expect(zip(series, series.dropFirst()).allSatisfy { $0.day < $1.day })
                let measured = Set(readings.map(\.day).filter { $0 <= today })
                #expect(Set(series.filter { $0.age == 0 }.map(\.day)) == measured)
            }
        }
    }

    @Test func `one more reading changes no day before its own, and none from the next measured day on`() {
        eachHistory { dice, readings, rules in
            let new = dice.reading(1_000)
            var history = DayHistory(readings, rules, clocks: clocks)
            let changes = history.apply(puts: [new], through: today)
            let before = DayHistory(readings, rules, clocks: clocks)
            for change in changes where rules[change.series].preferred.isEmpty {
                let measured = before.series(change.series, through: today + 10).filter { $0.age == 0 }.map(\.day)
                let next = measured.filter { $0 > new.day }.min() ?? .max
                switch rules[change.series].aggregator {
                case .sum: continue  // A new reading also changes the later days that it reaches into.
                // The new reading ends the time that the last reading of the day before held.
                case .weightedMean: #expect(change.day >= new.day - 1 && change.day < next)
                default: #expect(change.day >= new.day && change.day < next)
                }
            }
        }
    }

    @Test func `the reported changes are exactly the days that differ, and the history equals a fresh computation`() {
        eachHistory(15) { dice, readings, rules in
            var readings = readings
            var history = DayHistory(readings, rules, clocks: clocks)
            var known = Snapshot(history)
            for step in 0..<12 {
                // Removes, adds and corrects some readings at once, as a delivery does.
                var (removals, puts): ([Reading], [Reading]) = ([], [])
                for reading in readings.shuffled(using: &dice).prefix(.random(in: 0...3, using: &dice)) {
                    removals.append(reading)
                    if Bool.random(using: &dice) { puts.append(dice.reading(reading.number)) }
                }
                for reading in readings.shuffled(using: &dice).prefix(.random(in: 0...2, using: &dice)) {
                    puts.append(dice.mirror(of: reading, Int64(2_000 + step * 10 + puts.count)))
                }
                for extra in 0..<Int.random(in: 0...3, using: &dice) {
                    puts.append(dice.reading(Int64(1_000 + step * 10 + extra)))
                }
                readings.removeAll { reading in removals.contains { $0.number == reading.number } }
                readings += puts
                let changes = history.apply(removals: removals.map { ($0.number, $0.day) }, puts: puts, through: today)

                let scratch = DayHistory(readings.shuffled(using: &dice), rules, clocks: clocks)
                let now = Snapshot(scratch)
                #expect(Snapshot(history) == now)
                var told = known
                for change in changes { told.apply(change, history) }
                #expect(told == now)
                let places = changes.map { Snapshot.Place(series: $0.series, day: $0.day) }
                #expect(Set(places).count == places.count)
                #expect(Set(places) == known.differences(from: now))
                known = now
            }
        }
    }

    @Test func `when a day begins, the reported changes lead to the same series as a fresh computation`() {
        eachHistory { dice, readings, rules in
            let history = DayHistory(readings, rules, clocks: clocks)
            let earlier = today - .random(in: 0...40, using: &dice)
            var told = Snapshot(history, through: earlier)
            for change in history.begin(after: earlier, through: today) { told.apply(change, history) }
            #expect(told == Snapshot(history))
        }
    }
}

/// All days of a history, with the readings that each is based on.
private struct Snapshot: Equatable {
    struct Place: Hashable {
        var series: Int
        var day: Int32
    }

    struct Entry: Equatable {
        var day: FilledDay
        var basis: [Int64]
    }

    private(set) var days: [Place: Entry] = [:]

    init(_ history: DayHistory, through today: Int32 = today) {
        for series in history.rules.indices {
            for day in history.series(series, through: today) {
                days[Place(series: series, day: day.day)] = Entry(
                    day: day, basis: history.basis(series, of: day.observedOn))
            }
        }
    }

    mutating func apply(_ change: DayHistory.Change, _ history: DayHistory) {
        days[Place(series: change.series, day: change.day)] = change.now.map {
            Entry(day: $0, basis: history.basis(change.series, of: $0.observedOn))
        }
    }

    func differences(from other: Snapshot) -> Set<Place> {
        Set(days.keys).union(other.days.keys).filter { days[$0] != other.days[$0] }
    }
}
