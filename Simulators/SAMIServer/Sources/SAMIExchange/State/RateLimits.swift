import Synchronization

/// Limits a user's calls, counted like SAMI did: a sliding minute and the day of UTC (reference §7.1).
final class RateLimits: Sendable {
    /// The caller whose calls are counted together.
    enum Actor: Hashable, Sendable {
        case user(String, application: String)
        case device(String)
        case application(String)

        fileprivate var word: String {
            switch self {
            case .user: "USER"
            case .device: "DEVICE"
            case .application: "APPLICATION"
            }
        }
    }

    /// The kinds of calls that are counted separately.
    enum Kind: Hashable, Sendable {
        case verb(String)
        case messages
        case socket
    }

    /// The remaining allowance after a call.
    struct Tally: Sendable {
        let limit, remaining, reset: String
        /// The reason why the limit is exceeded; `nil` if it is not.
        let excess: String?

        var fields: [(name: String, value: String)] {
            [("X-Rate-Limit-Limit", limit), ("X-Rate-Limit-Remaining", remaining), ("X-Rate-Limit-Reset", reset)]
        }
    }

    private struct Count {
        /// Milliseconds, the oldest first; at most a minute's limit.
        var minute: [Int64] = []
        var day: Int64 = 0
        var today = 0
    }

    private struct Key: Hashable {
        let actor: Actor
        let kind: Kind
    }

    private struct State {
        var counts: [Key: Count] = [:]
        var isOn: Bool
    }

    private let state: Mutex<State>
    private static let (minute, day): (Int64, Int64) = (60_000, 86_400_000)

    /// Calls a minute and a day instead of SAMI's numbers, for every caller and all kinds of calls.
    struct Own: Sendable {
        let minute, day: Int
    }

    private let own: Own?

    init(isOn: Bool, own: Own? = nil) {
        state = Mutex(State(isOn: isOn))
        self.own = own
    }

    var isOn: Bool {
        get { state.withLock(\.isOn) }
        set { state.withLock { $0.isOn = newValue } }
    }

    private func limits(_ actor: Actor, _ kind: Kind) -> (minute: Int, day: Int) {
        if let own { return (own.minute, own.day) }
        let isApplication = if case .application = actor { true } else { false }
        return switch kind {
        case .verb: isApplication ? (500, 5_000) : (100, 1_000)
        case .messages: isApplication ? (500, 100_000) : (100, 100_000)
        case .socket: isApplication ? (5_000, 500_000) : (1_000, 100_000)
        }
    }

    /// Counts a call, unless it exceeds a limit.
    /// - Returns: `nil` if there are no limits.
    func count(_ actor: Actor, _ kind: Kind, at now: Int64) -> Tally? {
        let limits = limits(actor, kind)
        return state.withLock { state in
            guard state.isOn else { return nil }
            var count = state.counts[Key(actor: actor, kind: kind)] ?? Count()
            count.minute.removeAll { $0 <= now - Self.minute || $0 > now }
            if count.day != now / Self.day { (count.day, count.today) = (now / Self.day, 0) }
            var excess: String?
            if count.today >= limits.day {
                excess = "DAILY rate limit exceeded"
            } else if count.minute.count >= limits.minute {
                excess = "\(actor.word) MINUTE rate limit exceeded"
            } else {
                count.minute.append(now)
                count.today += 1
            }
            state.counts[Key(actor: actor, kind: kind)] = count
            let oldest = count.minute.first ?? now
            // Rounded up, so that a caller waiting until then is accepted.
            return Tally(
                limit: "\(limits.minute)/\(limits.day)",
                remaining: "\(limits.minute - count.minute.count)/\(limits.day - count.today)",
                reset: "\((oldest + Self.minute + 999) / 1000)/\((now / Self.day + 1) * Self.day / 1000)",
                excess: excess)
        }
    }
}
