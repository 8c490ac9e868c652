public import PluginKit

/// The clock that a client waits by: the hub's, so that a simulated month passes in a minute.
public struct ClientClock: Sendable {
    /// Microseconds since 1970; jumps if the machine's clock is set.
    public let now: @Sendable () -> Int64
    /// Microseconds since an arbitrary start, at the speed of `now` but unaffected by changes of the machine's clock.
    ///
    /// Waits are measured with it.
    public let steady: @Sendable () -> Int64
    private let pause: @Sendable (Duration) async throws -> Void
    let chance: @Sendable () -> Double

    /// The hub's clock, read at each use.
    public init(_ clock: @escaping @Sendable () -> HubClock) {
        self.init(
            now: { clock().now() }, steady: { clock().steadyNow() },
            pause: { try await Task.sleep(for: clock().realDuration(forVirtual: $0)) },
            chance: { Double.random(in: 0..<1) })
    }

    public init(_ hub: PluginContext) { self.init { hub.clock } }

    public init(_ hub: CheckContext) { self.init { hub.clock } }

    /// A custom clock for tests.
    /// - Parameters:
    ///   - pause: returns after that time by `steady`; throws if its task is cancelled.
    ///   - chance: a random number, evenly distributed from 0 to 1, without the 1.
    public init(
        now: @escaping @Sendable () -> Int64, steady: @escaping @Sendable () -> Int64,
        pause: @escaping @Sendable (Duration) async throws -> Void, chance: @escaping @Sendable () -> Double
    ) {
        (self.now, self.steady, self.pause, self.chance) = (now, steady, pause, chance)
    }

    /// Waits by the hub's clock; accepts any duration, because services may name any.
    /// - Throws: `CancellationError`.
    public func wait(_ time: Duration) async throws {
        try await pause(min(max(time, .zero), .seconds(366 * 86_400)))
    }
}

extension BackOff {
    /// Counts a failure and returns the wait after it.
    mutating func next(_ pace: ClientClock) -> Duration { next(chance: pace.chance()) }
}

/// A pause after a failure, longer each time; setting the machine's clock does not change its length.
public struct RetryDelay: Sendable {
    private var backOff: BackOff
    /// Measured by ``ClientClock/steady``.
    private var rest: (since: Int64, until: Int64)?

    public init(_ backOff: BackOff) { self.backOff = backOff }

    /// Whether the pause is over.
    ///
    /// Also true before its start, because a session with another hub may bring a clock with another origin.
    public func isOver(_ pace: ClientClock) -> Bool {
        let now = pace.steady()
        return rest.map { now >= $0.until || now < $0.since } ?? true
    }

    public mutating func begin(_ pace: ClientClock) {
        let now = pace.steady()
        rest = (now, now + backOff.next(pace).wholeMicroseconds)
    }

    /// Call it after a success.
    public mutating func reset() {
        backOff.reset()
        rest = nil
    }
}
