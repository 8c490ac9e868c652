/// Ten years of one person's readings of one type, and the series made of them: knows what a change changes.
///
/// A value: a copy taken before a change is the way back.
public struct DayHistory: Sendable {
    /// A day of one of the series that is another than before, or is no more.
    public struct Change: Hashable, Sendable {
        /// Which of ``rules``.
        public var series: Int
        public var day: Int32
        /// `nil` when the series has no value of that day any longer.
        public var now: FilledDay?
    }

    /// What a sum would count twice.
    public struct Conflict: Hashable, Sendable {
        public var day: Int32
        public var sources: Set<Int32>
    }

    /// By day, time and value.
    public private(set) var readings: [Reading]
    public private(set) var rules: [SeriesRules]
    /// The measured days of each series, by day.
    private var measured: [[MeasuredDay]]

    /// - Parameter readings: in any order.
    public init(_ readings: [Reading] = [], _ rules: [SeriesRules]) {
        let inOrder = DayFill.inOrder(readings)
        (self.readings, self.rules) = (inOrder, rules)
        measured = rules.map { DayFill.measured(inOrder, $0) }
    }

    // MARK: - Asking

    /// The series from scratch, in the order of the days.
    public func series(_ series: Int, through today: Int32) -> [FilledDay] {
        DayFill.fill(measured[series], rules[series], through: today)
    }

    /// What a series has of a day.
    public func value(_ series: Int, on day: Int32, through today: Int32) -> FilledDay? {
        Self.value(measured[series], rules[series], on: day, through: today)
    }

    /// The numbers of the readings that a measured day is made of, in the order of time.
    public func basis(_ series: Int, of day: Int32) -> [Int64] {
        DayOfReadings(readings: readings[range(of: day)], rules: rules[series]).counting.map(\.number)
    }

    /// Days on which a series has several sources and must not add them, up to `today`.
    public func conflicts(_ series: Int, through today: Int32 = .max) -> [Conflict] {
        guard rules[series].aggregator == .sum else { return [] }
        var conflicts: [Conflict] = []
        var start = 0
        while start < readings.count, readings[start].day <= today {
            let range = range(of: readings[start].day)
            let day = DayOfReadings(readings: readings[range], rules: rules[series])
            if case .sources(let sources) = day.verdict {
                conflicts.append(Conflict(day: readings[start].day, sources: sources))
            }
            start = range.upperBound
        }
        return conflicts
    }

    /// A reading, by its number and its day.
    public func reading(_ number: Int64, on day: Int32) -> Reading? {
        readings[range(of: day)].first { $0.number == number }
    }

    // MARK: - Changing

    /// Says from now on which sources count.
    ///
    /// Only for sources that had no reading so far: what others make of the days there are is not looked at again.
    public mutating func prefer(_ preferred: [Set<Int32>]) {
        for series in rules.indices { rules[series].preferred = preferred }
    }

    /// Takes readings in and out, and says which days of which series are other ones now.
    ///
    /// A correction is a removal and a put of the same number. What is not there is not removed.
    /// - Parameters:
    ///   - removals: the number and the day of each.
    ///   - puts: readings whose numbers are not there, or are among `removals`.
    public mutating func apply(
        removals: [(number: Int64, day: Int32)] = [], puts: [Reading] = [], through today: Int32
    ) -> [Change] {
        let touched = Set(removals.map(\.day)).union(puts.map(\.day)).sorted()
        let before = (measured: measured, bases: bases(of: touched))
        for removal in removals {
            let range = range(of: removal.day)
            guard let index = readings[range].firstIndex(where: { $0.number == removal.number }) else { continue }
            readings.remove(at: index)
        }
        if puts.count > 256 {
            readings = DayFill.inOrder(readings + puts)
        } else {
            for reading in puts { readings.insert(reading, at: place(of: reading)) }
        }
        for series in rules.indices { for day in touched { measure(day, series) } }
        let after = bases(of: touched)
        return rules.indices.flatMap { series in
            changes(series, touched, before.measured[series], before.bases[series], after[series], through: today)
        }
    }

    /// Days that begin: what each series has of the days after `earlier` up to `today`.
    public func begin(after earlier: Int32, through today: Int32) -> [Change] {
        guard earlier < today else { return [] }
        return rules.indices.flatMap { begin($0, after: earlier, through: today) }
    }

    /// A clock that was set years ahead costs no more than what there is.
    private func begin(_ series: Int, after earlier: Int32, through today: Int32) -> [Change] {
        guard let last = measured[series].last?.day else { return [] }
        let end = min(today, last + Int32(rules[series].days) - 1)
        guard earlier < end else { return [] }
        return (earlier + 1...end).compactMap { day in
            value(series, on: day, through: today).map { Change(series: series, day: day, now: $0) }
        }
    }

    /// What each touched day is made of, for each series.
    private func bases(of days: [Int32]) -> [[Int32: [Reading]]] {
        rules.map { rules in
            Dictionary(
                uniqueKeysWithValues: days.map { day in
                    (day, DayOfReadings(readings: readings[range(of: day)], rules: rules).counting)
                })
        }
    }

    private func changes(
        _ series: Int, _ touched: [Int32], _ before: [MeasuredDay], _ old: [Int32: [Reading]],
        _ new: [Int32: [Reading]], through today: Int32
    ) -> [Change] {
        let rules = rules[series]
        var changes: [Change] = []
        var next = Int32.min
        for day in touched where day <= today {
            // No value stands for longer, so nothing changes farther away.
            for day in max(day, next)..<min(day + Int32(rules.days), today + 1) {
                let was = Self.value(before, rules, on: day, through: today)
                let now = value(series, on: day, through: today)
                if was == now {
                    guard let origin = now?.observedOn, let made = old[origin],
                        made.map(\.number) != new[origin]?.map(\.number)
                    else { continue }
                }
                changes.append(Change(series: series, day: day, now: now))
            }
            next = max(next, min(day + Int32(rules.days), today + 1))
        }
        return changes
    }

    private mutating func measure(_ day: Int32, _ series: Int) {
        let place = Self.firstIndex(measured[series]) { $0.day >= day }
        let isThere = place < measured[series].count && measured[series][place].day == day
        switch DayOfReadings(readings: readings[range(of: day)], rules: rules[series]).verdict {
        case .value(let value) where isThere: measured[series][place].value = value
        case .value(let value): measured[series].insert(MeasuredDay(day: day, value: value), at: place)
        case .none, .sources: if isThere { measured[series].remove(at: place) }
        }
    }

    // MARK: - Finding

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

    /// Where `isBehind` begins to hold, by halves.
    private static func firstIndex<Element>(_ array: [Element], _ isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, array.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(array[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
