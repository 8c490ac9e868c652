import HubWire

/// The time that waits are measured in: the hub's own when it starts, from then on as even as the machine's monotonic clock.
///
/// A clock that is set, by hand or by the network, makes no wait longer or shorter. Any thread.
struct WaitClock: Sendable {
    private let clock: HubClock
    private let start: Int64
    private let origin = ContinuousClock.now

    init(_ clock: HubClock) { (self.clock, start) = (clock, clock.now()) }

    /// In microseconds.
    func now() -> Int64 {
        // Nothing sets a simulated clock.
        guard clock == .system else { return clock.now() }
        let (seconds, attoseconds) = origin.duration(to: .now).components
        return start + seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// What the hub's clock will show when a wait is over, as it goes now: for people.
    func shown(_ instant: Int64) -> Int64 { instant - now() + clock.now() }
}
