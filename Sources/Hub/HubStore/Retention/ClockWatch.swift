/// Decides whether the hub's clock may be used for removing old records.
///
/// A clock that is ahead would cause young records to be removed permanently.
///
/// The expected time is the last trusted time plus the time passed since. A clock that is up to a day ahead of it is trusted too. Beyond that, only a
/// person knows whether the clock is wrong or the hub was off for that long, because a wrong clock can stay wrong.
public struct ClockWatch: Sendable {
    private static let margin = Filter.dayLength

    /// The trusted time when ``HubClock/steadyNow()`` was `steady`.
    private var time, steady: Int64

    /// - Parameters:
    ///   - believed: when the clock was last trusted, or if never, when the newest record was stored.
    ///   - steady: microseconds of a clock that is never set.
    public init(believed: Int64, steady: Int64) { (time, self.steady) = (believed, steady) }

    /// How many microseconds the clock is ahead, if that is too much for removing records; `nil` if the clock is trusted.
    public func lead(now: Int64, steady: Int64) -> Int64? {
        let lead = now - time - (steady - self.steady)
        return lead > Self.margin ? lead : nil
    }

    /// Whether the clock has gone back too far for the earlier trusted time to be correct.
    ///
    /// Keeping it would allow any lead up to that time.
    public func isBehind(now: Int64, steady: Int64) -> Bool { now - time - (steady - self.steady) < -Self.margin }

    /// Trusts the clock.
    public mutating func trust(now: Int64, steady: Int64) { (time, self.steady) = (now, steady) }
}
