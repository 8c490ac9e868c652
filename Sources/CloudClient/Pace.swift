public import PluginKit

/// The time a client waits in: the hub's clock, so that a simulated month passes in a minute.
public struct Pace: Sendable {
    /// Microseconds since 1970.
    public let now: @Sendable () -> Int64
    private let pause: @Sendable (Duration) async throws -> Void
    private let chance: @Sendable () -> Double

    /// The hub's clock as it is at each moment.
    public init(_ clock: @escaping @Sendable () -> HubClock) {
        self.init(
            now: { clock().now() }, pause: { try await Task.sleep(for: clock().realDuration(forVirtual: $0)) },
            chance: { Double.random(in: 0..<1) })
    }

    public init(_ hub: PluginContext) { self.init { hub.clock } }

    public init(_ hub: CheckContext) { self.init { hub.clock } }

    /// A time of one's own, for tests.
    /// - Parameters:
    ///   - pause: returns when that much time has passed by `now`; throws when its task is cancelled.
    ///   - chance: evenly from 0 to 1, without the 1.
    public init(
        now: @escaping @Sendable () -> Int64, pause: @escaping @Sendable (Duration) async throws -> Void,
        chance: @escaping @Sendable () -> Double
    ) {
        (self.now, self.pause, self.chance) = (now, pause, chance)
    }

    /// Waits by the hub's clock; a wait of any length, because services name any.
    /// - Throws: `CancellationError`.
    public func wait(_ time: Duration) async throws {
        try await pause(min(max(time, .zero), .seconds(366 * 86_400)))
    }

    /// `time`, or up to half of it less, so that those who failed together do not come back together.
    func jittered(_ time: Duration) -> Duration { time * (1 - chance() / 2) }
}

/// Waits that grow from one failure to the next.
public struct BackOff: Sendable {
    public let first: Duration
    public let factor: Double
    public let longest: Duration
    private var next: Duration

    public init(first: Duration = .seconds(1), factor: Double = 3, longest: Duration = .seconds(60)) {
        (self.first, self.factor, self.longest) = (first, factor, longest)
        next = first
    }

    /// How long to wait after another failure.
    public mutating func step(_ pace: Pace) -> Duration {
        defer { next = min(next * factor, longest) }
        return pace.jittered(next)
    }

    /// Begins anew, after a success.
    public mutating func reset() { next = first }
}
