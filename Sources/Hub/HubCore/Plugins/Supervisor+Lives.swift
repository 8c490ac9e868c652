import FoundationEssentials
import HubSettings
import HubWire
import Logging

/// Handles the events of lives, and carries out their actions.
extension Supervisor {
    /// - Parameter reason: the reason in STOP if the process is asked to finish; `nil` if STOP was already sent.
    func handle(
        _ event: InstanceLifecycle.Event, of instance: String, because reason: String? = "its configuration has changed"
    ) async {
        // A series of starts that the hub's end interrupts must not continue.
        if isStopping, event == .run || event == .restart { return }
        guard let actions = charges[instance]?.life.handle(event, at: now) else { return }
        for action in actions {
            switch action {
            case .launch: launch(instance)
            case .finish:
                // STOP goes before the end of stdin, which alone would mean that the hub is gone. When the hub ends, all plugins have STOP already.
                if !isStopping, let reason {
                    await door.beginStopping(instance, because: reason, deadline: policy.stopGrace)
                }
                charges[instance]?.end?.wish()
            case .kill: charges[instance]?.end?.hurry()
            case .tell(let news): await tell(news, of: instance)
            }
        }
        await report(instance)
    }

    private func launch(_ instance: String) {
        guard var charge = charges[instance] else { return }
        let end = ProcessEnd()
        (charge.end, charge.file) = (end, ProgramFile(charge.program.executable))
        if charge.schedule != nil {
            charge.schedule?.began(at: now)
            runs.began(instance, known: Set(charges.keys))
        }
        charge.program.reach.makePlaces()
        (charge.sight, charge.resolver) = (charge.program.reach.sight, charge.program.reach.resolverText)
        charges[instance] = charge
        launching.yield(Launch(program: charge.program, token: LaunchTokens.random(), log: charge.log, end: end))
    }

    /// Reports the life to the door for `hub status`; a dismissed instance is removed when its process is gone.
    private func report(_ instance: String) async {
        guard let charge = charges[instance] else { return }
        if charge.isDismissed, !charge.life.hasProcess {
            charges[instance] = nil
            await door.note(nil, of: instance)
        } else {
            let life = charge.life
            var report = LifecycleReport(state: life.state, fault: life.fault, restarts: life.restarts, pid: charge.pid)
            if let seconds = charge.program.run.seconds {
                report.lastRun = runs.starts[instance]
                report.nextRun = report.lastRun.map { $0 + max(seconds * 1_000, policy.runFloor) * 1_000 }
            }
            await door.note(report, of: instance)
        }
    }

    private func tell(_ news: InstanceLifecycle.News, of instance: String) async {
        let text = PluginNotices(instance: instance, news: news)
        charges[instance]?.log.write(text.text, from: .hub, level: text.level.rawValue)
        logger.log(
            level: text.level, "plugin \(text.word)", metadata: ["plugin": "\(instance)", "how": "\(text.text)"])
        await door.feeds.publish(text)
        listener?(instance, news)
    }

    func carry(_ launch: Launch) async {
        let program = launch.program
        let secrets = InstanceSecrets(program.secrets + [launch.token])
        let feed = await door.admit(program.instance, token: launch.token, secrets)
        let own = ConfinementRules.Own(
            state: program.stateDirectory, temporary: program.temporaryDirectory,
            sockets: [endpoints.pluginDoor, feed].map { String($0.trimmingPrefix("ipc://")) })
        empty(program.temporaryDirectory)
        let group = group(for: program)
        let command = program.reach.command(program.executable, ["--run"], own, group: group?.folder)
        let process = PluginProcess(
            instance: program.instance, program: command.program, arguments: command.words,
            environment: PluginEnvironment.of(
                temporary: program.temporaryDirectory,
                [
                    "HUB_DOOR": endpoints.pluginDoor, "HUB_FEED": feed, "HUB_INSTANCE": program.instance,
                    "HUB_STATE": program.stateDirectory,
                ].merging(program.run == .always ? [:] : ["HUB_RUN": program.run.rawValue]) { first, _ in first }
                    .merging(program.zone.map { ["TZ": $0] } ?? [:]) { first, _ in first }),
            isConfined: program.reach.launcher != nil,
            hint: ConfinementHint(
                executable: program.executable, reach: program.reach, own: own, instance: program.instance),
            group: group, token: launch.token, secrets: secrets, log: launch.log, logger: logger)
        var ending = await process.run(
            PluginProcess.Patience(stop: policy.stopGrace, kill: policy.killGrace),
            started: { pid, how in await self.processBegan(program.instance, pid, how) }, end: launch.end)
        let leftBehind = await left.end(of: program.instance, grace: policy.killGrace)
        if leftBehind > 0 {
            launch.log.write("ended \(leftBehind) processes that it left behind", from: .hub)
        }
        if let group {
            if group.hasKilled, let limit = program.memoryLimit { ending = .overLimit(limit) }
            group.end()
        }
        await door.processEnded(program.instance)
        await processEnded(program.instance, ending)
    }

    /// The control group for a program; `nil` if its memory has no limit, or the hub has to count.
    private func group(for program: Program) -> ControlGroups.Group? {
        charges[program.instance]?.group = nil
        guard let groups, let limit = program.memoryLimit else { return nil }
        do throws(HubError) {
            let group = try groups.group(of: program.instance, limit: limit)
            charges[program.instance]?.group = group
            return group
        } catch {
            logger.warning(
                "the kernel does not hold its memory_limit; the hub counts",
                metadata: ["plugin": "\(program.instance)", "reason": "\(error)"])
            return nil
        }
    }

    /// Removes the temporary files of an earlier process.
    private nonisolated func empty(_ folder: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }

    private func processBegan(_ instance: String, _ pid: Int, _ how: String?) async {
        charges[instance]?.pid = pid
        charges[instance]?.log.write(
            "started as process \(pid), \(how ?? "not confined, as hub.conf says")", from: .hub)
        await report(instance)
        await rearm()
    }

    private func processEnded(_ instance: String, _ ending: ProcessEnding) async {
        charges[instance]?.pid = nil
        charges[instance]?.end = nil
        // Its ending can only be judged when it is known whether it had greeted the hub.
        await observeSessions()
        await handle(.ended(ending, chance: .random(in: 0..<1)), of: instance)
        if charges[instance]?.life.state == .resting { await hasRun(instance) }
        finishIfDone()
        await rearm()
    }

    func observeSessions() async {
        for (instance, change) in sessionChanges.take().sorted(by: { $0.key < $1.key }) {
            if change.began { await handle(.sessionBegan, of: instance) }
            if !change.isOpen { await handle(.sessionLost, of: instance) }
        }
        for instance in sessionChanges.takeStored() { charges[instance]?.schedule?.stored() }
        await rearm()
    }
}
