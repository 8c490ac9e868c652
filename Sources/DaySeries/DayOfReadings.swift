/// The day's own value, of the readings of that day alone.
public struct MeasuredDay: Hashable, Sendable {
    public var day: Int32
    public var value: Double

    public init(day: Int32, value: Double) { (self.day, self.value) = (day, value) }
}

/// One day's readings under the rules of a series.
struct DayOfReadings {
    /// What becomes of them.
    enum Verdict: Hashable {
        case value(Double)
        /// Nothing counts: there are none, or none of a wanted source.
        case none
        /// Of several sources, which a sum would count twice.
        case sources(Set<Int32>)
    }

    let readings: ArraySlice<Reading>
    let rules: SeriesRules

    /// The readings that count, in their order: those of the preferred source, without what came a second time another way.
    var counting: [Reading] {
        var counting = Array(readings)
        if let wanted = rules.preferred.first(where: { wanted in readings.contains { wanted.contains($0.source) } }) {
            counting.removeAll { !wanted.contains($0.source) }
        } else if rules.aggregator == .sum, !rules.preferred.isEmpty {
            return []
        }
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

    /// Whether there is nothing to choose from, which is the usual case and costs no memory.
    private var isPlain: Bool {
        guard rules.preferred.isEmpty, let first = readings.first else { return false }
        return readings.allSatisfy { $0.source == first.source }
    }

    var verdict: Verdict {
        if isPlain { return .value(Self.value(of: readings, rules.aggregator)) }
        let counting = counting
        guard let first = counting.first else { return .none }
        if rules.aggregator == .sum, counting.contains(where: { $0.source != first.source }) {
            return .sources(Set(counting.map(\.source)))
        }
        return .value(Self.value(of: counting[...], rules.aggregator))
    }

    /// - Parameter readings: at least one, in their order, so that a sum does not depend on when they arrived.
    private static func value(of readings: ArraySlice<Reading>, _ aggregator: Aggregator) -> Double {
        let first = readings[readings.startIndex].value
        switch aggregator {
        case .first: return first
        case .last: return readings[readings.endIndex - 1].value
        case .minimum: return readings.reduce(first) { min($0, $1.value) }
        case .maximum: return readings.reduce(first) { max($0, $1.value) }
        case .sum: return readings.reduce(0) { $0 + $1.value }
        case .mean: return readings.count > 1 ? mean(of: readings) { _ in 1 } : first
        case .weightedMean: return readings.count > 1 ? weightedMean(of: readings) : first
        case .median:
            let values = readings.map(\.value).sorted()
            let middle = values.count / 2
            // Halves first: two doubles near the largest would overflow.
            return values.count % 2 == 1 ? values[middle] : values[middle - 1] / 2 + values[middle] / 2
        }
    }

    private static func mean(of readings: ArraySlice<Reading>, weight: (Int) -> Double) -> Double {
        let first = readings[readings.startIndex].value
        var (sum, weights, low, high) = (0.0, 0.0, first, first)
        for (index, reading) in zip(readings.indices, readings) {
            let weight = weight(index)
            sum += reading.value * weight
            weights += weight
            low = min(low, reading.value)
            high = max(high, reading.value)
        }
        // Rounding must not lead out of what was measured: three times 80.1 is 80.1.
        return max(low, min(high, sum / weights))
    }

    /// The last value holds for as long as any can; readings of one instant hold as long as one another.
    private static func weightedMean(of readings: ArraySlice<Reading>) -> Double {
        var weights = [Double](repeating: Double(SeriesRules.holdTime), count: readings.count)
        var next = readings.endIndex - 1
        for index in readings.indices.dropLast().reversed() {
            if readings[index].time < readings[index + 1].time { next = index + 1 }
            let held = readings[next].time - readings[index].time
            if held > 0 { weights[index - readings.startIndex] = Double(min(held, SeriesRules.holdTime)) }
        }
        return mean(of: readings) { weights[$0 - readings.startIndex] }
    }
}
