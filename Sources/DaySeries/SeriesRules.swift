/// How the readings of a day become one number.
public enum Aggregator: String, Hashable, Sendable, CaseIterable {
    /// The plain mean, each reading as much as any other: the sum is exact, and is rounded once.
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
    /// The mean weighted by how long each value held, as statistics have it: until the next reading, and for five minutes at most.
    ///
    /// Of what is measured more often when it is high, such as a heart rate, a plain mean would be too high.
    case weightedMean
    /// Of cumulative types, such as steps: never carried. Several sources are merged as statistics merge them.
    case sum
}

/// What makes a series of day values; each different set of rules has a name of its own.
public struct SeriesRules: Hashable, Sendable {
    /// The most days that a value may stand for, its own included.
    public static let mostDays = 30

    /// How the readings of one day become its value.
    public var aggregator: Aggregator
    /// For how many days a value stands, its own included: 30 carries it over the 29 that follow, 1 over none.
    public var days: Int
    /// From this day on nothing is carried that was measured before it: the scale was given away.
    public var carriesUntil: Int32?
    /// Sources that are wanted, the best first.
    ///
    /// Of a day the first that has readings counts alone; all sources where none of these has any. Not of a sum.
    public var preferred: [Set<Int32>] = []
    /// The places of the sources, the best first; one that has none comes last.
    ///
    /// They decide a sum, and which of several readings counts that are one event.
    public var ranks: [Int32: Int] = [:]
    /// Two readings of different sources within a minute that differ by no more are one, which came two ways; `nil`: they never are.
    public var mirrorTolerance: Double?

    /// Rules under which all sources count.
    ///
    /// - Parameters:
    ///   - aggregator: how the readings of one day become its value.
    ///   - days: 1…``mostDays``; other numbers trap. A sum always has 1.
    ///   - mirrorTolerance: how far two ways of one reading may differ, in the type's unit; a sum always has `nil`.
    public init(_ aggregator: Aggregator, days: Int = SeriesRules.mostDays, mirrorTolerance: Double? = nil) {
        precondition((1...Self.mostDays).contains(days), "a value stands for 1 to \(Self.mostDays) days")
        self.aggregator = aggregator
        self.days = aggregator == .sum ? 1 : days
        self.mirrorTolerance = aggregator == .sum ? nil : mirrorTolerance
    }

    /// The name of the series: `mean30`, `median7`, and `mean` or `sum` where nothing is carried.
    public var name: String { days > 1 ? "\(aggregator.rawValue)\(days)" : aggregator.rawValue }

    /// Microseconds between two readings that may be one.
    static let mirrorTime: Int64 = 60_000_000
}
