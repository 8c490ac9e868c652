import Glibc
import Samples
public import ScaleProtocols

/// The clock of a simulator: the system's, or one that starts at a given instant and runs at a given rate, so that a month passes in a minute.
///
/// Only dates use it. Timeouts on the link use real time, because the other end is real.
public struct SimulationClock: Sendable {
    private let startedAt: ContinuousClock.Instant
    private let start: Double?
    private let rate: Double

    /// The system's clock.
    public static var system: SimulationClock { SimulationClock(start: nil, rate: 1) }

    private init(start: Double?, rate: Double) {
        (startedAt, self.start, self.rate) = (ContinuousClock.now, start, rate)
    }

    /// Parses `system` or `START@RATE`: START is RFC 3339 with offset, and RATE is clock seconds per real second, as in
    /// `2026-01-01T00:00:00Z@3600`.
    public init(_ text: String) throws(SimulatorError) {
        switch ClockSetting(text, rates: SimulationClock.rates) {
        case .system?: self = .system
        case .simulated(let start, let rate)?:
            self.init(start: Double(start.microseconds) / 1_000_000, rate: rate)
        case nil:
            throw SimulatorError(
                .usage,
                "clock '\(text)': expected 'system', or an instant with offset and a rate of up to 1000000, such as "
                    + "2026-01-01T00:00:00Z@3600")
        }
    }

    private static let rates = ClockSetting.rates.lowerBound...1_000_000

    /// The current wall time in the zone of the environment (`TZ`).
    public var wall: WallTime {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var seconds = now.tv_sec
        if let start {
            let real = (ContinuousClock.now - startedAt).components
            seconds = Int(start + (Double(real.seconds) + Double(real.attoseconds) * 1e-18) * rate)
        }
        var local = tm()
        localtime_r(&seconds, &local)
        // A leap second is shown as 60, which a scale cannot represent.
        let second = Int(min(local.tm_sec, 59))
        let date = WallTime(
            Int(local.tm_year) + 1900, Int(local.tm_mon) + 1, Int(local.tm_mday), Int(local.tm_hour), Int(local.tm_min),
            second)
        return date ?? .startOf2000
    }
}
