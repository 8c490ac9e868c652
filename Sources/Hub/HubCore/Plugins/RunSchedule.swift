import HubSettings

/// Decides when the program of an instance with a schedule is started, and when it is done (Protocol §13.9).
///
/// A value without clock and store. Times are monotonic milliseconds.
struct RunSchedule: Sendable, Hashable {
    /// Minimum time from the beginning of one run to the next.
    let pause: Int64
    private let policy: LifecyclePolicy
    /// The last start, which may be before the hub's start.
    private(set) var last: Int64?
    /// Whether there may be work for it, so that the store must be asked.
    private(set) var mayWait = true
    /// When work becomes due for it that is not due before.
    private var due: Int64?
    private var looked: Int64?
    /// Since when there is no work for it while it runs.
    private var idle: Int64?

    /// - Parameters:
    ///   - pause: the interval of `run`, by the machine's clock.
    ///   - last: the last start, if it is known.
    init(pause: Int64, last: Int64?, _ policy: LifecyclePolicy) {
        (self.pause, self.last, self.policy) = (max(pause, policy.runFloor), last, policy)
    }

    /// The work for its sinks, as the store reports it.
    enum Waiting: Sendable, Hashable {
        /// It has no subscription, so only stored records count.
        case unknown
        case nothing, now
        /// Work is due at this time.
        case later(Int64)
    }

    /// The earliest time of the next start.
    var earliest: Int64? { last.map { $0 + pause } }

    /// When to check whether to start it; `nil` while there is no sign of work.
    var nextLook: Int64? {
        guard let from = mayWait ? .min : due else { return nil }
        return max(from, earliest ?? .min, looked.map { $0 + policy.runLook } ?? .min)
    }

    /// When to check whether it is done.
    var nextIdleLook: Int64? { looked.map { $0 + policy.runLook } }

    mutating func stored() { mayWait = true }

    mutating func began(at now: Int64) { (last, looked, mayWait, due, idle) = (now, now, false, nil, nil) }

    /// Notes the result of a check for work.
    ///
    /// - Returns: whether to start it.
    mutating func look(_ waiting: Waiting, at now: Int64) -> Bool {
        // Without a subscription, it is started because records were stored.
        let isStored = mayWait
        (looked, mayWait, due) = (now, false, nil)
        switch waiting {
        case .unknown: return isStored
        case .now: return true
        case .later(let time):
            due = time
            return time <= now
        case .nothing: return false
        }
    }

    /// Notes that it has ended.
    mutating func ended(_ waiting: Waiting, at now: Int64) {
        looked = nil
        switch waiting {
        case .unknown: break
        case .now: mayWait = true
        case .later(let time): due = time
        case .nothing: mayWait = false
        }
    }

    /// Why it should end now; `nil` if it should not.
    mutating func reasonToEnd(isIdle: Bool, at now: Int64) -> String? {
        looked = now
        idle = isIdle ? idle ?? now : nil
        if let idle, now - idle >= policy.runLinger { return "nothing waits for it any more" }
        guard let last, now - last >= policy.longestRun else { return nil }
        return "it has run for \(policy.longestRun.seconds) and goes on the next time"
    }
}

extension PluginInstance.Run {
    /// Seconds from the beginning of one run to the next; `nil` if it always runs.
    var seconds: Int64? {
        switch self {
        case .always: nil
        case .immediate: 0
        case .hourly: 3_600
        case .daily: 86_400
        case .weekly: 604_800
        }
    }
}
