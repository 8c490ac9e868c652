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
            let parts = await door.parts
            if charge.life.state == .resting {
                let waiting = await waiting(for: instance)
                // It may have been started or dismissed meanwhile.
                guard charges[instance]?.life.state == .resting, !isStopping,
                    charges[instance]?.schedule?.look(waiting, at: now) == true
                else { continue }
                await handle(.run, of: instance)
            } else {
                let isBusy = await parts.commands.isAt(instance)
                let isIdle = await parts.deliveries.isIdle(instance) && !isBusy
                guard charges[instance]?.isRunning == true,
                    let reason = charges[instance]?.schedule?.reasonToEnd(isIdle: isIdle, at: now)
                else { continue }
                await handle(.rest, of: instance, because: reason)
            }
        }
    }

    /// It rests now: what waits for it is known from here on.
    func hasRun(_ instance: String) async {
        let waiting = await waiting(for: instance)
        charges[instance]?.schedule?.ended(waiting, at: now)
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
