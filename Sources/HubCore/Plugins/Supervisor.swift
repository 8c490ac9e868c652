import HubWire
import Logging

/// Keeps the processes of the enabled plugins as their ``InstanceLife`` says: starts them, ends them, waits, and gives up.
///
/// What happens to one instance touches no other.
actor Supervisor {
    /// A plugin that can be started.
    struct Program: Sendable {
        let instance: String
        let executable: String
        let stateDirectory: String
        /// Bytes its process may hold; `nil` for no limit.
        var memoryLimit: Int64?
        /// Hidden in its log.
        var secrets: [String] = []
    }

    struct Launch: Sendable {
        let program: Program
        let token: String
        let log: PluginLog
        let end: ProcessEnd
    }

    struct Charge {
        var program: Program
        var life: InstanceLife
        let log: PluginLog
        var end: ProcessEnd?
        var pid: Int?
        /// Not to run any more: forgotten once its process has ended.
        var isDismissed = false
    }

    let bus: Bus
    let policy: LifePolicy
    let logger: Logger
    private let endpoints: HubEndpoints
    private let logs: PluginLogFiles
    private let bell: SessionBell
    private let began: ContinuousClock.Instant
    private let left: LeftProcesses
    private let launches: AsyncStream<Launch>
    private let launching: AsyncStream<Launch>.Continuation

    var charges: [String: Charge] = [:]
    private var isStopping = false
    private var timer: Task<Void, Never>?
    private var memoryDue: Int64 = 0
    /// Hears what becomes of an instance; called in order.
    private var listener: (@Sendable (String, InstanceLife.News) -> Void)?

    /// - Parameter began: where the milliseconds of the bus and of all lives begin.
    init(
        endpoints: HubEndpoints, bus: Bus, bell: SessionBell, logs: PluginLogFiles, policy: LifePolicy,
        began: ContinuousClock.Instant, logger: Logger
    ) {
        (self.endpoints, self.bus, self.bell, self.logs) = (endpoints, bus, bell, logs)
        (self.policy, self.began, self.logger) = (policy, began, logger)
        left = LeftProcesses(door: endpoints.pluginDoor)
        (launches, launching) = AsyncStream.makeStream()
    }

    var now: Int64 { ContinuousClock.now.millisecondsSinceStart(began) }

    /// Runs all of them until `stop` ends and every process has ended.
    func run(
        _ programs: [Program], stop: @escaping @Sendable () async -> Void,
        listener: @escaping @Sendable (String, InstanceLife.News) -> Void
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
            group.addTask { for await _ in self.bell.rings { await self.hearSessions() } }
            for program in programs { await take(program) }
            await rearm()
            for await launch in launches { group.addTask { await self.carry(launch) } }
            bell.finish()
        }
        timer?.cancel()
    }

    /// Follows a changed configuration: `programs` are all that shall run from now on.
    ///
    /// - Parameter restarting: those of them whose processes must not go on as they are.
    func adopt(_ programs: [Program], restarting: Set<String>) async {
        guard !isStopping else { return }
        let wanted = Set(programs.map(\.instance))
        for name in charges.keys.sorted() where !wanted.contains(name) {
            charges[name]?.isDismissed = true
            await handle(.stop, of: name)
        }
        for program in programs {
            let name = program.instance
            guard charges[name] != nil else {
                await take(program)
                continue
            }
            let wasDismissed = charges[name]?.isDismissed ?? false
            charges[name]?.program = program
            charges[name]?.isDismissed = false
            if restarting.contains(name) || wasDismissed { await handle(.restart, of: name) }
        }
        await rearm()
    }

    /// Starts an instance that waits, whatever it waits for.
    ///
    /// - Returns: the state it was in; `nil` when there is nothing to start.
    func release(_ instance: String, isDryRun: Bool) async -> InstanceLife.State? {
        guard let charge = charges[instance], !charge.isDismissed else { return nil }
        let state = charge.life.state
        if !isDryRun, !isStopping, !charge.life.hasProcess {
            await handle(.run, of: instance)
            await rearm()
        }
        return state
    }

    /// The instances that have a session now.
    var running: Set<String> {
        Set(charges.filter { if case .running = $0.value.life.state { true } else { false } }.keys)
    }

    /// Whether every instance that shall run is well, or has done its work.
    var allAreWell: Bool {
        charges.values.allSatisfy {
            switch $0.life.state {
            case .running, .finished: true
            default: false
            }
        }
    }

    private func take(_ program: Program) async {
        guard !isStopping else { return }
        let log = PluginLog(path: logs.newest(of: program.instance), logger: logger)
        charges[program.instance] = Charge(program: program, life: InstanceLife(policy: policy), log: log)
        await handle(.run, of: program.instance)
    }

    private func stopAll() async {
        isStopping = true
        for name in charges.keys.sorted() { await handle(.stop, of: name) }
        finishIfDone()
    }

    private func finishIfDone() {
        if isStopping, !charges.values.contains(where: \.life.hasProcess) { launching.finish() }
    }
}

// MARK: - Events and actions

extension Supervisor {
    private func handle(_ event: InstanceLife.Event, of instance: String) async {
        // Whoever was in the middle of starting several when the end came must not start the rest.
        if isStopping, event == .run || event == .restart { return }
        guard let actions = charges[instance]?.life.handle(event, at: now) else { return }
        for action in actions {
            switch action {
            case .launch: launch(instance)
            case .finish:
                charges[instance]?.end?.wish()
                // At the end of the hub all have been told already.
                if !isStopping {
                    await bus.beginStopping(
                        instance, because: "its configuration has changed", deadline: policy.stopGrace)
                }
            case .kill: charges[instance]?.end?.hurry()
            case .tell(let news): await tell(news, of: instance)
            }
        }
        await report(instance)
    }

    private func launch(_ instance: String) {
        guard var charge = charges[instance] else { return }
        let end = ProcessEnd()
        charge.end = end
        charges[instance] = charge
        launching.yield(Launch(program: charge.program, token: LaunchTokens.random(), log: charge.log, end: end))
    }

    /// The bus says it in `hub status`; a dismissed instance is forgotten when its process is gone.
    private func report(_ instance: String) async {
        guard let charge = charges[instance] else { return }
        if charge.isDismissed, !charge.life.hasProcess {
            charges[instance] = nil
            await bus.note(nil, of: instance)
        } else {
            let life = charge.life
            await bus.note(
                LifeReport(state: life.state, fault: life.fault, restarts: life.restarts, pid: charge.pid), of: instance
            )
        }
    }

    private func tell(_ news: InstanceLife.News, of instance: String) async {
        let text = PluginNews(instance: instance, news: news)
        charges[instance]?.log.write(text.text, from: .hub, level: text.level.rawValue)
        logger.log(
            level: text.level, "plugin \(text.word)", metadata: ["plugin": "\(instance)", "how": "\(text.text)"])
        await bus.publish(text)
        listener?(instance, news)
    }

    private func carry(_ launch: Launch) async {
        let program = launch.program
        let feed = await bus.admit(program.instance, token: launch.token)
        let process = PluginProcess(
            instance: program.instance, executable: program.executable, arguments: ["--run"],
            environment: [
                "HUB_DOOR": endpoints.pluginDoor, "HUB_FEED": feed, "HUB_INSTANCE": program.instance,
                "HUB_STATE": program.stateDirectory,
            ], token: launch.token, mask: SecretMask(program.secrets + [launch.token]), log: launch.log,
            logger: logger)
        let ending = await process.run(
            PluginProcess.Patience(stop: policy.stopGrace, kill: policy.killGrace),
            started: { pid in await self.processBegan(program.instance, pid) }, end: launch.end)
        let leftBehind = await left.end(of: program.instance, grace: policy.killGrace)
        if leftBehind > 0 {
            launch.log.write("ended \(leftBehind) processes that it left behind", from: .hub)
        }
        await bus.processEnded(program.instance)
        await processEnded(program.instance, ending)
    }

    private func processBegan(_ instance: String, _ pid: Int) async {
        charges[instance]?.pid = pid
        charges[instance]?.log.write("started as process \(pid)", from: .hub)
        await report(instance)
        await rearm()
    }

    private func processEnded(_ instance: String, _ ending: ProcessEnding) async {
        charges[instance]?.pid = nil
        charges[instance]?.end = nil
        // Whether it had greeted the hub must be known before its ending is judged.
        await hearSessions()
        await handle(.ended(ending, chance: .random(in: 0..<1)), of: instance)
        finishIfDone()
        await rearm()
    }

    private func hearSessions() async {
        for (instance, change) in bell.take().sorted(by: { $0.key < $1.key }) {
            if change.began { await handle(.sessionBegan, of: instance) }
            if !change.isOpen { await handle(.sessionLost, of: instance) }
        }
        await rearm()
    }
}

// MARK: - Time

extension Supervisor {
    /// Wakes up when a life or a look at memory is due.
    private func rearm() async {
        timer?.cancel()
        let deadlines = charges.values.compactMap(\.life.nextDeadline)
        let memory = charges.values.contains { $0.pid != nil && $0.program.memoryLimit != nil } ? [memoryDue] : []
        guard !isStopping, let next = (deadlines + memory).min() else { return }
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
        if now >= memoryDue {
            memoryDue = now + policy.memoryInterval
            for (name, charge) in charges {
                guard let pid = charge.pid, let limit = charge.program.memoryLimit,
                    let bytes = ProcessMemory.residentBytes(of: pid), bytes > limit
                else { continue }
                await handle(.overweight(bytes: bytes, limit: limit), of: name)
            }
        }
        await rearm()
    }
}
