/// Says whether the hub's clock may decide that records are old: one that is ahead would have young records removed for good.
///
/// The time is expected to be that at which the clock was believed last, and what has passed since: at most a day more is believed too. Beyond
/// that only a person knows whether the clock is wrong or the hub was off for so long, for a wrong clock can stay wrong.
public struct ClockWatch: Sendable {
    private static let margin = Filter.dayLength

    /// What the clock showed, or should have shown, when ``HubClock/steadyNow()`` was `steady`.
    private var time, steady: Int64

    /// - Parameters:
    ///   - believed: when the clock was believed last, or before that when the newest record was stored.
    ///   - steady: microseconds of a clock that is never set.
    public init(believed: Int64, steady: Int64) { (time, self.steady) = (believed, steady) }

    /// By how many microseconds the clock is too far ahead for any record to be removed; `nil` when it is believed.
    public func lead(now: Int64, steady: Int64) -> Int64? {
        let lead = now - time - (steady - self.steady)
        return lead > Self.margin ? lead : nil
    }

    /// Whether the clock has gone back so far that what was believed before cannot have been right: it would let any lead up to that time pass.
    public func isBehind(now: Int64, steady: Int64) -> Bool { now - time - (steady - self.steady) < -Self.margin }

    /// Takes the clock for right.
    public mutating func trust(now: Int64, steady: Int64) { (time, self.steady) = (now, steady) }
}
