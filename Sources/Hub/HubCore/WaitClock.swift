import HubWire

/// The time for measuring waits: it starts with the hub's clock and then runs as steadily as the machine's monotonic clock.
///
/// Setting the clock, by hand or over the network, does not change the length of a wait. Any thread may use it.
struct WaitClock: Sendable {
    private let clock: HubClock
    private let start: Int64
    private let origin = ContinuousClock.now

    init(_ clock: HubClock) { (self.clock, start) = (clock, clock.now()) }

    /// The time in microseconds.
    func now() -> Int64 {
        // A simulated clock is never set.
        guard clock == .system else { return clock.now() }
        let (seconds, attoseconds) = origin.duration(to: .now).components
        return start + seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// The time on the hub's clock at the end of a wait, at its present speed: for people.
    func shown(_ instant: Int64) -> Int64 { instant - now() + clock.now() }
}
