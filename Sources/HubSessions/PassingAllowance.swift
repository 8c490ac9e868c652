/// How many LIVE and EVENT a session may still send: a token bucket of one second's size (R5.8).
public struct PassingAllowance: Hashable, Sendable {
    private let perSecond: Int64
    /// In thousandths of a message.
    private var tokens: Int64
    private var filledAt: Int64
    /// How many messages were beyond it.
    public private(set) var dropped = 0

    /// - Parameter now: monotonic milliseconds.
    public init(perSecond: Int, now: Int64) {
        (self.perSecond, tokens, filledAt) = (Int64(perSecond), Int64(perSecond) * 1_000, now)
    }

    /// Whether one more message is within the allowance; counts it as dropped if not.
    public mutating func take(now: Int64) -> Bool {
        let elapsed = min(max(0, now - filledAt), 1_000)
        tokens = min(perSecond * 1_000, tokens + elapsed * perSecond)
        filledAt = max(filledAt, now)
        guard tokens >= 1_000 else {
            dropped += 1
            return false
        }
        tokens -= 1_000
        return true
    }
}
