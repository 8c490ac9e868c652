import HealthText
import HubSessions
import HubSettings
import HubStore
import HubWire
import Samples

/// What a hub runs with.
///
/// What is `var` follows `hub.conf` while the hub runs (``Door/adopt(_:ending:)``); the rest holds until it ends.
struct HubFacts: Sendable {
    let version: String
    let endpoints: HubEndpoints
    let clock: HubClock
    /// By which it waits, for sinks that want to be asked again later.
    let waits: WaitClock
    let policy: SessionPolicy
    /// Where plugins on other machines come in; `nil`: nowhere.
    let network: Network.Setting?
    /// By instance, as `hub.conf` has them.
    var instances: [String: InstancePolicy]
    /// For programs that `hub.conf` does not name.
    var strangers: InstancePolicy
    /// As `hub.conf` describes them.
    var persons: [HubPerson]
    /// Names and uids of everyone the store knows: what is stored of a person stays to be asked for after `hub.conf` lost the name.
    var knownPersons: Set<String>
    var rules: PersonRules
    let storePath: String
    /// Where the logs of plugins are.
    let logs: PluginLogFiles
    /// What the answer to `plugins` says of each instance.
    var catalogue: RawJSON
    /// What `hub status` says of each configured instance, to begin with.
    var plugins: [PluginStatus]
    let started: ContinuousClock.Instant

    /// How long records are kept.
    var retention: [RetentionRule]

    /// Which sources count before which.
    var priorities: [PrioritySection]

    /// At which the hub leaves; `nil` for none.
    var memoryLimit: Int?
    /// What all sessions together may have it hold, before it is stored.
    var totalCredit: Int? { memoryLimit.map { $0 / 2 } }
    /// What may wait for one listener of a feed that does not read.
    var mostFeedBytes: Int { max(8 << 20, (memoryLimit ?? 1 << 30) / 16) }

    /// What an instance may read: nothing, if `hub.conf` does not name it.
    func reading(of instance: String) -> ReadGrant {
        instances[instance].map { ReadGrant($0, of: instance) } ?? .nothing(instance)
    }

    /// What the instances that run now and then may read.
    var watchers: [ReadGrant] {
        plugins.filter { $0.enabled && $0.run != nil }.map { reading(of: $0.name) }
    }

    /// The most bytes of one message: a full batch with the payloads that its credit allows.
    var largestMessage: Int { policy.credit.bytes + policy.limits.frameBytes }

    /// Whether a WELCOME to `instance` would be the same.
    func saysTheSame(as other: HubFacts, to instance: String) -> Bool {
        let (mine, others) = (instances[instance] ?? strangers, other.instances[instance] ?? other.strangers)
        return mine == others && visiblePersons(mine, instance) == other.visiblePersons(others, instance)
    }

    /// What an instance of this policy is told of its persons.
    func visiblePersons(_ policy: InstancePolicy, _ instance: String) -> [Welcome.PersonEntry] {
        persons.filter { policy.persons?.contains($0.name) ?? true }.map { person in
            var entry = person.entry(for: instance, withProfile: policy.seesProfiles)
            guard policy.grants.read.allows(person: person.name) else { return entry }
            entry.priority = priorities.compactMap { $0.order(of: person.name, readable: policy.grants.read.types) }
            return entry
        }
    }

    /// The person of `hub.conf` whom a typed name means, or a uid [R8.63].
    ///
    /// - Parameters:
    ///   - argument: where the name stands.
    ///   - allowed: those who may be meant; `nil` for all.
    func person(_ typed: String, in argument: String, allowed: [String]?) throws(CommandFailure) -> Person {
        let candidates = persons.filter { allowed?.contains($0.name) ?? true }
        if let person = rules.person(named: candidates.named(typed)?.name ?? typed, allowed: allowed) { return person }
        throw CommandFailure(
            "person", "\(argument): hub.conf has no person \"\(typed.prefix(64))\"; \(candidates.advice(on: typed))")
    }

    /// The name whose records are meant by a typed one, also that of a former person [R8.63]; `nil` if there is none.
    ///
    /// - Parameter allowed: those who may be meant; `nil` for all.
    func knownName(_ typed: String, allowed: Set<String>? = nil) -> String? {
        let pool = allowed ?? knownPersons
        if pool.contains(typed) { return typed }
        if let person = persons.filter({ pool.contains($0.name) }).named(typed) { return person.name }
        let folded = PersonName.folded(typed)
        let former = pool.filter { PersonName.folded($0) == folded }
        return former.count == 1 ? former.first : nil
    }

    /// Which sources of a type count first for a person: of the tables the first that is for both.
    func priority(of type: TypeID, _ person: String) -> [String] {
        priorities.sources(of: type, person)
    }
}

extension PrioritySection {
    /// What who reads these types is told of it; `nil` where it is for none of them, or for other persons.
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
    /// In what the person reads a type, where that is not the usual.
    let units: [String: String]
    /// Without a slot: that is another for each instance.
    private let profile: PersonProfile
    private let slots: [String: Int]

    /// - Parameters:
    ///   - uid: the permanent name of the person.
    ///   - zone: that of persons without their own.
    init(_ section: PersonSection, uid: String, zone: String) {
        (name, displayName) = (section.name, section.displayName)
        (self.zone, slots) = (section.zone ?? zone, section.slots)
        locale = section.locale
        units = Dictionary(uniqueKeysWithValues: section.reader.ownUnits.map { ($0.key.rawValue, $0.value) })
        profile = PersonProfile(
            uid: uid, unit: section.unit, height: section.height, sex: section.sex,
            birthDate: section.birthDate, athlete: section.athlete)
    }

    /// What `hub.conf` says of the person that a record can say, too.
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
