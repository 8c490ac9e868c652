import CloudClient
import PluginKit
import Synchronization

/// Watches the service's clock and its call limits in its answers.
final class ServiceWatch: Sendable {
    /// The windows of SAMI's limits: a sliding minute, and the UTC day (reference §7.1).
    static let windows = [Duration.seconds(60), .seconds(86_400)]

    /// Limits the calls that read.
    let limiter = RateLimiter(patience: .seconds(86_400), told: windows)
    private let hub: PluginContext
    private let troubles: StatusReporter
    /// The service's clock minus ours, in milliseconds.
    private let offset = Mutex<Int64>(0)

    /// Differences up to this many milliseconds are ignored.
    private static let tolerance: Int64 = 300_000
    private static let longWait = Duration.seconds(60)

    init(_ hub: PluginContext, _ troubles: StatusReporter) {
        (self.hub, self.troubles) = (hub, troubles)
        limiter.onWait { [weak self] wait in await self?.note(wait: wait) }
    }

    /// The service's time in milliseconds since 1970, as far as it is known.
    var now: Int64 { hub.clock.now() / 1_000 + offset.withLock { $0 } }

    /// Notes that a call begins to wait, before its first attempt or after a refusal.
    private func note(wait: Duration) async {
        guard wait > Self.longWait else { return }
        let time = Timestamp(microseconds: hub.clock.now(), offsetMinutes: 0)
        let until = Timestamp(
            microseconds: time.microseconds + Int64(wait / .microseconds(1)), offsetMinutes: 0)
        await troubles.tell(
            .limits,
            "the service's limit of calls is used up until \(until.text.prefix(16)) UTC; the plugin then continues automatically, and hub refresh \(hub.instance) waits, too"
        )
    }

    /// Notes an answer.
    func noteAnswer() async {
        // Others may still wait: one of two concurrent calls may have been the last allowed one.
        if limiter.closing(ClientClock(hub)) <= Self.longWait { await troubles.end(.limits) }
        // The minute window opens within a minute from now; a larger difference comes from the service's clock.
        guard let minute = limiter.allowances.first else { return }
        let (now, reset) = (hub.clock.now() / 1_000, minute.reset / 1_000)
        if reset > now + 60_000 + Self.tolerance || reset < now - Self.tolerance {
            await note(offset: reset - 30_000 - now)
        } else {
            await note(offset: 0)
        }
    }

    /// Notes a time that the service's clock has just shown.
    /// - Parameter isFresh: false if the message may have been delayed.
    func noteTime(_ time: Int64, isFresh: Bool) async {
        guard ServiceMessage.times.contains(time) else { return }
        let difference = time - hub.clock.now() / 1_000
        if difference > Self.tolerance || isFresh && difference < -Self.tolerance {
            await note(offset: difference)
        } else if isFresh {
            await note(offset: 0)
        }
    }

    private func note(offset new: Int64) async {
        offset.withLock { $0 = new }
        guard new != 0 else { return await troubles.end(.clock) }
        let minutes = max(1, abs(new) / 60_000)
        let size = minutes < 120 ? "\(minutes) min" : "\((minutes + 30) / 60) h"
        await troubles.tell(
            .clock,
            "the service's clock is about \(size) \(new > 0 ? "ahead of" : "behind") this machine's; nothing is lost by it. timedatectl set-ntp true mends this machine's"
        )
    }
}

/// Estimates the duration of calls under the service's limits.
struct CallEstimate: Hashable, Sendable {
    let calls: Int

    /// The minimum duration, from the last known limits for the minute and the day.
    ///
    /// - Parameters:
    ///   - now: microseconds since 1970.
    ///   - each: the duration of one call without limits.
    func time(_ allowances: [RateLimiter.Allowance], at now: Int64, each: Duration) -> Duration {
        let waits = zip(allowances, ServiceWatch.windows).map { allowance, window -> Duration in
            guard let limit = allowance.calls, limit > 0, Int64(calls) > allowance.left else { return .zero }
            let first = Duration.microseconds(max(0, min(allowance.reset - now, 86_400_000_000)))
            return min(first, window) + window * Double((Int64(calls) - max(0, allowance.left) - 1) / limit)
        }
        return max(each * calls, waits.max() ?? .zero)
    }

    static func words(_ time: Duration) -> String {
        let seconds = time / .seconds(1)
        return switch seconds {
        case ..<90: "\(max(1, Int(seconds.rounded()))) s"
        case ..<5_400: "\(Int((seconds / 60).rounded())) min"
        case ..<172_800: "\(Int((seconds / 3_600).rounded())) h"
        default: "\(Int((seconds / 86_400).rounded())) days"
        }
    }
}
