import FoundationEssentials
import HubSettings
import HubStore
import HubWire
import Logging
import Samples

/// Converts a checked `hub.conf` into the facts for the door and the programs for the supervisor.
struct ConfiguredParts: Sendable {
    let store: Store
    let clock: HubClock
    let waits: WaitClock
    let directories: HubDirectories
    let endpoints: HubEndpoints
    let policy: SessionPolicy
    /// The origin of all monotonic milliseconds of this hub.
    let began: ContinuousClock.Instant
    let logger: Logger
    /// The set-up, if there is no `hub.conf` yet.
    var setup: (any SetupService)?

    /// - Parameter checked: the answers of the programs in `configuration`.
    /// - Throws: `store` if a new person cannot be stored.
    func facts(_ checked: CheckedConfiguration, _ configuration: HubConfiguration) async throws(HubError) -> HubContext
    {
        let (persons, known): ([Person], [Person])
        do throws(StoreError) {
            persons = try await store.ensurePersons(configuration.persons.map(\.name), recordedAt: clock.now())
            known = try await store.persons()
        } catch { throw HubError(.store, error.message) }
        let policies = configuration.plugins.filter(\.enabled).map { instance in
            var policy = InstancePolicy(instance, checked.manifests[instance.name])
            // No file can grant this right; before there is one, the page is the only instance.
            if setup != nil { policy.grants.owner = [OwnerRight.setup.rawValue] }
            return (instance.name, policy)
        }
        let uids = Dictionary(persons.map { ($0.name, $0.uid) }, uniquingKeysWith: { first, _ in first })
        return HubContext(
            version: ProductVersion.current, endpoints: endpoints, clock: clock, waits: waits, policy: policy,
            network: configuration.hub.tcp.map {
                Network.Setting(
                    endpoint: $0, isInsecure: configuration.hub.isInsecure, ring: KeyRing(data: configuration.hub.data))
            },
            instances: Dictionary(policies, uniquingKeysWith: { first, _ in first }),
            strangers: .owner(keepsRaw: configuration.hub.keepRaw),
            persons: configuration.persons.map {
                HubPerson($0, uid: uids[$0.name] ?? "", zone: configuration.usualZone)
            },
            knownPersons: Set(known.flatMap { [$0.name, $0.uid] }),
            rules: PersonRules(
                configuration.persons, uids: uids, known: known, certainty: configuration.hub.assignCertainty),
            storePath: directories.storePath, logs: directories.logFiles,
            catalogue: PluginCatalogue.json(configuration, checked),
            plugins: PluginCatalogue.statuses(configuration, checked), started: began,
            retention: configuration.retention.map { RetentionRule($0) }, priorities: configuration.priorities,
            memoryLimit: configuration.hub.memoryLimit.map { Int($0.bytes) }, setup: setup)
    }

    /// The programs that can be started; one that cannot start does not stop the others.
    func programs(_ checked: CheckedConfiguration, _ configuration: HubConfiguration) -> [Supervisor.Program] {
        configuration.plugins.filter(\.startsHere).compactMap { instance in
            do throws(HubError) {
                guard let executable = checked.executables[instance.name] else {
                    throw HubError(.configuration, checked.faults[instance.name] ?? "it has no program")
                }
                return Supervisor.Program(
                    instance: instance.name, executable: executable,
                    stateDirectory: try directories.state(of: instance.name), memoryLimit: instance.memoryLimit.bytes,
                    secrets: instance.secrets, temporaryDirectory: try directories.temporary(of: instance.name),
                    reach: try reach(of: instance, checked, configuration), run: instance.run,
                    zone: configuration.hub.zone)
            } catch {
                logger.error(
                    "plugin cannot start", metadata: ["plugin": "\(instance.name)", "reason": "\(error.message)"])
                return nil
            }
        }
    }

    private func reach(
        of instance: PluginInstance, _ checked: CheckedConfiguration, _ configuration: HubConfiguration
    ) throws(HubError) -> ConfinementRules {
        guard instance.confinement.isOn else { return .unconfined }
        guard let isolation = checked.isolation, isolation.launcher != nil else {
            throw HubError(.configuration, checked.isolation?.fault ?? "it cannot be confined")
        }
        return ConfinementRules(
            instance.confinement, checked.manifests[instance.name], instance, isolation,
            hidden: [checked.file, configuration.hub.data, configuration.hub.run])
    }
}

extension RetentionRule {
    init(_ section: RetentionSection) {
        self.init(
            name: section.name, types: section.types, sources: section.sources, thinAfter: section.thinAfterDays,
            removeAfter: section.removeAfterDays)
    }
}

extension HubConfiguration {
    /// The default time zone of persons.
    var usualZone: String { hub.zone ?? TimeZone.current.identifier }

    /// The time zones of persons, by name.
    var zones: [String: String] {
        Dictionary(persons.map { ($0.name, $0.zone ?? usualZone) }, uniquingKeysWith: { first, _ in first })
    }
}
