import HubWire
import Samples

/// What does not change while a hub runs.
struct HubFacts: Sendable {
    let version: String
    let endpoints: HubEndpoints
    let clock: HubClock
    let policy: SessionPolicy
    /// By instance, as `hub.conf` has them.
    let instances: [String: InstancePolicy]
    /// For programs that `hub.conf` does not name.
    let strangers: InstancePolicy
    let persons: [Welcome.PersonEntry]
    let rules: PersonRules
    let storePath: String
    /// What the answer to `plugins` says of each instance.
    let catalogue: RawJSON
    /// What `hub status` says of each configured instance, to begin with.
    let plugins: [PluginStatus]
    let started: ContinuousClock.Instant

    /// The most bytes of one message: a full batch with the payloads that its credit allows.
    var largestMessage: Int { policy.credit.bytes + policy.limits.frameBytes }
}

/// Where a hub is reached.
public struct HubEndpoints: Hashable, Sendable {
    /// The owner's door and feed: no log-in, guarded by the mode of their directory.
    public let door, feed: String
    /// The plugins' door and feed: log-in by launch token.
    public let pluginDoor, pluginFeed: String

    /// - Parameter run: the hub's run directory.
    public init(run: String) {
        door = "ipc://\(run)/door"
        feed = "ipc://\(run)/feed"
        pluginDoor = "ipc://\(run)/plugin-door"
        pluginFeed = "ipc://\(run)/plugin-feed"
    }
}

extension ContinuousClock.Instant {
    /// Whole milliseconds since `start`.
    func millisecondsSinceStart(_ start: ContinuousClock.Instant) -> Int64 {
        Int64(start.duration(to: self) / .milliseconds(1))
    }
}
