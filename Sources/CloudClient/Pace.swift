public import PluginKit

/// The time a client waits in: the hub's clock, so that a simulated month passes in a minute.
public struct Pace: Sendable {
    /// Microseconds since 1970; goes back or ahead where the machine's clock is set.
    public let now: @Sendable () -> Int64
    /// Microseconds from some beginning, as long as those of `now`, whatever is done to the machine's clock: what waits are measured by.
    public let steady: @Sendable () -> Int64
    private let pause: @Sendable (Duration) async throws -> Void
    let chance: @Sendable () -> Double

    /// The hub's clock as it is at each moment.
    public init(_ clock: @escaping @Sendable () -> HubClock) {
        self.init(
            now: { clock().now() }, steady: { clock().steadyNow() },
            pause: { try await Task.sleep(for: clock().realDuration(forVirtual: $0)) },
            chance: { Double.random(in: 0..<1) })
    }

    public init(_ hub: PluginContext) { self.init { hub.clock } }

    public init(_ hub: CheckContext) { self.init { hub.clock } }

    /// A time of one's own, for tests.
    /// - Parameters:
    ///   - pause: returns when that much time has passed by `steady`; throws when its task is cancelled.
    ///   - chance: evenly from 0 to 1, without the 1.
    public init(
        now: @escaping @Sendable () -> Int64, steady: @escaping @Sendable () -> Int64,
        pause: @escaping @Sendable (Duration) async throws -> Void, chance: @escaping @Sendable () -> Double
    ) {
        (self.now, self.steady, self.pause, self.chance) = (now, steady, pause, chance)
    }

    /// Waits by the hub's clock; a wait of any length, because services name any.
    /// - Throws: `CancellationError`.
    public func wait(_ time: Duration) async throws {
        try await pause(min(max(time, .zero), .seconds(366 * 86_400)))
    }
}

extension BackOff {
    /// Counts a failure, and says how long to wait after it.
    mutating func next(_ pace: Pace) -> Duration { next(chance: pace.chance()) }
}

/// A rest after a failure, longer each time, in which something is not tried; one that a clock which is set makes neither longer nor shorter.
public struct FailureRest: Sendable {
    private var backOff: BackOff
    /// By ``Pace/steady``.
    private var rest: (since: Int64, until: Int64)?

    public init(_ backOff: BackOff) { self.backOff = backOff }

    /// Also where a session with another hub has brought a clock that began elsewhere.
    public func isOver(_ pace: Pace) -> Bool {
        let now = pace.steady()
        return rest.map { now >= $0.until || now < $0.since } ?? true
    }

    public mutating func begin(_ pace: Pace) {
        let now = pace.steady()
        rest = (now, now + backOff.next(pace).wholeMicroseconds)
    }

    /// After a success.
    public mutating func reset() {
        backOff.reset()
        rest = nil
    }
}
