/// Waiting times that grow with each consecutive failure.
public struct BackOff: Hashable, Sendable {
    /// The wait after the first failure.
    public let first: Duration
    /// The factor between one wait and the next.
    public let factor: Double
    /// The upper limit of a wait.
    public let longest: Duration
    /// The range of random factors applied to a wait, so that clients that failed together do not retry together.
    public let spread: ClosedRange<Double>
    /// The number of consecutive failures.
    public private(set) var failures = 0

    /// Creates a back-off that begins with `first` and grows by `factor` up to `longest`.
    ///
    /// The default is 1, 3, 9, 27 and then 60 seconds; each wait is shortened at random, at most by half.
    public init(
        first: Duration = .seconds(1), factor: Double = 3, longest: Duration = .seconds(60),
        spread: ClosedRange<Double> = 0.5...1
    ) {
        (self.first, self.factor, self.longest, self.spread) = (first, factor, longest, spread)
    }

    /// Counts a failure and returns the wait that follows it.
    /// - Parameter chance: from 0, for the longest wait of the spread, to 1.
    public mutating func next(chance: Double = .random(in: 0..<1)) -> Duration {
        failures += 1
        return wait(after: failures, chance: chance)
    }

    /// The wait after the given number of failures, for a caller that keeps its own count.
    public func wait(after failures: Int, chance: Double = .random(in: 0..<1)) -> Duration {
        var (wait, left) = (min(first, longest), failures - 1)
        while left > 0, wait < longest {
            wait = min(wait * factor, longest)
            left -= 1
        }
        return wait * (spread.upperBound - chance * (spread.upperBound - spread.lowerBound))
    }

    /// Resets the count after a success.
    public mutating func reset() { failures = 0 }
}
