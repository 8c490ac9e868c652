import Glibc
import JSON
public import Samples

/// The common clock of hub, plugins and simulators; in tests and demo it can make a month pass in a minute (Protocol §4.2).
///
/// `system` is the machine's clock. `START@RATE` begins at START and runs RATE times as fast as the machine's monotonic clock.
/// Reading it costs one system call and is safe on any thread.
public struct HubClock: Hashable, Sendable, CustomStringConvertible {
    private struct Virtual: Hashable {
        /// The time it showed at `origin`.
        var start: Timestamp
        var rate: Double
        /// The monotonic nanoseconds at that moment.
        var origin: Int64
    }

    private let virtual: Virtual?

    private init(_ virtual: Virtual?) { self.virtual = virtual }

    /// The machine's clock.
    public static let system = HubClock(nil)

    /// Makes the clock of a setting; its START is now.
    public init(_ setting: ClockSetting) {
        switch setting {
        case .system: self = .system
        case .simulated(let start, let rate):
            self.init(Virtual(start: start, rate: rate, origin: HubClock.monotonicNanoseconds()))
        }
    }

    /// Parses `system` or `START@RATE`, as ``ClockSetting`` does; START is now.
    public init?(_ text: String) {
        guard let setting = ClockSetting(text) else { return nil }
        self.init(setting)
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    ///
    /// A virtual clock never goes back; the machine's does if someone sets it. Both stay within ``range``.
    public func now() -> Int64 {
        guard let virtual else {
            let time = HubClock.reading(CLOCK_REALTIME)
            let (whole, isWild) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000)
            guard !isWild else { return time.tv_sec < 0 ? HubClock.range.lowerBound : HubClock.range.upperBound }
            return HubClock.bounded(whole, Int64(time.tv_nsec) / 1_000)
        }
        let elapsed = Double(HubClock.monotonicNanoseconds() - virtual.origin) / 1_000 * virtual.rate
        // No clock runs longer than the length of `range`, and a larger number would not fit an integer.
        let longest = Double(HubClock.range.upperBound - HubClock.range.lowerBound)
        return HubClock.bounded(virtual.start.microseconds, Int64(min(elapsed, longest)))
    }

    /// The times that a clock shows, the years 101 to 9899: a century less than ``Timestamp/range`` on either side.
    ///
    /// With this margin, a time calculated from now, such as the expiry of a token, still has a text.
    public static let range: ClosedRange<Int64> =
        Timestamp.range.lowerBound + century...Timestamp.range.upperBound - century
    private static let century: Int64 = 36_525 * 86_400_000_000

    private static func bounded(_ time: Int64, _ more: Int64) -> Int64 {
        let (sum, isWild) = time.addingReportingOverflow(more)
        return isWild ? range.upperBound : min(max(sum, range.lowerBound), range.upperBound)
    }

    /// Microseconds since an arbitrary start, at the rate of ``now()``: for measuring, because setting the machine's clock does not move it.
    public func steadyNow() -> Int64 {
        guard virtual == nil else { return now() }
        let time = HubClock.reading(CLOCK_BOOTTIME)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1_000
    }

    /// ``now()`` as a timestamp without local time.
    public var time: Timestamp { Timestamp(microseconds: now()) }

    /// A clock of the same rate that shows `instant` (microseconds since 1970) now; the system's clock stays itself.
    ///
    /// A hub announces itself with `started(at: now)`, so that START in WELCOME is the time at which it sends WELCOME.
    public func started(at instant: Int64) -> HubClock {
        guard let virtual else { return self }
        return HubClock(
            Virtual(
                start: Timestamp(microseconds: instant), rate: virtual.rate, origin: HubClock.monotonicNanoseconds()))
    }

    /// The members `clock` and `time` for a WELCOME that is sent now: START is that time.
    public func announcement() -> (clock: String, time: Timestamp) {
        let now = now()
        return (started(at: now).description, Timestamp(microseconds: now))
    }

    /// The time to wait by the machine's clock until `duration` has passed on this one.
    public func realDuration(forVirtual duration: Duration) -> Duration {
        virtual.map { duration / $0.rate } ?? duration
    }

    /// The number of seconds that pass on this clock in one second of the machine's; 1 for `system`.
    public var rate: Double { virtual?.rate ?? 1 }

    /// `system`, or `START@RATE` as WELCOME and `--clock` spell it.
    public var description: String {
        guard let virtual else { return "system" }
        var rate: [UInt8] = []
        NumberWriter.append(virtual.rate, to: &rate)
        return "\(virtual.start.text)@\(String(decoding: rate, as: UTF8.self))"
    }

    private static func monotonicNanoseconds() -> Int64 {
        let time = reading(CLOCK_MONOTONIC)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    private static func reading(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)  // Fails only for a clock that does not exist.
        return time
    }
}

extension Welcome {
    /// The clock that a plugin follows from now on.
    ///
    /// - Throws: `field` if the hub sent another form.
    public func hubClock() throws(WireError) -> HubClock {
        guard let clock = HubClock(clock) else {
            throw WireError(.field, "WELCOME.clock: expected \"system\" or \"START@RATE\"")
        }
        return clock
    }
}
