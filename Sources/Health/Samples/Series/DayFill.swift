/// A day of a series: its value, and the day on which the value was measured.
public struct FilledDay: Hashable, Sendable {
    /// In the type's canonical unit.
    ///
    /// The value was measured on `day` or carried from an earlier day.
    public var value: Double
    /// In days since 1970-01-01.
    public var day: Int32
    /// `day`, or the earlier day that the value was carried from.
    public var observedOn: Int32

    /// Creates a day without checking its values.
    public init(day: Int32, value: Double, observedOn: Int32) {
        (self.day, self.value, self.observedOn) = (day, value, observedOn)
    }

    /// Days since the value was measured; 0 for a measured day.
    public var age: Int { Int(day) - Int(observedOn) }
}

/// Computes a series from readings, in memory and without other input.
public enum DayFill {
    /// Every day of the series up to `today`, in order.
    ///
    /// A day with readings has their value. A day without readings has the value of the last measured day, if that is less than
    /// `rules.days` ago. So a day depends only on the days before it, and not on the time of the computation. Readings dated after `today`
    /// wait for their day. Costs one pass, and a sort if `readings` are not in order.
    ///
    /// - Parameters:
    ///   - readings: the readings of one person and type, in any order.
    ///   - rules: how a day's value is computed, and for how many days it is carried.
    ///   - clocks: for a sum, the clocks that split readings at midnight; a reading refers to its clock by index.
    ///   - today: the last day of the series, in days since 1970-01-01.
    public static func series(
        _ readings: [Reading], _ rules: SeriesRules, clocks: [DayClock] = [], through today: Int32
    ) -> [FilledDay] {
        let mirrored = MirroredReadings.numbers(readings, rules)
        return fill(measured(inOrder(readings), without: mirrored, rules, clocks), rules, through: today)
    }

    /// The readings sorted by day and time; returns the same array if it is sorted already, as it usually is.
    public static func inOrder(_ readings: [Reading]) -> [Reading] {
        var index = 1
        while index < readings.count {
            if readings[index] < readings[index - 1] { return readings.sorted() }
            index += 1
        }
        return readings
    }

    /// The measured days of sorted readings.
    ///
    /// - Parameter mirrored: the numbers of readings that do not count.
    static func measured(
        _ all: [Reading], without mirrored: Set<Int64>, _ rules: SeriesRules, _ clocks: [DayClock]
    ) -> [MeasuredDay] {
        let readings = mirrored.isEmpty ? all : all.filter { !mirrored.contains($0.number) }
        if rules.aggregator == .sum {
            let days = Set(readings.lazy.flatMap { $0.day...$0.lastDay(clocks) })
            return SumOfDays(readings, rules, clocks).values(days.sorted())
        }
        var measured: [MeasuredDay] = []
        measured.reserveCapacity(min(readings.count, 8_192))
        let countsAll = rules.preferred.isEmpty && rules.aggregator != .weightedMean
        let aggregator = rules.aggregator
        var start = 0
        while start < readings.count {
            let (day, source) = (readings[start].day, readings[start].source)
            var (end, isOfOne) = (start + 1, true)
            while end < readings.count, readings[end].day == day {
                isOfOne = isOfOne && readings[end].source == source
                end += 1
            }
            // The usual case has nothing to choose from, so it allocates no memory.
            if countsAll, isOfOne {
                if let value = DayOfReadings.value(of: readings[start..<end], aggregator) {
                    measured.append(MeasuredDay(day: day, value: value))
                }
                start = end
                continue
            }
            var own = DayOfReadings(readings: readings[start..<end], rules: rules)
            if rules.aggregator == .weightedMean {
                own.following = readings[end..<firstIndex(readings, from: end) { $0.day > day + 1 }]
            }
            if let value = own.value { measured.append(MeasuredDay(day: day, value: value)) }
            start = end
        }
        return measured
    }

    private static func firstIndex(_ readings: [Reading], from start: Int, _ isBehind: (Reading) -> Bool) -> Int {
        var index = start
        while index < readings.count, !isBehind(readings[index]) { index += 1 }
        return index
    }

    /// Carries the values of measured days, which are sorted, over the days without a value.
    public static func fill(_ measured: [MeasuredDay], _ rules: SeriesRules, through today: Int32) -> [FilledDay] {
        var filled: [FilledDay] = []
        guard let first = measured.first, let last = measured.last, first.day <= today else { return [] }
        filled.reserveCapacity(Int(min(today, last.day)) - Int(first.day) + rules.days)
        for (index, own) in measured.enumerated() {
            guard own.day <= today else { break }
            let next = index + 1 < measured.count ? measured[index + 1].day : .max
            for day in own.day..<rules.end(of: own.day, next: next, today) {
                filled.append(FilledDay(day: day, value: own.value, observedOn: own.day))
            }
        }
        return filled
    }
}

extension SeriesRules {
    /// The first day that no longer has the value of a measured day.
    ///
    /// - Parameter next: the next measured day.
    func end(of day: Int32, next: Int32, _ today: Int32) -> Int32 {
        var end = min(next, day + Int32(days), today + 1)
        if let carriesUntil, day < carriesUntil { end = min(end, carriesUntil) }
        return max(end, day + 1)
    }
}
