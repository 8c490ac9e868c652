import HubWire

/// The supervisor's report on an instance's process, and its form in `hub status`.
struct LifecycleReport: Sendable {
    /// Times are those of the door's `now`.
    var state: InstanceLifecycle.State
    var fault: InstanceFault?
    var restarts = 0
    var pid: Int?
    /// For a program that runs on a schedule, in microseconds since 1970 by the hub's clock: its last start, and the earliest next one if there
    /// is work for it.
    var lastRun: Int64?
    var nextRun: Int64?

    /// The word in `hub status`.
    var word: InstanceState {
        switch state {
        case .stopped: .stopped
        case .starting: .starting
        case .running: .running
        case .silent: .silent
        case .ending: .ending
        case .waiting: .restarting
        case .quarantined: .quarantined
        case .failed: .failed
        case .finished: .finished
        case .resting: .resting
        }
    }

    var hasProcess: Bool {
        switch state {
        case .starting, .running, .silent, .ending: true
        case .stopped, .waiting, .quarantined, .failed, .finished, .resting: false
        }
    }

    /// Milliseconds until it is started again.
    func pause(at now: Int64) -> Int64? {
        switch state {
        case .waiting(let time), .failed(let time): max(0, time - now)
        default: nil
        }
    }

    /// One line with the problem of `instance` and the remedy; `nil` if there is none.
    func advice(for instance: String, _ policy: LifecyclePolicy, at now: Int64) -> String? {
        let cause = fault.map(\.text)
        switch state {
        case .stopped, .running, .ending, .resting: return nil
        case .starting(let since):
            let waited = now - since
            if let cause { return "\(cause); started again \(waited.seconds) ago; see why with hub logs \(instance)" }
            // A good plugin greets within moments.
            guard waited > min(5_000, policy.startLimit / 2) else { return nil }
            return
                "runs for \(waited.seconds) and has not greeted the hub; after \(policy.startLimit.seconds) it is started again; see hub logs \(instance)"
        case .silent(let since):
            return
                "its process has sent nothing for \((now - since).seconds); after \(policy.silenceLimit.seconds) it is started again; see hub logs \(instance)"
        case .waiting(let time):
            return
                "\(cause ?? "ended"); started again in \(max(0, time - now).seconds); see why with hub logs \(instance)"
        case .quarantined:
            return
                "\(cause ?? "crashed"), \(policy.crashLimit) crashes within \(policy.crashWindow.seconds); see why with hub logs \(instance), then start it with hub release \(instance)"
        case .failed:
            return "\(cause ?? "failed"); \(fault?.remedy(for: instance) ?? "see hub logs \(instance)")"
        case .finished:
            return "has finished its work and ended; hub release \(instance) runs it again"
        }
    }
}
