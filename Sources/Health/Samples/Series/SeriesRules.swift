/// How the readings of a day are combined into one number.
public enum Aggregator: String, Hashable, Sendable, CaseIterable {
    /// The plain mean, with equal weights: the sum is exact and is rounded once.
    case mean
    /// The middle reading by value, or the mean of the two in the middle.
    case median
    /// The earliest reading of the day.
    case first
    /// The latest reading of the day.
    case last
    /// The smallest value.
    case minimum
    /// The largest value.
    case maximum
    /// The mean weighted by the time each value held, as in statistics: until the next reading, and for at most five minutes.
    ///
    /// A plain mean would be too high for types that are measured more often while they are high, such as a heart rate.
    case weightedMean
    /// The sum, for cumulative types such as steps. It is never carried, and several sources are merged as in statistics.
    case sum
}

/// The rules of a series of day values; each different set of rules has a different name.
public struct SeriesRules: Hashable, Sendable {
    /// Maximum number of days that a value stands for, including its own.
    public static let maximumDays = 30

    /// How the readings of one day are combined into its value.
    public var aggregator: Aggregator
    /// Number of days that a value stands for, including its own: 30 carries it over the following 29 days, 1 carries it over none.
    public var days: Int
    /// Values measured before this day are not carried to it or beyond, for example because the scale was given away.
    public var carriesUntil: Int32?
    /// Preferred sources, the best first.
    ///
    /// For each day, only the first preferred source with readings counts. If none has readings, all sources count. Sums ignore this.
    public var preferred: [Set<Int32>] = []
    /// The ranks of the sources, the best first; sources without a rank come last.
    ///
    /// They decide how a sum is merged, and which of several mirrored readings counts.
    public var ranks: [Int32: Int] = [:]
    /// Two readings of different sources within a minute that differ by at most this are one reading; with `nil`, they never are.
    public var mirrorTolerance: Double?

    /// Creates rules under which all sources count.
    ///
    /// - Parameters:
    ///   - aggregator: how the readings of one day are combined into its value.
    ///   - days: 1…``maximumDays``; other numbers trap. A sum always has 1.
    ///   - mirrorTolerance: the maximum difference between two copies of one reading, in the type's unit; a sum always has `nil`.
    public init(_ aggregator: Aggregator, days: Int = SeriesRules.maximumDays, mirrorTolerance: Double? = nil) {
        precondition((1...Self.maximumDays).contains(days), "a value stands for 1 to \(Self.maximumDays) days")
        self.aggregator = aggregator
        self.days = aggregator == .sum ? 1 : days
        self.mirrorTolerance = aggregator == .sum ? nil : mirrorTolerance
    }

    /// The name of the series: `mean30`, `median7`, or `mean` or `sum` if nothing is carried.
    public var name: String { days > 1 ? "\(aggregator.rawValue)\(days)" : aggregator.rawValue }

    /// Maximum time between two readings that may be the same reading, in microseconds.
    static let mirrorTime: Int64 = 60_000_000
}
