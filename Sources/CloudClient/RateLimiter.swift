import Foundation
import Synchronization

/// The budget of requests that a service gives: N in any window of time, and what its answers say is left.
///
/// Give the same one to every client of the same account. May be used from any task.
public final class RateLimiter: Sendable {
    /// So many requests in any stretch of that length, by the hub's clock.
    public struct Window: Hashable, Sendable {
        public let calls: Int
        public let time: Duration

        public init(_ calls: Int, per time: Duration) { (self.calls, self.time) = (max(1, calls), time) }
    }

    private struct State {
        /// When requests were sent, oldest first, as many as the largest window counts.
        var sent: [Int64] = []
        /// Since when and for how long the service wants none.
        var closed: (since: Int64, time: Int64)?
    }

    private let windows: [Window]
    private let patience: Duration
    private let state = Mutex(State())

    /// - Parameter patience: how long a request waits for its turn; one that had to wait longer fails at once with `throttled`.
    public init(_ windows: Window..., patience: Duration = .seconds(120)) {
        (self.windows, self.patience) = (windows, patience)
    }

    /// Returns when a request may be sent, and counts it.
    func turn(_ pace: Pace, _ exchange: Exchange) async throws {
        let start = pace.now()
        while true {
            guard let wait = take(pace.now()) else { return }
            guard .microseconds(pace.now() - start) + wait <= patience else {
                let error = exchange.error(
                    .throttled, "the budget of requests is used up for another \(Self.words(wait))")
                throw CloudError(error.code, error.message, mayHaveHadEffect: false, retryAfter: wait)
            }
            try await pace.wait(wait)
        }
    }

    /// Counts a request sent at `now`, or says how long it has to wait.
    private func take(_ now: Int64) -> Duration? {
        state.withLock { state in
            // Someone has put the clock back: nobody waits longer than a window for that.
            for index in state.sent.indices.reversed() {
                guard state.sent[index] > now else { break }
                state.sent[index] = now
            }
            var free = now
            if var closed = state.closed {
                closed.since = min(closed.since, now)
                state.closed = closed.since + closed.time > now ? closed : nil
                free = max(free, closed.since + closed.time)
            }
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

    /// Reads what an answer says of the budget: the headers of the limits, and `Retry-After` of a refusal.
    func note(_ answer: CloudAnswer, _ pace: Pace) {
        let now = pace.now()
        var wait = Quota.wait(answer, now: now) ?? .zero
        if answer.status == 429 || answer.status == 503 { wait = max(wait, answer.retryAfter(at: now) ?? .zero) }
        guard wait > .zero else { return }
        // A service that names a day in next year means something else.
        let time = min(wait, .seconds(86_400)).wholeMicroseconds
        state.withLock { state in
            if let closed = state.closed, closed.since + closed.time > now + time { return }
            state.closed = (now, time)
        }
    }

    private static func words(_ time: Duration) -> String {
        time.formatted(.units(allowed: [.hours, .minutes, .seconds], width: .abbreviated))
    }
}

/// `X-RateLimit-Remaining` and `X-RateLimit-Reset`, in the spellings that services have.
///
/// A service with several windows writes their numbers with slashes: `99/997`. A reset above 10¹¹ is a date in
/// milliseconds since 1970, one above 10⁹ a date in seconds, else it is a number of seconds to wait.
enum Quota {
    private static let prefixes = ["X-RateLimit-", "X-Rate-Limit-", "RateLimit-"]

    /// How long nothing is left; nil where something is, or nothing is said.
    static func wait(_ answer: CloudAnswer, now: Int64) -> Duration? {
        for prefix in prefixes {
            guard let remaining = answer.header(prefix + "Remaining"), let reset = answer.header(prefix + "Reset")
            else {
                continue
            }
            let ends = zip(numbers(remaining), numbers(reset)).compactMap { left, reset -> Int64? in
                guard let left, let reset, left <= 0 else { return nil }
                return reset > 1_000_000_000 ? max(1_000_000, date(reset) - now) : max(1, reset) * 1_000_000
            }
            return ends.max().map { .microseconds($0) }
        }
        return nil
    }

    /// Microseconds since 1970, at most some hundred thousand years: from anything that a service can write, a time can be subtracted.
    private static func date(_ reset: Int64) -> Int64 {
        reset > 100_000_000_000 ? min(reset, 4_000_000_000_000_000) * 1_000 : reset * 1_000_000
    }

    private static func numbers(_ text: String) -> [Int64?] {
        text.split(separator: "/", omittingEmptySubsequences: false)
            .map { Int64($0.trimmingCharacters(in: .whitespaces)) }
    }
}

extension Duration {
    /// For a length of at most some thousand years.
    var wholeMicroseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
