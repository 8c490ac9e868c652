/// How many lines one cause may write to the log: nobody fills the disk by being loud.
///
/// A burst goes through, then a line now and then; what was left out is counted, so that a later line can say so.
struct LogAllowance {
    private let burst: Int64
    /// Milliseconds after which one more line may be written.
    private let interval: Int64
    private var tokens: Int64
    private var filledAt: Int64
    private var omitted = 0

    /// - Parameter now: monotonic milliseconds.
    init(burst: Int64, interval: Int64, now: Int64) {
        (self.burst, self.interval, tokens, filledAt) = (burst, interval, burst, now)
    }

    /// Whether one more line may be written; counts it as left out if not.
    mutating func take(at now: Int64) -> Bool {
        let earned = max(0, now - filledAt) / interval
        filledAt += earned * interval
        tokens = min(burst, tokens + earned)
        guard tokens > 0 else {
            omitted += 1
            return false
        }
        tokens -= 1
        return true
    }

    /// How many lines were left out since this was last asked.
    mutating func takeOmitted() -> Int {
        defer { omitted = 0 }
        return omitted
    }
}
