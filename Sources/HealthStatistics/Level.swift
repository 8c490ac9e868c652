public import Samples

#if canImport(Glibc)
    import Glibc
#endif

/// A single reading of a type that is not added up, in the type's one unit.
public struct Level: Hashable, Sendable {
    public var number: Int64
    /// In microseconds since 1970.
    public var start: Int64
    /// Not before `start`.
    public var end: Int64
    public var value: Double
    /// The place of its source among the sources of the type, the best first.
    public var rank: Int

    public init(number: Int64, start: Int64, end: Int64, value: Double, rank: Int) {
        (self.number, self.start, self.end, self.value, self.rank) = (number, start, end, value, rank)
    }
}

/// Average, least and greatest of readings.
public struct LevelStatistic: Hashable, Sendable {
    public var count: Int
    public var average, minimum, maximum: Double

    /// The longest that a value is taken to hold without another, in microseconds.
    public static let holdTime: Int64 = 300_000_000

    /// - Parameters:
    ///   - levels: by start; at least one, else `nil`. Finite.
    ///   - following: when the reading after the last of them began; `nil` where there is none.
    public init?(_ levels: some BidirectionalCollection<Level>, _ style: AggregationStyle, following: Int64? = nil) {
        guard let first = levels.first else { return nil }
        (count, minimum, maximum) = (levels.count, first.value, first.value)
        for level in levels { (minimum, maximum) = (min(minimum, level.value), max(maximum, level.value)) }
        let weighs = style == .discreteTemporallyWeighted || style == .discreteEquivalentContinuousLevel
        var (sum, weights) = (ExactSum(), ExactSum())
        var (next, after) = (following, following)
        for level in levels.reversed() {
            // Readings of one instant hold as long as one another.
            if let start = next, start > level.start { after = start }
            next = level.start
            let weight = weighs ? LevelStatistic.weight(of: level, until: after) : 1
            let value = style == .discreteEquivalentContinuousLevel ? pow(10, level.value / 10) : level.value
            sum.add(value * weight)
            weights.add(weight)
        }
        let mean = (sum.rounded ?? .infinity) / (weights.rounded ?? 1)
        let average = style == .discreteEquivalentContinuousLevel ? 10 * log10(mean) : mean
        // Rounding must not lead out of what was measured: three times 80.1 is 80.1.
        self.average = max(minimum, min(maximum, average))
    }

    /// For how long a value counts, in microseconds: at least one.
    static func weight(of level: Level, until next: Int64?) -> Double {
        let most = max(LevelStatistic.holdTime, level.end - level.start)
        let held = next.map { min($0 - level.start, most) } ?? most
        return Double(max(1, held))
    }
}
