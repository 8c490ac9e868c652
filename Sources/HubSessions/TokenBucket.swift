/// How much of something is let through: a bucket of tokens that fills at a steady rate, so that a burst passes and then so much a second.
///
/// Times are monotonic milliseconds. Whole numbers only: where a token takes `period` milliseconds, the level counts a `period`th of one.
public struct TokenBucket: Hashable, Sendable {
    private let period: Int64
    /// Tokens that come in a `period`.
    private let rate: Int64
    /// What it holds at most.
    private let size: Int64
    /// Below zero after more was taken than was there.
    private var level: Int64
    private var filledAt: Int64
    /// How often a token was not there, since this was last taken.
    public private(set) var refused = 0

    /// A full one.
    /// - Parameters:
    ///   - size: the largest burst, in tokens.
    ///   - rate: how many tokens come in `period` milliseconds.
    public init(size: Int, rate: Int, in period: Int64 = 1_000, now: Int64) {
        (self.period, self.rate, self.size) = (period, Int64(rate), Int64(size) * period)
        (level, filledAt) = (self.size, now)
    }

    /// Takes a token, if one is there; counts it as refused if not.
    public mutating func take(at now: Int64) -> Bool {
        fill(at: now)
        guard level >= period else {
            refused += 1
            return false
        }
        level -= period
        return true
    }

    /// Takes `count` tokens, there or not.
    ///
    /// - Returns: how many milliseconds it takes until as many have come as were missing.
    public mutating func take(_ count: Int, at now: Int64) -> Int64 {
        fill(at: now)
        level -= Int64(count) * period
        return level >= 0 ? 0 : (-level + rate - 1) / rate
    }

    /// How often a token was not there since this was last asked.
    public mutating func takeRefused() -> Int {
        defer { refused = 0 }
        return refused
    }

    private mutating func fill(at now: Int64) {
        // A day fills any; more could overflow.
        let elapsed = min(max(0, now - filledAt), 86_400_000)
        level = min(size, level + elapsed * rate)
        filledAt = max(filledAt, now)
    }
}
