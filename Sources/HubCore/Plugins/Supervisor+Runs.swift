import HubSettings
import HubWire

/// Programs that run now and then: started when something waits for them, ended when nothing does (Protocol §13.9).
extension Supervisor {
    func schedule(of program: Program) -> RunSchedule? {
        guard let seconds = program.run.seconds else { return nil }
        let pause = runs.clock.realDuration(forVirtual: .seconds(seconds)).milliseconds
        return RunSchedule(pause: pause, last: runs.age(of: program.instance).map { now - $0 }, policy)
    }

    /// Starts what is due, and ends what is done.
    func lookAtRuns() async {
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

    /// Starts an instance that rests, for a command (R13.70); one that is starting need not be (R8.18).
    ///
    /// - Returns: whether it has a session, or will have one if all goes well.
    func wake(_ instance: String) async -> Bool {
        guard let charge = charges[instance], !charge.isDismissed, !isStopping else { return false }
        switch charge.life.state {
        case .starting, .ending(.launch): return true
        // Of what runs all the time the session alone has ended, and nothing says that there will be another.
        case .running, .silent: return charge.schedule != nil
        case .resting, .ending(.rest):
            await handle(.run, of: instance)
            await rearm()
            return true
        default: return false
        }
    }

    /// It rests now: what waits for it is known from here on, and a command that came while its process was about to end has it started again.
    func hasRun(_ instance: String) async {
        let waiting = await waiting(for: instance)
        // A command may have had it started meanwhile: that start is looked at by itself.
        guard charges[instance]?.life.state == .resting else { return }
        charges[instance]?.schedule?.ended(waiting, at: now)
        if await door.parts.commands.areAwaited(by: instance) { _ = await wake(instance) }
    }

    private func waiting(for instance: String) async -> RunSchedule.Waiting {
        let parts = await door.parts
        guard let delay = await parts.deliveries.delay(for: instance) else { return .unknown }
        switch delay {
        case .nothing: return .nothing
        case .now: return .now
        case .after(let duration): return .later(now + duration.milliseconds)
        }
    }
}

extension Supervisor.Charge {
    var isRunning: Bool {
        switch life.state {
        case .starting, .running, .silent: true
        default: false
        }
    }

    /// When to look at it, where it runs now and then.
    var runDeadline: Int64? {
        guard let schedule else { return nil }
        if case .resting = life.state { return schedule.nextLook }
        return isRunning ? schedule.nextIdleLook : nil
    }
}
