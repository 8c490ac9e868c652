/// Ten years of one person's readings of one type, with the series computed from them; reports the effects of each change.
///
/// This is a value type: keep a copy from before a change to undo the change.
public struct DayHistory: Sendable {
    /// A day of a series whose value has changed or no longer exists.
    public struct Change: Hashable, Sendable {
        /// Index of the series in ``rules``.
        public var series: Int
        /// The day, in days since 1970-01-01.
        public var day: Int32
        /// The new value; `nil` if the series no longer has a value for that day.
        public var now: FilledDay?
    }

    /// Sorted by day, time and value.
    public private(set) var readings: [Reading]
    /// The rules of each series; the index in this array identifies the series.
    public private(set) var rules: [SeriesRules]
    /// For sums: the clocks that split readings into days; a reading refers to its clock by index.
    public private(set) var clocks: [DayClock]
    /// The measured days of each series, by day.
    private var measured: [[MeasuredDay]]
    /// For sums: readings that may reach beyond the day after their own.
    private var long: [Reading] = []
    /// For each series, the numbers of the readings that do not count because they mirror another reading.
    private var mirrored: [Set<Int64>]

    /// Creates a history; costs a pass for each series, and a sort if the readings are not in order.
    ///
    /// - Parameters:
    ///   - readings: the readings of one person and type, in any order.
    ///   - rules: the rules of each series; the index identifies the series.
    ///   - clocks: for sums, the clocks that split readings into days; a reading refers to its clock by index.
    public init(_ readings: [Reading] = [], _ rules: [SeriesRules], clocks: [DayClock] = []) {
        let inOrder = DayFill.inOrder(readings)
        (self.readings, self.rules, self.clocks) = (inOrder, rules, clocks)
        let mirrored = DayHistory.mirrored(rules) { MirroredReadings.numbers(inOrder, $0) }
        self.mirrored = mirrored
        measured = zip(rules, mirrored).map { DayFill.measured(inOrder, without: $1, $0, clocks) }
        if rules.contains(where: { $0.aggregator == .sum }) { long = inOrder.filter(\.isLong) }
    }

    // MARK: - Queries

    /// The whole series, sorted by day.
    public func series(_ series: Int, through today: Int32) -> [FilledDay] {
        DayFill.fill(measured[series], rules[series], through: today)
    }

    /// The value of a series for a day.
    public func value(_ series: Int, on day: Int32, through today: Int32) -> FilledDay? {
        Self.value(measured[series], rules[series], on: day, through: today)
    }

    /// The numbers of the readings that a measured day is computed from, in order of time.
    public func basis(_ series: Int, of day: Int32) -> [Int64] {
        rules[series].aggregator == .sum ? sums(series, [day]).counting(day) : own(day, series).counting.map(\.number)
    }

    /// The reading with this number on this day.
    public func reading(_ number: Int64, on day: Int32) -> Reading? {
        readings[range(of: day)].first { $0.number == number }
    }

    /// Whether a reading of one day extends into another.
    public func reaches(_ number: Int64, on day: Int32, to other: Int32) -> Bool {
        guard day != other, day < other, rules.contains(where: { $0.aggregator == .sum }) else { return day == other }
        return reading(number, on: day).map { $0.lastDay(clocks) >= other } ?? false
    }

    // MARK: - Changes

    /// Adds a clock.
    ///
    /// - Returns: the index of the clock.
    public mutating func add(_ clock: DayClock) -> Int32 {
        clocks.append(clock)
        return Int32(clocks.count - 1)
    }

    /// The day of an instant on one of the clocks.
    public mutating func day(of time: Int64, by clock: Int32) -> Int32 { clocks[Int(clock)].learnedDay(of: time) }

    /// Sets the preferred sources.
    ///
    /// Call this only to add sources that have no readings yet, because existing days are not computed again.
    public mutating func prefer(_ preferred: [Set<Int32>]) {
        for series in rules.indices { rules[series].preferred = preferred }
    }

    /// Sets the rank of a source among the others.
    ///
    /// Call this only for a source that has no readings yet.
    public mutating func rank(_ source: Int32, _ rank: Int) {
        for series in rules.indices { rules[series].ranks[source] = rank }
    }

    /// Adds many readings without reporting what changes.
    ///
    /// - Parameter puts: readings whose numbers are new.
    public mutating func load(_ puts: [Reading]) {
        guard rules.contains(where: { $0.aggregator == .sum }) else {
            self = DayHistory(readings + puts, rules, clocks: clocks)
            return
        }
        let days = touched(by: puts + beginning(with: puts))
        readings = DayFill.inOrder(readings + puts)
        mirrored = DayHistory.mirrored(rules) { MirroredReadings.numbers(readings, $0) }
        long += puts.filter(\.isLong)
        for series in rules.indices { measure(days, series) }
    }

    /// Removes and adds readings, and returns the days that change in each series.
    ///
    /// A correction is a removal and an addition with the same number. Removals of unknown readings are ignored.
    /// - Parameters:
    ///   - removals: number and day of each reading to remove.
    ///   - puts: readings whose numbers are new or among `removals`.
    ///   - today: the last day of the series, in days since 1970-01-01.
    public mutating func apply(
        removals: [(number: Int64, day: Int32)] = [], puts: [Reading] = [], through today: Int32
    ) -> [Change] {
        let removed = removals.compactMap { reading($0.number, on: $0.day) }
        let touched = touched(by: removed + puts + beginning(with: removed + puts))
        let before = (measured: measured, bases: bases(of: touched))
        for reading in removed {
            let range = range(of: reading.day)
            guard let index = readings[range].firstIndex(where: { $0.number == reading.number }) else { continue }
            readings.remove(at: index)
            if reading.isLong { long.removeAll { $0.number == reading.number } }
        }
        if puts.count > 256 {
            readings = DayFill.inOrder(readings + puts)
        } else {
            for reading in puts { readings.insert(reading, at: place(of: reading)) }
        }
        if rules.contains(where: { $0.aggregator == .sum }) { long += puts.filter(\.isLong) }
        compareAgain(removed, puts)
        for series in rules.indices { measure(touched, series) }
        let after = bases(of: touched)
        return rules.indices.flatMap { series in
            changes(series, touched, before.measured[series], before.bases[series], after[series], through: today)
        }
    }

    /// The days that the readings may change, sorted.
    private func touched(by readings: [Reading]) -> [Int32] {
        var days: Set<Int32> = []
        for reading in readings { days.insert(reading.day) }
        for rules in rules {
            switch rules.aggregator {
            // A reading limits how long the last value of the previous day holds.
            case .weightedMean: for reading in readings { days.insert(reading.day - 1) }
            case .sum:
                for reading in readings { days.formUnion(reading.day - margin...reading.lastDay(clocks) + margin) }
            default: break
            }
        }
        return days.sorted()
    }

    /// The maximum distance in days between the dates that two clocks give one instant.
    private var margin: Int32 { clocks.count > 1 ? 2 : 0 }

    /// The values of each series for the days that have begun: those after `earlier`, up to `today`.
    public func begin(after earlier: Int32, through today: Int32) -> [Change] {
        guard earlier < today else { return [] }
        return rules.indices.flatMap { begin($0, after: earlier, through: today) }
    }

    /// The work is limited by the data, even if a clock was set years ahead.
    private func begin(_ series: Int, after earlier: Int32, through today: Int32) -> [Change] {
        guard let last = measured[series].last?.day else { return [] }
        let end = min(today, last + Int32(rules[series].days) - 1)
        guard earlier < end else { return [] }
        return (earlier + 1...end).compactMap { day in
            value(series, on: day, through: today).map { Change(series: series, day: day, now: $0) }
        }
    }

    /// The readings that each touched day is computed from, for each series.
    private func bases(of days: [Int32]) -> [[Int32: [Int64]]] {
        rules.indices.map { series in
            Dictionary(uniqueKeysWithValues: days.map { ($0, basis(series, of: $0)) })
        }
    }

    private func changes(
        _ series: Int, _ touched: [Int32], _ before: [MeasuredDay], _ old: [Int32: [Int64]],
        _ new: [Int32: [Int64]], through today: Int32
    ) -> [Change] {
        let rules = rules[series]
        var changes: [Change] = []
        var next = Int32.min
        for day in touched where day <= today {
            // No value is carried further than this, so later days do not change.
            for day in max(day, next)..<min(day + Int32(rules.days), today + 1) {
                let was = Self.value(before, rules, on: day, through: today)
                let now = value(series, on: day, through: today)
                if was == now {
                    guard let origin = now?.observedOn, let made = old[origin],
                        made != new[origin]
                    else { continue }
                }
                changes.append(Change(series: series, day: day, now: now))
            }
            next = max(next, min(day + Int32(rules.days), today + 1))
        }
        return changes
    }

    private mutating func measure(_ days: [Int32], _ series: Int) {
        if rules[series].aggregator == .sum {
            let values = sums(series, days).values(days)
            let found = Dictionary(uniqueKeysWithValues: values.map { ($0.day, $0.value) })
            for day in days { set(found[day], day, series) }
        } else {
            for day in days { set(own(day, series).value, day, series) }
        }
    }

    private mutating func set(_ value: Double?, _ day: Int32, _ series: Int) {
        let place = Self.firstIndex(measured[series]) { $0.day >= day }
        let isThere = place < measured[series].count && measured[series][place].day == day
        switch value {
        case let value? where isThere: measured[series][place].value = value
        case let value?: measured[series].insert(MeasuredDay(day: day, value: value), at: place)
        case nil: if isThere { measured[series].remove(at: place) }
        }
    }

    private func own(_ day: Int32, _ series: Int) -> DayOfReadings {
        let isWeighted = rules[series].aggregator == .weightedMean
        var own = readings[range(of: day)]
        if !mirrored[series].isEmpty { own = own.filter { !mirrored[series].contains($0.number) }[...] }
        return DayOfReadings(
            readings: own, rules: rules[series],
            following: isWeighted ? readings[range(of: day + 1)] : [])
    }

    /// The readings that extend into the given sorted days, and the readings near those days.
    private func sums(_ series: Int, _ days: [Int32]) -> SumOfDays {
        var reaching = long
        var next = 0
        for day in days {
            // A short reading reaches at most the day after the next, if a zone skips a whole day.
            let first = Self.firstIndex(readings) { $0.day >= day - 2 - margin }
            let end = Self.firstIndex(readings) { $0.day > day + margin }
            guard max(first, next) < end else { continue }
            reaching += readings[max(first, next)..<end].lazy.filter { !$0.isLong }
            next = end
        }
        if !mirrored[series].isEmpty { reaching.removeAll { mirrored[series].contains($0.number) } }
        return SumOfDays(reaching, rules[series], clocks)
    }

    // MARK: - Mirrors

    /// Computes the mirrors for each series; most series share one order of sources, so results are reused.
    private static func mirrored(_ rules: [SeriesRules], _ find: (SeriesRules) -> Set<Int64>) -> [Set<Int64>] {
        var found: [Set<Int64>] = []
        for (series, own) in rules.enumerated() {
            let same = rules[..<series].firstIndex { $0.ranks == own.ranks && $0.preferred == own.preferred }
            found.append(same.map { found[$0] } ?? find(own))
        }
        return found
    }

    /// Compares the mirrors again at each instant at which readings were removed or added.
    private mutating func compareAgain(_ removed: [Reading], _ puts: [Reading]) {
        for reading in removed {
            for series in rules.indices { mirrored[series].remove(reading.number) }
        }
        var seen: Set<Int64> = []
        for reading in removed + puts where seen.insert(reading.time).inserted {
            let together = beginning(with: [reading])
            let found = DayHistory.mirrored(rules) { MirroredReadings.numbers(together: together, $0) }
            for series in rules.indices {
                for other in together { mirrored[series].remove(other.number) }
                mirrored[series].formUnion(found[series])
            }
        }
    }

    /// The readings that begin at the same time as one of `others`, including `others` themselves.
    private func beginning(with others: [Reading]) -> [Reading] {
        var found: [Reading] = []
        for other in others {
            // At one instant, the dates of two places differ by at most two days.
            for day in other.day - 2...other.day + 2 {
                var place = Self.firstIndex(readings) { ($0.day, $0.time) >= (day, other.time) }
                while place < readings.count, readings[place].day == day, readings[place].time == other.time {
                    found.append(readings[place])
                    place += 1
                }
            }
        }
        return found
    }

    // MARK: - Search

    private static func value(
        _ measured: [MeasuredDay], _ rules: SeriesRules, on day: Int32, through today: Int32
    ) -> FilledDay? {
        guard day <= today else { return nil }
        let index = firstIndex(measured) { $0.day > day } - 1
        guard index >= 0 else { return nil }
        let own = measured[index]
        guard day < rules.end(of: own.day, next: .max, today) else { return nil }
        return FilledDay(day: day, value: own.value, observedOn: own.day)
    }

    private func range(of day: Int32) -> Range<Int> {
        let start = Self.firstIndex(readings) { $0.day >= day }
        var end = start
        while end < readings.count, readings[end].day == day { end += 1 }
        return start..<end
    }

    private func place(of reading: Reading) -> Int { Self.firstIndex(readings) { reading < $0 } }

    /// The first index for which `isBehind` is true, found by binary search.
    private static func firstIndex<Element>(_ array: [Element], _ isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, array.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(array[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
