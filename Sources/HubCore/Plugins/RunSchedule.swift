import HubSettings

/// When the program of an instance that runs now and then is started, and when it is done (Protocol §13.9).
///
/// A value without clock and store. Times are monotonic milliseconds.
struct RunSchedule: Sendable, Hashable {
    /// From the beginning of one run to the next, at least.
    let pause: Int64
    private let policy: LifePolicy
    /// When it was started last; before the hub's start, too.
    private(set) var last: Int64?
    /// Whether something may wait for it: it is to be looked.
    private(set) var mayWait = true
    /// When something waits for it that cannot be given before.
    private var due: Int64?
    private var looked: Int64?
    /// Since when nothing waits for it while it runs.
    private var idle: Int64?

    /// - Parameters:
    ///   - pause: of `run`, by the machine's clock.
    ///   - last: when it was started last, where that is known.
    init(pause: Int64, last: Int64?, _ policy: LifePolicy) {
        (self.pause, self.last, self.policy) = (max(pause, policy.runFloor), last, policy)
    }

    /// What a sink has to be given, as the store says.
    enum Waiting: Sendable, Hashable {
        /// It has no subscription: only what was stored tells.
        case unknown
        case nothing, now
        /// At this time.
        case later(Int64)
    }

    /// When it may be started next.
    var earliest: Int64? { last.map { $0 + pause } }

    /// When to look whether it is to be started; `nil` while nothing tells that something waits.
    var nextLook: Int64? {
        guard let from = mayWait ? .min : due else { return nil }
        return max(from, earliest ?? .min, looked.map { $0 + policy.runLook } ?? .min)
    }

    /// When to look whether it is done.
    var nextIdleLook: Int64? { looked.map { $0 + policy.runLook } }

    mutating func stored() { mayWait = true }

    mutating func began(at now: Int64) { (last, looked, mayWait, due, idle) = (now, now, false, nil, nil) }

    /// It is looked what waits for it.
    ///
    /// - Returns: whether it is to be started.
    mutating func look(_ waiting: Waiting, at now: Int64) -> Bool {
        // Without a subscription it is started because something was stored.
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

    /// It has ended.
    mutating func ended(_ waiting: Waiting, at now: Int64) {
        looked = nil
        switch waiting {
        case .unknown: break
        case .now: mayWait = true
        case .later(let time): due = time
        case .nothing: mayWait = false
        }
    }

    /// Why it is to end now; `nil` while it is not.
    mutating func reasonToEnd(isIdle: Bool, at now: Int64) -> String? {
        looked = now
        idle = isIdle ? idle ?? now : nil
        if let idle, now - idle >= policy.runLinger { return "nothing waits for it any more" }
        guard let last, now - last >= policy.longestRun else { return nil }
        return "it has run for \(policy.longestRun.seconds) and goes on the next time"
    }
}

extension PluginInstance.Run {
    /// Seconds from the beginning of one run to the next; `nil` for what always runs.
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
