import HubSettings
import HubStore
import HubWire
import Logging

/// Holds the current configuration of the hub, and changes it while the hub runs.
///
/// A file with errors changes nothing. If a plugin was well before its section changed and fails within a while after it, the keeper
/// restores the former section of this plugin alone. The file with which all plugins were last well is kept for the next start of the hub.
actor ConfigurationManager {
    /// The configuration of an instance when it was well.
    struct Predecessor {
        let section: PluginInstance
        let manifest: Manifest?
        let executable: String?
    }

    struct Watch {
        let former: Predecessor
        /// Monotonic milliseconds.
        let until: Int64
    }

    let reload: ConfigurationReload?
    let parts: ConfiguredParts
    let door: Door
    let supervisor: Supervisor
    let policy: LifecyclePolicy
    let good: LastGoodFile

    /// The current configuration; it differs from the file if an instance has gone back to its former section.
    var checked: CheckedConfiguration
    var configuration: HubConfiguration
    var watches: [String: Watch] = [:]
    /// Why instances run with their former sections.
    var fallbacks: [String: String] = [:]
    /// When the file counts as good if all plugins are well; `nil` if that is decided.
    var settledAt: Int64?
    var nextCheckAt: Int64
    var checkInterval: Int64
    private var isBusy = false
    /// Whether a requested change is under way, or waits for one that the hub makes itself.
    private var isAsked = false
    /// The secret key for the revisions of texts of `hub.conf`.
    let revisionKey = (0..<32).map { _ in UInt8.random(in: 0...255) }
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// Faults of instances, in order; the keeper handles them one after the other while the supervisor goes on.
    nonisolated let relapses: AsyncStream<(instance: String, fault: InstanceFault)>
    private nonisolated let relapse: AsyncStream<(instance: String, fault: InstanceFault)>.Continuation

    init(
        _ checked: CheckedConfiguration, _ configuration: HubConfiguration, reload: ConfigurationReload?,
        parts: ConfiguredParts, door: Door, supervisor: Supervisor, policy: LifecyclePolicy
    ) {
        (self.checked, self.configuration, self.reload, self.parts) = (checked, configuration, reload, parts)
        (self.door, self.supervisor, self.policy) = (door, supervisor, policy)
        good = LastGoodFile(data: configuration.hub.data)
        settledAt = policy.watchPeriod
        checkInterval = policy.longestPause / 10
        nextCheckAt = checkInterval
        (relapses, relapse) = AsyncStream.makeStream()
    }

    var now: Int64 { ContinuousClock.now.millisecondsSinceStart(parts.began) }

    /// Waits until no other change is under way, and blocks others until ``leave()``.
    func enter() async {
        guard isBusy else {
            isBusy = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    /// The same for a requested change; only one may be open.
    ///
    /// - Throws: `busy`.
    func enterRequestedChange() async throws(OwnCommandFailure) {
        guard !isAsked else {
            throw OwnCommandFailure("busy", "the configuration is being changed already; try again in a moment")
        }
        isAsked = true
        await enter()
    }

    func leaveRequestedChange() {
        isAsked = false
        leave()
    }

    func leave() {
        if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
    }

    /// Makes door and supervisor use a new configuration.
    func adopt(
        _ wanted: CheckedConfiguration, _ next: HubConfiguration, restarting: Set<String>
    ) async throws(HubError) {
        let facts = try await parts.facts(wanted, next)
        let stopping = Set(configuration.plugins.filter(\.startsHere).map(\.name))
            .subtracting(next.plugins.filter(\.startsHere).map(\.name))
        (checked, configuration) = (wanted, next)
        await door.adopt(facts, ending: restarting.union(stopping))
        await supervisor.adopt(parts.programs(wanted, next), restarting: restarting)
    }

    /// The enabled instance of this name.
    func section(_ name: String) -> PluginInstance? { configuration.plugins.first { $0.name == name && $0.enabled } }
}

// MARK: - Applying

extension ConfigurationManager {
    /// Reads the file and applies it, unless it has errors.
    ///
    /// - Throws: `unsupported` without a file, `busy` while another requested change is under way, `store` if a new person cannot be stored.
    func apply(isDryRun: Bool) async throws(OwnCommandFailure) -> ApplyReport {
        guard let reload else { throw OwnCommandFailure("unsupported", "this hub was started without a hub.conf") }
        try await enterRequestedChange()
        defer { leaveRequestedChange() }
        return try await follow(await reload(nil), isDryRun: isDryRun)
    }

    /// The effect that new or changed rules would have.
    private func retention(_ plan: ApplyPlan) async throws(OwnCommandFailure) -> [RetentionReport] {
        let configuration = plan.configuration
        do throws(StoreError) {
            let counts = try await parts.store.count(
                configuration.retention.map { RetentionRule($0) }, where: { plan.retention.contains($0.name) },
                now: parts.clock.now(), zones: configuration.zones)
            return zip(configuration.retention.filter { plan.retention.contains($0.name) }, counts).map {
                RetentionReport($0.name, $1)
            }
        } catch { throw OwnCommandFailure("store", error.message) }
    }

    func follow(_ wanted: CheckedConfiguration, isDryRun: Bool) async throws(OwnCommandFailure) -> ApplyReport {
        var report = ApplyReport(
            file: wanted.file, dryRun: isDryRun, problems: wanted.loaded.problems, faults: wanted.faults)
        let blocking = ApplyPlan.blocking(wanted, running: configuration, lacking: Set(checked.faults.keys))
        guard let next = wanted.loaded.configuration, blocking.isEmpty else {
            if !isDryRun {
                parts.logger.error(
                    "hub.conf has errors and was not applied; hub check lists them",
                    metadata: ["problems": "\(wanted.loaded.problems.count)", "file": "\(wanted.file)"])
            }
            return report
        }
        let plan = ApplyPlan(from: checked, configuration, to: wanted, next, replaced: await supervisor.replaced)
        report.applied = true
        (report.needsRestart, report.persons, report.instances) = (plan.needsRestart, plan.persons, plan.steps)
        report.retention = try await retention(plan)
        report.priorities = plan.changesPriorities ? true : nil
        guard !isDryRun else { return report }
        let restarting = plan.instances(.restart)
        let former = await healthyInstances(restarting)
        do throws(HubError) { try await adopt(wanted, plan.configuration, restarting: restarting) } catch {
            throw OwnCommandFailure("store", error.message)
        }
        settledAt = now + policy.watchPeriod
        for step in plan.steps where step.action != .leave {
            (fallbacks[step.instance], watches[step.instance]) = (nil, nil)
        }
        for (name, former) in former where former.section != section(name) {
            watches[name] = Watch(former: former, until: now + policy.watchPeriod)
        }
        await door.note(fallbacks: fallbacks)
        parts.logger.notice("hub.conf was applied", metadata: ["plan": "\(report.summary)", "file": "\(wanted.file)"])
        return report
    }

    /// The current configuration of those `instances` that are well.
    private func healthyInstances(_ instances: Set<String>) async -> [String: Predecessor] {
        let well = await supervisor.running
        var former: [String: Predecessor] = [:]
        for name in instances.intersection(well) {
            guard let section = section(name) else { continue }
            former[name] = Predecessor(
                section: section, manifest: checked.manifests[name], executable: checked.executables[name])
        }
        return former
    }
}

// MARK: - Going back

extension ConfigurationManager {
    /// Receives news of the instances; may be called from any thread, and returns at once.
    nonisolated func heard(_ news: InstanceLifecycle.News, of instance: String) {
        switch news {
        case .restarting(_, let fault), .failed(_, let fault), .quarantined(_, let fault):
            relapse.yield((instance, fault))
        case .running, .healthy, .finished, .resting, .stopped: break
        }
    }

    /// Restores the former section of a watched instance that has failed.
    func judge(_ instance: String, _ fault: InstanceFault) async {
        await enter()
        defer { leave() }
        guard let watch = watches.removeValue(forKey: instance), now < watch.until else { return }
        await goBack(instance, to: watch.former, because: fault)
    }

    private func goBack(_ instance: String, to former: Predecessor, because fault: InstanceFault) async {
        var (wanted, next) = (checked, configuration)
        guard let index = next.plugins.firstIndex(where: { $0.name == instance }) else { return }
        next.plugins[index] = former.section
        (wanted.manifests[instance], wanted.executables[instance]) = (former.manifest, former.executable)
        do throws(HubError) { try await adopt(wanted, next, restarting: [instance]) } catch {
            parts.logger.error(
                "a plugin's former settings cannot be restored",
                metadata: ["plugin": "\(instance)", "reason": "\(error.message)"])
            return
        }
        let text =
            "runs with its former settings, because with those of hub.conf it \(fault.text); correct [plugin.\(instance)], then hub apply"
        fallbacks[instance] = text
        await door.note(fallbacks: fallbacks)
        parts.logger.error(
            "plugin went back to its former settings", metadata: ["plugin": "\(instance)", "how": "\(fault.text)"])
        await door.feeds.publish(
            PluginNotices(instance: instance, word: "went back", text: text, level: .error, isNotice: true))
    }
}
