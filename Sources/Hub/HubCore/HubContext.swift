import HealthText
import HubSettings
import HubStore
import HubWire
import Samples

/// The facts that a hub runs with.
///
/// A `var` follows `hub.conf` while the hub runs (``Door/adopt(_:ending:)``); the rest holds until the hub ends.
struct HubContext: Sendable {
    let version: String
    let endpoints: HubEndpoints
    let clock: HubClock
    /// The clock for waits, used for sinks that ask for a later retry.
    let waits: WaitClock
    let policy: SessionPolicy
    /// The network endpoint for plugins on other machines; `nil` if there is none.
    let network: Network.Setting?
    /// By instance, as in `hub.conf`.
    var instances: [String: InstancePolicy]
    /// The policy for programs that `hub.conf` does not name.
    var strangers: InstancePolicy
    /// As in `hub.conf`.
    var persons: [HubPerson]
    /// Names and uids of all persons that the store knows: their records can be queried even after `hub.conf` has lost the name.
    var knownPersons: Set<String>
    var rules: PersonRules
    let storePath: String
    /// The files of the plugins' logs.
    let logs: PluginLogFiles
    /// The answer to `plugins` about each instance.
    var catalogue: RawJSON
    /// The initial status of each configured instance.
    var plugins: [PluginStatus]
    let started: ContinuousClock.Instant

    /// The retention rules.
    var retention: [RetentionRule]

    /// The priorities of sources.
    var priorities: [PrioritySection]

    /// Bytes at which the hub ends; `nil` for no limit.
    var memoryLimit: Int?
    /// The set-up, if there is no `hub.conf` yet.
    var setup: (any SetupService)?
    /// Maximum credit of all sessions together; it bounds the memory for records that are not stored yet.
    var totalCredit: Int? { memoryLimit.map { $0 / 2 } }
    /// Maximum bytes that may wait for one listener of a feed that does not read.
    var maximumFeedBytes: Int { max(8 << 20, (memoryLimit ?? 1 << 30) / 16) }

    /// The persons of `hub.conf` by name.
    var personsByName: [String: HubPerson] { Dictionary(persons.map { ($0.name, $0) }) { first, _ in first } }

    /// The reading rights of an instance; none if `hub.conf` does not name it.
    func reading(of instance: String) -> ReadGrant {
        instances[instance].map { ReadGrant($0, of: instance) } ?? .nothing(instance)
    }

    /// The reading rights of the instances that run on a schedule.
    var watchers: [ReadGrant] {
        plugins.filter { $0.enabled && $0.run != nil }.map { reading(of: $0.name) }
    }

    /// Maximum bytes of one message: a full batch with the payloads that its credit allows.
    var largestMessage: Int { policy.credit.bytes + policy.limits.frameBytes }

    /// Whether a WELCOME to `instance` would be the same.
    func isEquivalent(as other: HubContext, to instance: String) -> Bool {
        let (mine, others) = (instances[instance] ?? strangers, other.instances[instance] ?? other.strangers)
        return mine == others && visiblePersons(mine, instance) == other.visiblePersons(others, instance)
    }

    /// The persons in the WELCOME to an instance with this policy.
    func visiblePersons(_ policy: InstancePolicy, _ instance: String) -> [Welcome.PersonEntry] {
        persons.filter { policy.persons?.contains($0.name) ?? true }.map { person in
            var entry = person.entry(for: instance, withProfile: policy.seesProfiles)
            guard policy.grants.read.allows(person: person.name) else { return entry }
            entry.priority = priorities.compactMap { $0.order(of: person.name, readable: policy.grants.read.types) }
            return entry
        }
    }

    /// The person of `hub.conf` with a typed name or uid (R8.63).
    ///
    /// - Parameters:
    ///   - argument: the argument that contains the name.
    ///   - allowed: the persons to choose from; `nil` for all.
    func person(_ typed: String, in argument: String, allowed: [String]?) throws(OwnCommandFailure) -> Person {
        let candidates = persons.filter { allowed?.contains($0.name) ?? true }
        if let person = rules.person(named: candidates.named(typed)?.name ?? typed, allowed: allowed) { return person }
        throw OwnCommandFailure(
            "person", "\(argument): hub.conf has no person \"\(typed.prefix(64))\"; \(candidates.advice(on: typed))")
    }

    /// The known name that a typed one means, including former persons (R8.63); `nil` if there is none.
    ///
    /// - Parameter allowed: the persons to choose from; `nil` for all.
    func knownName(_ typed: String, allowed: Set<String>? = nil) -> String? {
        let pool = allowed ?? knownPersons
        if pool.contains(typed) { return typed }
        if let person = persons.filter({ pool.contains($0.name) }).named(typed) { return person.name }
        let folded = PersonName.folded(typed)
        let former = pool.filter { PersonName.folded($0) == folded }
        return former.count == 1 ? former.first : nil
    }

    /// The order of sources of a type for a person, from the first section that covers both.
    func priority(of type: TypeID, _ person: String) -> [String] {
        priorities.sources(of: type, person)
    }
}

extension PrioritySection {
    /// The order for a reader of these types; `nil` if the section covers none of them, or other persons.
    fileprivate func order(of person: String, readable: [String]) -> Welcome.SourceOrder? {
        guard persons?.contains(person) ?? true else { return nil }
        guard let types else { return readable.isEmpty ? nil : Welcome.SourceOrder(sources: sources) }
        let read = types.map(\.rawValue).filter { readable.contains("*") || readable.contains($0) }
        return read.isEmpty ? nil : Welcome.SourceOrder(types: read, sources: sources)
    }
}

/// A person of `hub.conf`.
struct HubPerson: NamedPerson, Sendable, Hashable {
    let name: String
    let displayName: String?
    let zone: String
    let locale: String?
    /// The units in which the person reads types, if they differ from the usual ones.
    let units: [String: String]
    /// Without a slot, because that differs between instances.
    private let profile: PersonProfile
    private let slots: [String: Int]

    /// - Parameters:
    ///   - uid: the permanent name of the person.
    ///   - zone: the zone of persons without their own.
    init(_ section: PersonSection, uid: String, zone: String) {
        (name, displayName) = (section.name, section.displayName)
        (self.zone, slots) = (section.zone ?? zone, section.slots)
        locale = section.locale
        units = Dictionary(uniqueKeysWithValues: section.reader.ownUnits.map { ($0.key.rawValue, $0.value) })
        profile = PersonProfile(
            uid: uid, unit: section.unit, height: section.height, sex: section.sex,
            birthDate: section.birthDate, athlete: section.athlete)
    }

    /// The values of `hub.conf` that records can contain too.
    var characteristics: [TypeID: String] {
        var said: [TypeID: String] = [:]
        said[.biologicalSex] = profile.sex?.rawValue
        said[.dateOfBirth] = profile.birthDate?.text
        return said
    }

    func entry(for instance: String, withProfile: Bool) -> Welcome.PersonEntry {
        var entry = Welcome.PersonEntry(
            name: name, displayName: displayName, zone: zone, locale: locale, units: units)
        guard withProfile else { return entry }
        entry.profile = profile
        entry.profile?.slot = slots[instance]
        return entry
    }
}

/// The addresses of a hub.
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
        // Called for every message; dividing `Duration` by `Duration` would cost more than the rest of the admission.
        let (seconds, attoseconds) = start.duration(to: self).components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }
}
