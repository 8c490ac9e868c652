import HubSettings
import HubWire

/// Programs that run on a schedule: started when there is work for them, and ended when there is none (Protocol §13.9).
extension Supervisor {
    func schedule(of program: Program) -> RunSchedule? {
        guard let seconds = program.run.seconds else { return nil }
        let pause = runs.clock.realDuration(forVirtual: .seconds(seconds)).milliseconds
        return RunSchedule(pause: pause, last: runs.age(of: program.instance).map { now - $0 }, policy)
    }

    /// Starts programs that are due, and ends programs that are done.
    func checkRuns() async {
        for (instance, charge) in charges where charge.runDeadline.map({ $0 <= now }) ?? false {
            if charge.life.state == .resting {
                let waiting = await waiting(for: instance)
                // It may have been started or dismissed meanwhile.
                guard charges[instance]?.life.state == .resting, !isStopping,
                    charges[instance]?.schedule?.look(waiting, at: now) == true
                else { continue }
                await handle(.run, of: instance)
            } else {
                let isIdle = await door.isIdle(instance)
                guard charges[instance]?.isRunning == true,
                    let reason = charges[instance]?.schedule?.reasonToEnd(isIdle: isIdle, at: now)
                else { continue }
                // A command may have come meanwhile, and the process may be another one after that.
                let began = charges[instance]?.schedule?.last
                guard
                    await door.beginStopping(
                        instance, because: reason, deadline: policy.stopGrace, onlyIfIdle: isIdle),
                    charges[instance]?.schedule?.last == began
                else { continue }
                await handle(.rest, of: instance, because: nil)
            }
        }
    }

    /// Starts a resting instance for a command (R13.70); one that is already starting needs nothing (R8.18).
    ///
    /// - Returns: whether it has a session, or will have one if all goes well.
    func wake(_ instance: String) async -> Bool {
        guard let charge = charges[instance], !charge.isDismissed, !isStopping else { return false }
        switch charge.life.state {
        case .starting, .ending(.launch): return true
        // If an instance without a schedule has lost its session, it may not get another one.
        case .running, .silent: return charge.schedule != nil
        case .resting, .ending(.rest):
            await handle(.run, of: instance)
            await rearm()
            return true
        default: return false
        }
    }

    /// Notes that a run has ended; starts the instance again if a command came while its process was about to end.
    func hasRun(_ instance: String) async {
        let waiting = await waiting(for: instance)
        // A command may have started it meanwhile; that start is handled separately.
        guard charges[instance]?.life.state == .resting else { return }
        charges[instance]?.schedule?.ended(waiting, at: now)
        if await door.pluginCommands.areAwaited(by: instance) { _ = await wake(instance) }
    }

    private func waiting(for instance: String) async -> RunSchedule.Waiting {
        guard let delay = await door.deliveries.delay(for: instance) else { return .unknown }
        switch delay {
        case .nothing: return .nothing
        case .now: return .now
        case .after(let duration): return .later(now + duration.milliseconds)
        }
    }
}

extension Supervisor.ManagedInstance {
    var isRunning: Bool {
        switch life.state {
        case .starting, .running, .silent: true
        default: false
        }
    }

    /// When to check a program that runs on a schedule.
    var runDeadline: Int64? {
        guard let schedule else { return nil }
        if case .resting = life.state { return schedule.nextLook }
        return isRunning ? schedule.nextIdleLook : nil
    }
}
