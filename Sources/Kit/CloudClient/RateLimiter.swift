import Foundation
import Synchronization

/// The request budget of a service: N requests in any window of time, and the remaining requests that its answers give.
///
/// Use the same limiter for all clients of one account. May be used from any task.
public final class RateLimiter: Sendable {
    /// Maximum number of requests in any interval of the given length, by the hub's clock.
    public struct Window: Hashable, Sendable {
        public let calls: Int
        public let time: Duration

        public init(_ calls: Int, per time: Duration) { (self.calls, self.time) = (max(1, calls), time) }
    }

    private struct State {
        /// The times of sent requests, by ``ClientClock/steady``, oldest first, as many as the largest window counts.
        var sent: [Int64] = []
        /// The period in which the service accepts no requests, by ``ClientClock/steady``.
        var rest: (since: Int64, until: Int64)?
        /// The values of the last answer.
        var allowances: [Allowance] = []

        /// The rest period relative to a clock that shows `now`.
        ///
        /// A session with another hub may bring a clock with another origin. A rest in the future then starts now and keeps its length.
        func rest(at now: Int64) -> (since: Int64, until: Int64)? {
            rest.map { $0.since > now ? (now, now + ($0.until - $0.since)) : $0 }
        }

        mutating func follow(_ now: Int64) {
            rest = rest(at: now)
            if let last = sent.last, last > now { sent = sent.map { min($0, now) } }
        }
    }

    /// The service's values for one of its windows.
    public struct Allowance: Hashable, Sendable {
        /// The total number of requests in the window; nil if unknown.
        public let calls: Int64?
        /// The number of remaining requests.
        public let left: Int64
        /// The time at which the window resets, in microseconds since 1970, as given by the service.
        public let reset: Int64

        public init(calls: Int64?, left: Int64, reset: Int64) {
            (self.calls, self.left, self.reset) = (calls, left, reset)
        }
    }

    private let windows: [Window]
    private let patience: Duration
    private let told: [Duration]
    private let state = Mutex(State())
    private let listener = Mutex<(@Sendable (Duration) async -> Void)?>(nil)

    /// - Parameters:
    ///   - patience: how long a request waits for the budget; if it would have to wait longer, it fails at once with `throttled`.
    ///   - told: the lengths of the windows that the service reports in its answers, in their order. No window delays requests for longer than
    ///     its length, whatever the service's clock shows.
    public init(_ windows: Window..., patience: Duration = .seconds(120), told: [Duration] = []) {
        (self.windows, self.patience, self.told) = (windows, patience, told)
    }

    /// The last values that the service reported for its windows, in its order; empty if it reports none.
    public var allowances: [Allowance] { state.withLock(\.allowances) }

    /// Calls `body` before a request begins to wait, with the duration of the wait.
    public func onWait(_ body: @escaping @Sendable (Duration) async -> Void) { listener.withLock { $0 = body } }

    func noteWait(_ wait: Duration) async {
        let body = listener.withLock { $0 }
        await body?(wait)
    }

    /// The minimum wait of the next request because of the service's answers.
    public func closing(_ pace: ClientClock) -> Duration {
        let now = pace.steady()
        return state.withLock { state in state.rest(at: now).map { .microseconds(max(0, $0.until - now)) } ?? .zero }
    }

    /// Returns when a request may be sent, and counts the request.
    func turn(_ pace: ClientClock, _ exchange: HTTPExchange) async throws {
        let start = pace.steady()
        while true {
            guard let wait = take(pace.steady()) else { return }
            guard .microseconds(pace.steady() - start) + wait <= patience else {
                let error = exchange.error(
                    .throttled, "the budget of requests is used up for another \(Self.words(wait))")
                throw CloudError(error.code, error.message, mayHaveHadEffect: false, retryAfter: wait)
            }
            await noteWait(wait)
            try await pace.wait(wait)
        }
    }

    /// Counts a request sent at `now`, or returns how long it has to wait.
    private func take(_ now: Int64) -> Duration? {
        state.withLock { state in
            state.follow(now)
            var free = max(now, state.rest?.until ?? now)
            for window in windows where state.sent.count >= window.calls {
                free = max(free, state.sent[state.sent.count - window.calls] + window.time.wholeMicroseconds)
            }
            guard free <= now else { return .microseconds(free - now) }
            state.sent.append(now)
            let kept = windows.map(\.calls).max() ?? 0
            if state.sent.count > kept { state.sent.removeFirst(state.sent.count - kept) }
            return nil
        }
    }

    /// Reads the budget from an answer: the headers of the limits, and `Retry-After` of a refusal.
    func note(_ answer: CloudAnswer, _ pace: ClientClock) {
        let now = pace.now()
        let allowances = Quota.read(answer, now: now)
        if !allowances.isEmpty { state.withLock { $0.allowances = allowances } }
        var wait = Quota.wait(allowances, now: now, atMost: told) ?? .zero
        if answer.status == 429 || answer.status == 503 { wait = max(wait, answer.retryAfter(at: now) ?? .zero) }
        guard wait > .zero else { return }
        // A wait of more than a day is probably a mistake of the service.
        let time = min(wait, .seconds(86_400)).wholeMicroseconds
        let since = pace.steady()
        state.withLock { state in
            state.follow(since)
            state.rest = (since, max(state.rest?.until ?? 0, since + time))
        }
    }

    private static func words(_ time: Duration) -> String {
        time.formatted(.units(allowed: [.hours, .minutes, .seconds], width: .abbreviated))
    }
}

/// Parses `X-RateLimit-Remaining` and `X-RateLimit-Reset`, in the spellings that services use.
///
/// A service with several windows separates their numbers with slashes: `99/997`. A reset above 10¹¹ is a date in
/// milliseconds since 1970, one above 10⁹ is a date in seconds, and any other is a number of seconds to wait.
/// milliseconds since 1970, one above 10⁹ a date in seconds, else it is a number of seconds to wait.
enum Quota {
    private static let prefixes = ["X-RateLimit-", "X-Rate-Limit-", "RateLimit-"]

    /// The values of each window; empty if the answer has none that can be read.
    static func read(_ answer: CloudAnswer, now: Int64) -> [RateLimiter.Allowance] {
        for prefix in prefixes {
            guard let remaining = answer.header(prefix + "Remaining"), let reset = answer.header(prefix + "Reset")
            else {
                continue
            }
            let limits = answer.header(prefix + "Limit").map(numbers) ?? []
            return zip(numbers(remaining), numbers(reset)).enumerated().compactMap { place, window in
                guard let left = window.0, let reset = window.1 else { return nil }
                return RateLimiter.Allowance(
                    calls: limits.indices.contains(place) ? limits[place] : nil, left: left,
                    reset: reset > 1_000_000_000 ? date(reset) : now + max(1, reset) * 1_000_000)
            }
        }
        return []
    }

    /// The time until requests are available again; nil if some are left.
    static func wait(
        _ allowances: [RateLimiter.Allowance], now: Int64, atMost windows: [Duration] = []
    ) -> Duration? {
        let ends = allowances.enumerated().compactMap { place, allowance -> Int64? in
            guard allowance.left <= 0 else { return nil }
            let wait = max(1_000_000, allowance.reset - now)
            return windows.indices.contains(place) ? min(wait, windows[place].wholeMicroseconds) : wait
        }
        return ends.max().map { .microseconds($0) }
    }

    /// Microseconds since 1970, limited to some hundred thousand years so that subtracting a time cannot overflow.
    private static func date(_ reset: Int64) -> Int64 {
        reset > 100_000_000_000 ? min(reset, 4_000_000_000_000_000) * 1_000 : reset * 1_000_000
    }

    private static func numbers(_ text: String) -> [Int64?] {
        text.split(separator: "/", omittingEmptySubsequences: false)
            .map { Int64($0.trimmingCharacters(in: .whitespaces)) }
    }
}

extension Duration {
    /// Valid for durations of at most some thousand years.
    var wholeMicroseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
