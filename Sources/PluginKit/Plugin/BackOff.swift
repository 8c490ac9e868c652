/// Waits that grow from one failure to the next.
public struct BackOff: Hashable, Sendable {
    /// The wait after the first failure.
    public let first: Duration
    /// How many times as long each wait is as the one before.
    public let factor: Double
    /// What no wait is longer than.
    public let longest: Duration
    /// What part of it is waited at least and at most, by chance: those who failed together shall not come back together.
    public let spread: ClosedRange<Double>
    /// Failures one after the other.
    public private(set) var failures = 0

    /// Waits that begin with `first` and grow by `factor` until `longest`.
    ///
    /// By default 1, 3, 9, 27 and then 60 seconds, each cut by chance to not less than the half.
    public init(
        first: Duration = .seconds(1), factor: Double = 3, longest: Duration = .seconds(60),
        spread: ClosedRange<Double> = 0.5...1
    ) {
        (self.first, self.factor, self.longest, self.spread) = (first, factor, longest, spread)
    }

    /// Counts a failure, and says how long to wait after it.
    /// - Parameter chance: from 0, for the longest wait of the spread, to 1.
    public mutating func next(chance: Double = .random(in: 0..<1)) -> Duration {
        failures += 1
        return wait(after: failures, chance: chance)
    }

    /// How long to wait after so many failures, for a caller that counts them itself.
    public func wait(after failures: Int, chance: Double = .random(in: 0..<1)) -> Duration {
        var (wait, left) = (min(first, longest), failures - 1)
        while left > 0, wait < longest {
            wait = min(wait * factor, longest)
            left -= 1
        }
        return wait * (spread.upperBound - chance * (spread.upperBound - spread.lowerBound))
    }

    /// After a success the next failure is the first again.
    public mutating func reset() { failures = 0 }
}
