/// A day of a series: its value, and the day that it was measured on.
public struct FilledDay: Hashable, Sendable {
    /// In the type's one unit: that of `day`, or the one that was carried.
    public var value: Double
    /// In days since 1970-01-01.
    public var day: Int32
    /// `day`, or an earlier one from which the value was carried.
    public var observedOn: Int32

    /// A day as it is given; nothing is checked.
    public init(day: Int32, value: Double, observedOn: Int32) {
        (self.day, self.value, self.observedOn) = (day, value, observedOn)
    }

    /// Days since it was measured; 0 for a measured day.
    public var age: Int { Int(day) - Int(observedOn) }
}

/// From readings to a series, on arrays in memory and from nothing else.
public enum DayFill {
    /// Every day of the series up to `today`, in order.
    ///
    /// A day with readings has their value; a day without has that of the last measured day, where that is less than `rules.days` ago
    /// (the reading A of "look back": what a day has depends on the days before it alone, not on when it is computed). Readings dated
    /// after `today` wait for their day. Costs a pass, and a sort where `readings` are not in order.
    ///
    /// - Parameters:
    ///   - readings: of one person and type, in any order.
    ///   - rules: how a day is made, and for how long its value stands.
    ///   - clocks: that cut what reaches over midnight into days, for a sum; the readings name them by their place.
    ///   - today: the last day of the series, in days since 1970-01-01.
    public static func series(
        _ readings: [Reading], _ rules: SeriesRules, clocks: [DayClock] = [], through today: Int32
    ) -> [FilledDay] {
        let mirrored = MirroredReadings.numbers(readings, rules)
        return fill(measured(inOrder(readings), without: mirrored, rules, clocks), rules, through: today)
    }

    /// The readings by day and time; the same array where they lie so already, as they mostly do.
    public static func inOrder(_ readings: [Reading]) -> [Reading] {
        var index = 1
        while index < readings.count {
            if readings[index] < readings[index - 1] { return readings.sorted() }
            index += 1
        }
        return readings
    }

    /// The measured days of readings that are in order.
    ///
    /// - Parameter mirrored: the numbers of those that do not count.
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
            // The usual case, in which there is nothing to choose from, costs no memory.
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

    /// Carries measured days, which are in order, over those without.
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
    /// The first day that has no longer the value of a measured day.
    ///
    /// - Parameter next: the next measured day.
    func end(of day: Int32, next: Int32, _ today: Int32) -> Int32 {
        var end = min(next, day + Int32(days), today + 1)
        if let carriesUntil, day < carriesUntil { end = min(end, carriesUntil) }
        return max(end, day + 1)
    }
}
