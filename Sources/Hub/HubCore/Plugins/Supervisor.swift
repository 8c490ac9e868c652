import FoundationEssentials
import Glibc
import HubSettings
import HubWire
import Logging

/// Runs the processes of the enabled plugins according to their ``InstanceLifecycle``.
///
/// Events of one instance do not affect any other.
actor Supervisor {
    /// A plugin that can be started.
    struct Program: Sendable {
        let instance: String
        let executable: String
        let stateDirectory: String
        /// Maximum bytes that its process may hold; `nil` for no limit.
        var memoryLimit: Int64?
        /// The secrets to hide in its log.
        var secrets: [String] = []
        /// Its own folder for temporary files.
        var temporaryDirectory: String
        var reach = ConfinementRules.unconfined
        var run = PluginInstance.Run.always
        /// The time zone of `[hub]`, which becomes `TZ` of the program; `nil` for the machine's zone.
        var zone: String?
    }

    struct Launch: Sendable {
        let program: Program
        let token: String
        let log: PluginLog
        let end: ProcessEnd
    }

    struct ManagedInstance {
        var program: Program
        var life: InstanceLifecycle
        let log: PluginLog
        var end: ProcessEnd?
        var pid: Int?
        /// Its control group, if the kernel limits its memory.
        var group: ControlGroups.Group?
        /// The program's file when it was last started.
        var file: ProgramFile?
        /// The identities of the files that it was granted.
        var sight: [String: ProgramFile.Identity?] = [:]
        var resolver: Data?
        /// Its schedule, if it does not run all the time.
        var schedule: RunSchedule?
        /// Whether it should no longer run; it is removed once its process has ended.
        var isDismissed = false
    }

    let door: Door
    let policy: LifecyclePolicy
    let logger: Logger
    let endpoints: HubEndpoints
    private let logs: PluginLogFiles
    /// `nil` if the hub counts the memory of its plugins.
    let groups: ControlGroups?
    let sessionChanges: SessionChanges
    private let began: ContinuousClock.Instant
    let left: OrphanProcesses
    let runs: RunHistory
    private let launches: AsyncStream<Launch>
    let launching: AsyncStream<Launch>.Continuation

    var charges: [String: ManagedInstance] = [:]
    var isStopping = false
    private var timer: Task<Void, Never>?
    private var memoryDue: Int64 = 0
    /// Receives the news of instances, in order.
    var listener: (@Sendable (String, InstanceLifecycle.News) -> Void)?

    /// - Parameter began: the origin of the milliseconds of the door and of all lives.
    init(
        endpoints: HubEndpoints, door: Door, sessionChanges: SessionChanges, logs: PluginLogFiles,
        policy: LifecyclePolicy,
        runs: sending RunHistory, groups: ControlGroups? = nil, began: ContinuousClock.Instant, logger: Logger
    ) {
        self.groups = groups
        self.runs = runs
        (self.endpoints, self.door, self.sessionChanges, self.logs) = (endpoints, door, sessionChanges, logs)
        (self.policy, self.began, self.logger) = (policy, began, logger)
        left = OrphanProcesses(door: endpoints.pluginDoor)
        (launches, launching) = AsyncStream.makeStream()
    }

    var now: Int64 { ContinuousClock.now.millisecondsSinceStart(began) }

    /// Runs all programs until `stop` returns and every process has ended.
    func run(
        _ programs: [Program], stop: @escaping @Sendable () async -> Void,
        listener: @escaping @Sendable (String, InstanceLifecycle.News) -> Void
    ) async {
        self.listener = listener
        let orphans = await left.end(grace: policy.stopGrace)
        if orphans > 0 {
            logger.warning("processes of a hub that was killed were ended", metadata: ["processes": "\(orphans)"])
        }
        await withDiscardingTaskGroup { group in
            group.addTask {
                await stop()
                await self.stopAll()
            }
            group.addTask { for await _ in self.sessionChanges.rings { await self.observeSessions() } }
            for program in programs { await take(program) }
            await rearm()
            for await launch in launches { group.addTask { await self.carry(launch) } }
            sessionChanges.finish()
        }
        timer?.cancel()
    }

    /// Applies a changed configuration: `programs` are all that should run from now on.
    ///
    /// - Parameter restarting: the instances whose processes must not continue unchanged.
    func adopt(_ programs: [Program], restarting: Set<String>) async {
        guard !isStopping else { return }
        let wanted = Set(programs.map(\.instance))
        for name in charges.keys.sorted() where !wanted.contains(name) {
            charges[name]?.isDismissed = true
            await handle(.stop, of: name, because: "hub.conf does not enable it any more")
        }
        for program in programs {
            let name = program.instance
            guard charges[name] != nil else {
                await take(program)
                continue
            }
            let wasDismissed = charges[name]?.isDismissed ?? false
            if charges[name]?.program.run != program.run { charges[name]?.schedule = schedule(of: program) }
            charges[name]?.program = program
            if let limit = program.memoryLimit { try? charges[name]?.group?.limit(to: limit) }
            charges[name]?.life.isOccasional = program.run != .always
            charges[name]?.isDismissed = false
            if restarting.contains(name) || wasDismissed { await handle(.restart, of: name) }
        }
        await rearm()
    }

    /// Starts an instance that waits, for whatever reason.
    ///
    /// - Returns: its former state; `nil` if there is nothing to start.
    func release(_ instance: String, isDryRun: Bool) async -> InstanceLifecycle.State? {
        guard let charge = charges[instance], !charge.isDismissed else { return nil }
        let state = charge.life.state
        if !isDryRun, !isStopping, !charge.life.hasProcess {
            await handle(.run, of: instance)
            await rearm()
        }
        return state
    }

    /// Ends the process of an instance, if there is one, and starts it again; an instance that waits is started at once.
    ///
    /// - Returns: its former state; `nil` if there is nothing to start.
    func restart(_ instance: String, isDryRun: Bool) async -> InstanceLifecycle.State? {
        guard let charge = charges[instance], !charge.isDismissed, !isStopping else { return nil }
        let state = charge.life.state
        if !isDryRun {
            await handle(.restart, of: instance, because: "it is started again on request")
            await rearm()
        }
        return state
    }

    /// The instances whose program on the disk differs from the one that was last started.
    var replaced: Set<String> {
        Set(
            charges.filter { _, charge in
                guard let started = charge.file, let now = ProgramFile(charge.program.executable) else { return false }
                return started != now
            }.keys)
    }

    /// The instances that have a session now.
    var running: Set<String> {
        Set(charges.filter { if case .running = $0.value.life.state { true } else { false } }.keys)
    }

    /// Whether every instance that should run is well, or has done its work.
    var areAllHealthy: Bool {
        charges.values.allSatisfy {
            switch $0.life.state {
            case .running, .finished, .resting: true
            default: false
            }
        }
    }

    private func take(_ program: Program) async {
        guard !isStopping else { return }
        let log = PluginLog(path: logs.newest(of: program.instance), logger: logger)
        var charge = ManagedInstance(program: program, life: InstanceLifecycle(policy: policy), log: log)
        charge.schedule = schedule(of: program)
        charge.life.isOccasional = charge.schedule != nil
        charges[program.instance] = charge
        await handle(charge.schedule == nil ? .run : .rest, of: program.instance)
    }

    private func stopAll() async {
        isStopping = true
        for name in charges.keys.sorted() { await handle(.stop, of: name) }
        finishIfDone()
    }

    func finishIfDone() {
        if isStopping, !charges.values.contains(where: \.life.hasProcess) { launching.finish() }
    }
}

// MARK: - Time

extension Supervisor {
    /// Sets the timer for the next deadline of a life, a memory check or a scheduled run.
    func rearm() async {
        timer?.cancel()
        let deadlines = charges.values.compactMap(\.life.nextDeadline)
        let memory = charges.values.contains { $0.pid != nil && $0.program.memoryLimit != nil } ? [memoryDue] : []
        let runs = charges.values.compactMap(\.runDeadline)
        guard !isStopping, let next = (deadlines + memory + runs).min() else { return }
        let due = began + .milliseconds(next)
        timer = Task {
            try? await Task.sleep(until: due, clock: .continuous)
            if !Task.isCancelled { await self.timeHasPassed() }
        }
    }

    private func timeHasPassed() async {
        for (name, charge) in charges where charge.life.nextDeadline.map({ $0 <= now }) ?? false {
            await handle(.tick, of: name)
        }
        await checkRuns()
        if now >= memoryDue {
            var isNear = false
            let tree = ProcessTree()
            for (name, charge) in charges {
                guard let pid = charge.pid else { continue }
                let bytes = charge.group == nil ? PluginMemory.bytes(of: [pid_t(pid)] + tree.below(pid_t(pid))) : 0
                isNear = isNear || bytes > (charge.program.memoryLimit ?? .max) / 2
                if let limit = charge.program.memoryLimit, bytes > limit {
                    await handle(.overweight(bytes: bytes, limit: limit), of: name)
                } else if let reason = charge.newView(at: now, after: policy.sightPause) {
                    await handle(.restart, of: name, because: reason)
                }
            }
            // A process that holds half of its limit may soon reach all of it.
            memoryDue = now + (isNear ? policy.memoryInterval / 5 : policy.memoryInterval)
        }
        await rearm()
    }
}

extension Supervisor.ManagedInstance {
    /// Why a confined process must restart to see current files; `nil` if it sees them, or has only just started.
    fileprivate func newView(at now: Int64, after pause: Int64) -> String? {
        guard case .running(let since) = life.state, now - since >= pause else { return nil }
        let sight = program.reach.sight
        if let path = self.sight.keys.sorted().first(where: { sight[$0] != self.sight[$0] }) {
            return "\(path) is another file than when it was started"
        }
        return program.reach.resolverText == resolver ? nil : "the machine is on another network"
    }
}
