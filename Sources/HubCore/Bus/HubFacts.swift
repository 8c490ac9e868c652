import HubWire
import Samples

/// What a hub runs with.
///
/// What is `var` follows `hub.conf` while the hub runs (``Bus/adopt(_:restarting:)``); the rest holds until it ends.
struct HubFacts: Sendable {
    let version: String
    let endpoints: HubEndpoints
    let clock: HubClock
    let policy: SessionPolicy
    /// Where plugins on other machines come in; `nil`: nowhere.
    let network: Network.Setting?
    /// By instance, as `hub.conf` has them.
    var instances: [String: InstancePolicy]
    /// For programs that `hub.conf` does not name.
    var strangers: InstancePolicy
    var persons: [Welcome.PersonEntry]
    var rules: PersonRules
    let storePath: String
    /// What the answer to `plugins` says of each instance.
    var catalogue: RawJSON
    /// What `hub status` says of each configured instance, to begin with.
    var plugins: [PluginStatus]
    let started: ContinuousClock.Instant

    /// What an instance may read: nothing, if `hub.conf` does not name it.
    func reading(of instance: String) -> ReadGrant {
        ReadGrant(instances[instance]?.grants.read ?? Grants.Scope(types: [], persons: []), of: instance)
    }

    /// The most bytes of one message: a full batch with the payloads that its credit allows.
    var largestMessage: Int { policy.credit.bytes + policy.limits.frameBytes }

    /// Whether a WELCOME to `instance` would be the same.
    func saysTheSame(as other: HubFacts, to instance: String) -> Bool {
        let (mine, others) = (instances[instance] ?? strangers, other.instances[instance] ?? other.strangers)
        return mine == others && visiblePersons(mine) == other.visiblePersons(others)
    }

    /// The persons that an instance of this policy is told of.
    func visiblePersons(_ policy: InstancePolicy) -> [Welcome.PersonEntry] {
        persons.filter { policy.persons?.contains($0.name) ?? true }
    }
}

/// Where a hub is reached.
public struct HubEndpoints: Hashable, Sendable {
    /// The owner's door and feed: no log-in, guarded by the mode of their directory.
    public let door, feed: String
    /// The plugins' door: log-in by launch token.
    public let pluginDoor: String
    private let run: String

    /// - Parameter run: the hub's run directory.
    public init(run: String) {
        door = "ipc://\(run)/door"
        feed = "ipc://\(run)/feed"
        pluginDoor = "ipc://\(run)/plugin-door"
        self.run = run
    }

    /// The feed of an instance: log-in by its launch token.
    func pluginFeed(_ number: Int) -> String { "ipc://\(run)/feed-\(number)" }
}

extension ContinuousClock.Instant {
    /// Whole milliseconds since `start`.
    func millisecondsSinceStart(_ start: ContinuousClock.Instant) -> Int64 {
        // Asked of every message; `Duration` divided by `Duration` costs more than all the rest of its admission.
        let (seconds, attoseconds) = start.duration(to: self).components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }
}
