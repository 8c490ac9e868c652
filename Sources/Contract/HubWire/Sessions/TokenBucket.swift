/// A token bucket: it lets a burst pass, and then a steady rate.
///
/// Times are monotonic milliseconds. Only whole numbers are used: a token takes `period` milliseconds, and `level` counts `period`ths of a token.
public struct TokenBucket: Hashable, Sendable {
    private let period: Int64
    /// Tokens added in each `period`.
    private let rate: Int64
    /// Maximum level, in the units of ``level``.
    private let size: Int64
    /// Negative after more tokens were taken than available.
    private var level: Int64
    private var filledAt: Int64
    /// How many requests for a token were refused since the last `takeRefused`.
    public private(set) var refused = 0

    /// Creates a full bucket.
    /// - Parameters:
    ///   - size: the largest burst, in tokens.
    ///   - rate: how many tokens are added in `period` milliseconds.
    public init(size: Int, rate: Int, in period: Int64 = 1_000, now: Int64) {
        (self.period, self.rate, self.size) = (period, Int64(rate), Int64(size) * period)
        (level, filledAt) = (self.size, now)
    }

    /// Takes a token if one is available; counts a refusal if not.
    public mutating func take(at now: Int64) -> Bool {
        fill(at: now)
        guard level >= period else {
            refused += 1
            return false
        }
        level -= period
        return true
    }

    /// Takes `count` tokens, even if fewer are available.
    ///
    /// - Returns: the milliseconds until the missing tokens have been added.
    public mutating func take(_ count: Int, at now: Int64) -> Int64 {
        fill(at: now)
        level -= Int64(count) * period
        return level >= 0 ? 0 : (-level + rate - 1) / rate
    }

    /// Returns the number of refusals, and resets it to zero.
    public mutating func takeRefused() -> Int {
        defer { refused = 0 }
        return refused
    }

    private mutating func fill(at now: Int64) {
        // A day fills any bucket; a longer time could overflow.
        let elapsed = min(max(0, now - filledAt), 86_400_000)
        level = min(size, level + elapsed * rate)
        filledAt = max(filledAt, now)
    }
}
