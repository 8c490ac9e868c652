/// A day's own value, computed only from the readings of that day.
public struct MeasuredDay: Hashable, Sendable {
    /// The local day, in days since 1970-01-01.
    public var day: Int32
    /// In the type's canonical unit, as the readings have it.
    public var value: Double

    /// Creates a day's value without checking it.
    public init(day: Int32, value: Double) { (self.day, self.value) = (day, value) }
}

/// One day's readings under the rules of a series that is not a sum.
struct DayOfReadings {
    let readings: ArraySlice<Reading>
    let rules: SeriesRules
    /// The readings of the next day, if values are weighted by how long they held.
    var following: ArraySlice<Reading> = []

    /// The readings that count, in order: those of the preferred source, without mirrors.
    var counting: [Reading] {
        var counting = Array(readings)
        if let wanted { counting.removeAll { !wanted.contains($0.source) } }
        guard let tolerance = rules.mirrorTolerance else { return counting }
        var kept: [Reading] = []
        for reading in counting {
            let isMirror = kept.reversed().prefix { reading.time - $0.time <= SeriesRules.mirrorTime }.contains {
                $0.source != reading.source && abs($0.value - reading.value) <= tolerance
            }
            if !isMirror { kept.append(reading) }
        }
        return kept
    }

    /// The preferred sources that alone count for this day; `nil` if all sources count.
    private var wanted: Set<Int32>? {
        rules.preferred.first { wanted in readings.contains { wanted.contains($0.source) } }
    }

    /// Whether there is nothing to choose from; this usual case allocates no memory.
    private var isPlain: Bool {
        guard rules.preferred.isEmpty, let first = readings.first else { return false }
        return readings.allSatisfy { $0.source == first.source }
    }

    /// `nil` if there are no readings.
    var value: Double? { isPlain ? value(of: readings) : value(of: counting[...]) }

    private func value(of readings: ArraySlice<Reading>) -> Double? {
        rules.aggregator == .weightedMean && readings.count > 1
            ? weightedMean(of: readings) : DayOfReadings.value(of: readings, rules.aggregator)
    }

    /// The value of readings that all count equally.
    ///
    /// - Parameter readings: sorted, so that the value does not depend on when they arrived.
    static func value(of readings: ArraySlice<Reading>, _ aggregator: Aggregator) -> Double? {
        guard let first = readings.first?.value, let last = readings.last?.value else { return nil }
        switch aggregator {
        case .first: return first
        case .last: return last
        case .minimum: return readings.reduce(first) { min($0, $1.value) }
        case .maximum: return readings.reduce(first) { max($0, $1.value) }
        case .mean: return readings.count > 1 ? mean(of: readings) : first
        case .weightedMean where readings.count == 1: return first
        case .weightedMean: preconditionFailure("the later readings determine how long a value held")
        case .median:
            let values = readings.map(\.value).sorted()
            let middle = values.count / 2
            // Halve before adding: the sum of two doubles near the maximum would overflow.
            return values.count % 2 == 1 ? values[middle] : values[middle - 1] / 2 + values[middle] / 2
        case .sum: preconditionFailure("a sum is made of all readings that reach into a day")
        }
    }

    private static func mean(of readings: ArraySlice<Reading>) -> Double? {
        // The same calculation as `ExactSum.rounded`, combined with the pass that is needed anyway.
        var (low, high, sum, left) = (Double.infinity, -Double.infinity, 0.0, 0.0)
        var isExact = true
        for index in readings.indices {
            let value = readings[index].value
            (low, high) = (min(low, value), max(high, value))
            let next = sum + value
            let part = next - sum
            let missing = (sum - (next - part)) + (value - part)
            let all = left + missing
            let small = all - left
            isExact = (left - (all - small)) + (missing - small) == 0 && isExact
            (sum, left) = (next, all)
        }
        sum += left
        if !isExact || !sum.isFinite { sum = ExactSum.rounded(of: readings.lazy.map(\.value)) ?? .infinity }
        // Rounding must not leave the range of the measured values: the mean of three times 80.1 is 80.1.
        return max(low, min(high, sum / Double(readings.count)))
    }

    private func weightedMean(of readings: ArraySlice<Reading>) -> Double? {
        var tally = Tally()
        var (begin, next): (Int64?, Int64?) = (nil, end(after: readings))
        for reading in readings.reversed() {
            // Readings at the same instant hold equally long.
            if let begin, begin > reading.time { next = begin }
            begin = reading.time
            let level = Level(
                number: reading.number, start: reading.time, end: reading.end, value: reading.value, rank: 0)
            tally.add(level, .discreteTemporallyWeighted, until: next)
        }
        return tally.average(.discreteTemporallyWeighted)
    }

    /// The latest end of the last reading's value: the start of the first later reading on the next day.
    private func end(after readings: ArraySlice<Reading>) -> Int64? {
        guard let last = readings.last else { return nil }
        let wanted = wanted
        return following.lazy.filter { wanted?.contains($0.source) ?? true }.map(\.time).first { $0 > last.time }
    }
}
