/// Says whether the hub's clock may decide that records are old: one that is ahead would have young records removed for good.
///
/// The time is expected to be that at which the newest record was stored when the hub was started, and what has passed since. A clock that
/// stays ahead of that for a day is taken for right: then the hub was not running, or stored nothing, for so long.
public struct ClockWatch: Sendable {
    /// By how much the clock is ahead, and for how long it still has to stay so, in microseconds.
    public struct Doubt: Hashable, Sendable {
        public var lead: Int64
        public var remaining: Int64
    }

    private static let margin = Filter.dayLength
    private static let patience = Filter.dayLength

    /// What the clock showed, or should have shown, when ``HubClock/steadyNow()`` was `steady`.
    private var time, steady: Int64
    private var doubt: (since: Int64, lead: Int64)?

    /// - Parameters:
    ///   - newest: when the newest record was stored.
    ///   - steady: microseconds of a clock that is never set.
    public init(newest: Int64, steady: Int64) { (time, self.steady) = (newest, steady) }

    /// Why no record may be removed now; `nil` when the clock is believed.
    public mutating func doubt(now: Int64, steady: Int64) -> Doubt? {
        let lead = now - time - (steady - self.steady)
        guard lead > Self.margin else {
            doubt = nil
            return nil
        }
        if let since = doubt, abs(lead - since.lead) <= Self.margin {
            guard steady - since.since < Self.patience else {
                (time, self.steady, doubt) = (now, steady, nil)
                return nil
            }
            return Doubt(lead: lead, remaining: Self.patience - (steady - since.since))
        }
        doubt = (steady, lead)
        return Doubt(lead: lead, remaining: Self.patience)
    }
}
