import HubWire

/// The life of one instance's process: when it is started, killed and restarted.
///
/// A value without clock and processes: events in, actions out. Times are monotonic milliseconds. There is at most one process, and
/// none is launched before the previous one has ended.
struct InstanceLifecycle: Sendable {
    enum State: Sendable, Hashable {
        /// Not to run: before the start, or after `stop`.
        case stopped
        /// Its process runs and has not greeted the hub yet.
        case starting(since: Int64)
        case running(since: Int64)
        /// Its process runs without a session.
        case silent(since: Int64)
        /// Its process was asked to end.
        case ending(NextAction)
        /// Will be started again at this time.
        case waiting(until: Int64)
        /// Crashed too often; waits for a person.
        case quarantined
        /// Only a person can correct it; retried at this time anyway.
        case failed(until: Int64)
        /// Has ended on its own with nothing more to do.
        case finished
        /// Runs on a schedule, and not now.
        case resting
    }

    /// The next step once a process that was asked to end has ended.
    enum NextAction: Sendable, Hashable {
        case stop, launch, rest
        case fault(InstanceFault)
    }

    enum Event: Sendable, Hashable {
        /// It should run; also ends a quarantine and any wait.
        case run
        /// It should run again because its settings have changed.
        case restart
        case stop
        /// It need not run for now.
        case rest
        case sessionBegan
        case sessionLost
        /// - chance: 0 to 1, for the jitter of the pause.
        case ended(ProcessEnding, chance: Double)
        /// It holds more memory than it may.
        case overweight(bytes: Int64, limit: Int64)
        /// Time has passed.
        case tick
    }

    enum Action: Sendable, Hashable {
        /// Start a process; report `ended`.
        case launch
        /// Ask the process to finish, and kill it if it does not.
        case finish
        /// Kill the process now.
        case kill
        case tell(News)
    }

    /// News for listeners.
    enum News: Sendable, Hashable {
        /// Has greeted the hub.
        case running
        /// Has been well for a while.
        case healthy
        case restarting(after: Int64, InstanceFault)
        case quarantined(crashes: Int, InstanceFault)
        case failed(retryAfter: Int64, InstanceFault)
        case finished
        case resting
        case stopped
    }

    /// Whether it runs on a schedule: if it ends on its own, it has finished its work for now.
    var isOccasional = false
    let policy: LifecyclePolicy
    private(set) var state = State.stopped
    /// The last fault, until the plugin has been well for a while.
    private(set) var fault: InstanceFault?
    /// The number of processes started after the first.
    private(set) var restarts = 0
    private var launches = 0
    /// The number of pauses since it was last well.
    private var attempts = 0
    /// The times of crashes within the window.
    private var crashes: [Int64] = []
    private var hadSession = false
    private var isHealthy = false

    init(policy: LifecyclePolicy) { self.policy = policy }

    var hasProcess: Bool {
        switch state {
        case .starting, .running, .silent, .ending: true
        case .stopped, .waiting, .quarantined, .failed, .finished, .resting: false
        }
    }

    /// When `tick` has something to do next.
    var nextDeadline: Int64? {
        switch state {
        case .starting(let since): since + policy.startLimit
        case .running(let since): isHealthy ? nil : since + policy.healthyAfter
        case .silent(let since): since + policy.silenceLimit
        case .waiting(let time), .failed(let time): time
        case .stopped, .ending, .quarantined, .finished, .resting: nil
        }
    }

    mutating func handle(_ event: Event, at now: Int64) -> [Action] {
        switch event {
        case .run: run(at: now)
        case .restart: restart(at: now)
        case .stop: stop()
        case .rest: rest()
        case .sessionBegan: sessionBegan(at: now)
        case .sessionLost: sessionLost(at: now)
        case .ended(let ending, let chance): ended(ending, chance, at: now)
        case .overweight(let bytes, let limit):
            kill(because: .overweight(bytes: bytes, limit: limit))
        case .tick: tick(at: now)
        }
    }
}

// MARK: - Events from the hub

extension InstanceLifecycle {
    private mutating func run(at now: Int64) -> [Action] {
        switch state {
        case .starting, .running, .silent, .ending(.launch), .ending(.fault): return []
        case .ending(.stop), .ending(.rest):
            state = .ending(.launch)
            return []
        // Earlier crashes still count, because it may crash again.
        case .resting:
            launches = 0
            return launch(at: now)
        case .stopped, .waiting, .quarantined, .failed, .finished:
            forget()
            return launch(at: now)
        }
    }

    private mutating func restart(at now: Int64) -> [Action] {
        guard hasProcess else { return run(at: now) }
        forget()
        if case .ending = state {
            state = .ending(.launch)
            return []
        }
        state = .ending(.launch)
        return [.finish]
    }

    private mutating func stop() -> [Action] {
        switch state {
        case .stopped, .ending(.stop): return []
        case .ending:
            state = .ending(.stop)
            return []
        case .starting, .running, .silent:
            state = .ending(.stop)
            return [.finish]
        case .waiting, .quarantined, .failed, .finished, .resting:
            state = .stopped
            return [.tell(.stopped)]
        }
    }

    private mutating func rest() -> [Action] {
        switch state {
        case .stopped: state = .resting
        case .starting, .running, .silent:
            state = .ending(.rest)
            return [.finish]
        case .ending, .waiting, .quarantined, .failed, .finished, .resting: break
        }
        return []
    }

    private mutating func hasRested() -> [Action] {
        state = isOccasional ? .resting : .finished
        (attempts, fault) = (0, nil)
        return [.tell(isOccasional ? .resting : .finished)]
    }

    /// A new start by request clears the earlier failures.
    private mutating func forget() { (attempts, crashes, fault) = (0, [], nil) }

    private mutating func launch(at now: Int64) -> [Action] {
        if launches > 0 { restarts += 1 }
        launches += 1
        (hadSession, isHealthy) = (false, false)
        state = .starting(since: now)
        return [.launch]
    }
}

// MARK: - Events of its process

extension InstanceLifecycle {
    private mutating func sessionBegan(at now: Int64) -> [Action] {
        switch state {
        case .starting, .silent:
            hadSession = true
            state = .running(since: now)
            return [.tell(.running)]
        default: return []
        }
    }

    private mutating func sessionLost(at now: Int64) -> [Action] {
        if case .running = state { state = .silent(since: now) }
        return []
    }

    private mutating func ended(_ ending: ProcessEnding, _ chance: Double, at now: Int64) -> [Action] {
        switch state {
        case .ending(.stop):
            state = .stopped
            return [.tell(.stopped)]
        case .ending(.launch): return launch(at: now)
        case .ending(.rest): return hasRested()
        case .ending(.fault(let fault)): return failed(fault, chance, at: now)
        case .starting, .running, .silent:
            if let fault = ending.fault(hadSession: hadSession) { return failed(fault, chance, at: now) }
            return hasRested()
        case .stopped, .waiting, .quarantined, .failed, .finished, .resting: return []
        }
    }

    private mutating func failed(_ fault: InstanceFault, _ chance: Double, at now: Int64) -> [Action] {
        self.fault = fault
        switch fault.kind {
        case .crash:
            crashes.append(now)
            crashes.removeAll { $0 <= now - policy.crashWindow }
            guard crashes.count < policy.crashLimit else {
                let count = crashes.count
                state = .quarantined
                return [.tell(.quarantined(crashes: count, fault))]
            }
        case .hopeless:
            state = .failed(until: now + policy.hopelessPause)
            return [.tell(.failed(retryAfter: policy.hopelessPause, fault))]
        case .temporary: break
        }
        attempts += 1
        let pause = policy.pause(attempt: attempts, chance: chance)
        state = .waiting(until: now + pause)
        return [.tell(.restarting(after: pause, fault))]
    }

    private mutating func kill(because fault: InstanceFault) -> [Action] {
        switch state {
        case .starting, .running, .silent:
            state = .ending(.fault(fault))
            self.fault = fault
            return [.kill]
        default: return []
        }
    }

    private mutating func tick(at now: Int64) -> [Action] {
        guard let nextDeadline, now >= nextDeadline else { return [] }
        switch state {
        case .starting:
            return kill(
                because: InstanceFault(
                    .crash,
                    "did not greet the hub within \(policy.startLimit.seconds) of its start: no HELLO was heard at HUB_DOOR from a connection that is logged in as HUB_INSTANCE with the launch token, the first line of stdin"
                ))
        case .silent:
            return kill(
                because: InstanceFault(
                    .crash, "fell silent: its process lived on for \(policy.silenceLimit.seconds) without a session"))
        case .running:
            isHealthy = true
            (attempts, fault) = (0, nil)
            return [.tell(.healthy)]
        case .waiting, .failed: return launch(at: now)
        case .stopped, .ending, .quarantined, .finished, .resting: return []
        }
    }
}

extension Int64 {
    /// A duration in milliseconds as text for people: `30 s`, `5 min`.
    var seconds: String {
        if self >= 120_000, self % 60_000 == 0 { return "\(self / 60_000) min" }
        return self < 1_000 ? "\(self) ms" : "\((self + 500) / 1_000) s"
    }
}
