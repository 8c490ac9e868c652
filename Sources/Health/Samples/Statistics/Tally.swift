#if canImport(Glibc)
    import Glibc
#endif

/// The measurements of a span of time, stored so that spans can be added up: a month equals the sum of its days, to the last bit.
public struct Tally: Sendable, Hashable {
    /// A reading as it was measured.
    public struct Reading: Hashable, Sendable {
        /// The hub's number of the record.
        public var number: Int64
        /// In microseconds since 1970.
        public var start, end: Int64
        /// In the type's canonical unit.
        public var value: Double

        /// Whether it ended later; if the ends are equal, whether it began later or has the higher number.
        func isLater(than other: Reading) -> Bool {
            (end, start, number) > (other.end, other.start, other.number)
        }
    }

    /// The number of records that begin in the span, including those that do not count because a better source's records do.
    public internal(set) var count = 0
    /// The start of the first of these records.
    public internal(set) var first: Int64?
    /// The one of these records that has the latest end.
    public internal(set) var latest: Reading?
    /// Whether anything counts: the sum of zeros is zero, but the sum of nothing is `nil`.
    public internal(set) var isCounted = false
    /// The counted time of a cumulative type, in microseconds.
    public internal(set) var duration: Int64 = 0
    /// The smallest and the largest value of a type that is not cumulative.
    public internal(set) var minimum, maximum: Double?
    var sum = ExactSum()
    var weights = ExactSum()

    /// A tally of nothing.
    public init() {}

    /// Maximum time that a value holds without a later reading, in microseconds.
    public static let holdTime: Int64 = 300_000_000
    /// Maximum time that a sample holds because of its own length, in microseconds.
    public static let longestHold: Int64 = 86_400_000_000

    /// The sum of a cumulative type; `nil` if nothing counts, or if it is beyond the range of doubles.
    public var total: Double? { isCounted ? sum.rounded : nil }

    /// The mean of a type that is not cumulative; `nil` if nothing was measured.
    public func average(_ style: AggregationStyle) -> Double? {
        guard let minimum, let maximum else { return nil }
        let mean = (sum.rounded ?? .infinity) / (weights.rounded ?? 1)
        let average = style == .discreteEquivalentContinuousLevel ? 10 * log10(mean) : mean
        // Rounding must not leave the range of the measured values: the mean of three times 80.1 is 80.1.
        return max(minimum, min(maximum, average))
    }

    /// Adds the tally of an adjacent span.
    public mutating func add(_ other: Tally) {
        count += other.count
        first = [first, other.first].compactMap(\.self).min()
        if let reading = other.latest { note(latest: reading) }
        isCounted = isCounted || other.isCounted
        duration += other.duration
        minimum = [minimum, other.minimum].compactMap(\.self).min()
        maximum = [maximum, other.maximum].compactMap(\.self).max()
        sum.add(other.sum)
        weights.add(other.weights)
    }

    /// Records a reading that begins in the span.
    mutating func note(_ reading: Reading) {
        count += 1
        first = min(first ?? reading.start, reading.start)
        note(latest: reading)
    }

    mutating func note(latest reading: Reading) {
        if let latest, !reading.isLater(than: latest) { return }
        latest = reading
    }

    /// Adds the counted total of cumulative samples.
    mutating func add(_ counted: SourceMerge.Total) {
        isCounted = true
        sum.add(counted.sum)
        duration += counted.duration
    }

    /// Adds a level.
    ///
    /// - Parameters:
    ///   - level: the reading.
    ///   - style: how the type is aggregated.
    ///   - next: the start of the next reading; `nil` if there is none. Readings at the same instant hold equally long.
    public mutating func add(_ level: Level, _ style: AggregationStyle, until next: Int64?) {
        note(Reading(number: level.number, start: level.start, end: level.end, value: level.value))
        isCounted = true
        minimum = min(minimum ?? level.value, level.value)
        maximum = max(maximum ?? level.value, level.value)
        let weight = style.isWeighed ? Tally.weight(of: level, until: next) : 1
        sum.add((style == .discreteEquivalentContinuousLevel ? pow(10, level.value / 10) : level.value) * weight)
        weights.add(weight)
    }

    /// The time for which a value holds, in microseconds: at least one.
    private static func weight(of level: Level, until next: Int64?) -> Double {
        let most = max(holdTime, min(level.end - level.start, longestHold))
        let held = next.map { min($0 - level.start, most) } ?? most
        return Double(max(1, held))
    }
}
