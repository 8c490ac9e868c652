#if canImport(Glibc)
    import Glibc
#endif

public import Samples

/// What was measured in a span of time, kept so that spans can be added up: a month's is its days', to the last bit.
public struct Tally: Sendable, Hashable {
    /// A reading as it was measured.
    public struct Reading: Hashable, Sendable {
        public var number: Int64
        /// In microseconds since 1970.
        public var start, end: Int64
        public var value: Double

        /// Whether it ended later; of those that ended together, began later; else has the higher number.
        func isLater(than other: Reading) -> Bool {
            (end, start, number) > (other.end, other.start, other.number)
        }
    }

    /// The records that begin in the span, also those that count for nothing because a better source's do.
    public internal(set) var count = 0
    /// When the first of them begins.
    public internal(set) var first: Int64?
    /// The one of them that ends last.
    public internal(set) var latest: Reading?
    /// Whether anything counts: the sum of zeros is zero, and of nothing it is `nil`.
    public internal(set) var isCounted = false
    /// For how long something counts, in microseconds, of a type that is added up.
    public internal(set) var duration: Int64 = 0
    public internal(set) var minimum, maximum: Double?
    var sum = ExactSum()
    var weights = ExactSum()

    public init() {}

    /// The longest that a value is taken to hold without another, in microseconds.
    public static let holdTime: Int64 = 300_000_000
    /// The longest that a sample holds by its own length.
    public static let longestHold: Int64 = 86_400_000_000

    /// The sum of a type that is added up; `nil` where nothing counts, or where it is beyond all doubles.
    public var total: Double? { isCounted ? sum.rounded : nil }

    /// The mean of a type that is not added up; `nil` where nothing was measured.
    public func average(_ style: AggregationStyle) -> Double? {
        guard let minimum, let maximum else { return nil }
        let mean = (sum.rounded ?? .infinity) / (weights.rounded ?? 1)
        let average = style == .discreteEquivalentContinuousLevel ? 10 * log10(mean) : mean
        // Rounding must not lead out of what was measured: three times 80.1 is 80.1.
        return max(minimum, min(maximum, average))
    }

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

    /// Notes a record that begins in the span.
    mutating func note(_ reading: Reading) {
        count += 1
        first = min(first ?? reading.start, reading.start)
        note(latest: reading)
    }

    mutating func note(latest reading: Reading) {
        if let latest, !reading.isLater(than: latest) { return }
        latest = reading
    }

    /// Adds what counts of samples that are added up.
    mutating func add(_ counted: SourceMerge.Total) {
        isCounted = true
        sum.add(counted.sum)
        duration += counted.duration
    }

    /// Adds a level.
    ///
    /// - Parameter next: when the reading after it begins; `nil` where there is none. Those of one instant hold as long as one another.
    public mutating func add(_ level: Level, _ style: AggregationStyle, until next: Int64?) {
        note(Reading(number: level.number, start: level.start, end: level.end, value: level.value))
        isCounted = true
        minimum = min(minimum ?? level.value, level.value)
        maximum = max(maximum ?? level.value, level.value)
        let weight = style.isWeighed ? Tally.weight(of: level, until: next) : 1
        sum.add((style == .discreteEquivalentContinuousLevel ? pow(10, level.value / 10) : level.value) * weight)
        weights.add(weight)
    }

    /// For how long a value counts, in microseconds: at least one.
    private static func weight(of level: Level, until next: Int64?) -> Double {
        let most = max(holdTime, min(level.end - level.start, longestHold))
        let held = next.map { min($0 - level.start, most) } ?? most
        return Double(max(1, held))
    }
}
