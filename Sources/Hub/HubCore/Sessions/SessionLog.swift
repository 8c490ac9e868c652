import HubWire

/// Limits the lines that peers cause in the log: after a burst, one every ten seconds; the others are counted.
struct SessionLog {
    private var bucket = TokenBucket(size: 100, rate: 1, in: 10_000, now: 0)
    private var toldAt: Int64 = 0

    /// Whether one more line may be written.
    mutating func take(at now: Int64) -> Bool { bucket.take(at: now) }

    /// The number of omitted lines, at most once a minute; `nil` otherwise.
    mutating func omitted(at now: Int64) -> Int? {
        guard now - toldAt >= 60_000 else { return nil }
        toldAt = now
        let count = bucket.takeRefused()
        return count > 0 ? count : nil
    }
}
