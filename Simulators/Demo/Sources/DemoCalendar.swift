import Foundation
import Samples

/// Converts between times of the plan and real time: the month passes by the hub's clock, which runs fast.
struct DemoCalendar: Sendable {
    /// The household's zone, where clocks change in March, if this machine knows the zone.
    static let zone = TimeZone(identifier: "Europe/Berlin") == nil ? "UTC" : "Europe/Berlin"

    /// Seconds of the month per second of real time.
    let rate: Double
    /// The hub's clock at `moment`, in seconds since 1970.
    private let shown: Double
    private let moment: ContinuousClock.Instant

    /// How long before the month the hub is started, in real time, because connecting all scales takes a moment.
    static let lead = 3.0

    /// The value of `[hub] clock` for the given rate.
    static func setting(rate: Double) -> String {
        let start = Date(timeIntervalSince1970: seconds(of: DemoTime(1, 0, 0)) - (lead * rate).rounded())
        return "\(start.formatted(.iso8601))@\(rate)"
    }

    /// - Parameter time: the current time of the hub's clock, RFC 3339.
    init(rate: Double, showing time: String) {
        (self.rate, moment) = (rate, .now)
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: time.contains("."))
        shown = (try? format.parse(time))?.timeIntervalSince1970 ?? DemoCalendar.seconds(of: DemoTime(1, 0, 0))
    }

    /// The moment at which the hub's clock shows `time`.
    func moment(of time: DemoTime) -> ContinuousClock.Instant {
        moment + .seconds((DemoCalendar.seconds(of: time) - shown) / rate)
    }

    private init(rate: Double, showing seconds: Double) { (self.rate, moment, shown) = (rate, .now, seconds) }

    /// A calendar that continues from the current time at another rate.
    func going(at rate: Double) -> DemoCalendar { DemoCalendar(rate: rate, showing: now) }

    /// The current time of the hub's clock, in seconds since 1970.
    private var now: Double { shown + (ContinuousClock.now - moment) / .seconds(1) * rate }

    /// The current time of the hub's clock, as a simulator's clock option.
    var clock: String { clock(ahead: 0) }

    /// `START@RATE`, with the hub's time in `ahead` seconds of real time.
    func clock(ahead: Double) -> String {
        "\(Date(timeIntervalSince1970: (now + ahead * rate).rounded()).formatted(.iso8601))@\(rate)"
    }

    /// The current day of the hub's clock in the household's zone.
    var today: LocalDate {
        let zone = TimeZone(identifier: DemoCalendar.zone) ?? .gmt
        let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: now))
        return LocalDate(daysSinceEpoch: (Int(now) + offset) / 86_400)
    }

    /// The time with the zone's offset, for a record.
    static func timestamp(of time: DemoTime) -> Timestamp {
        let instant = seconds(of: time)
        return Timestamp(
            microseconds: Int64(instant * 1_000_000), offsetMinutes: Int16((Double(time.seconds) - instant) / 60))
    }

    /// Seconds since 1970.
    private static func seconds(of time: DemoTime) -> Double {
        let wall = Double(time.seconds)
        let zone = TimeZone(identifier: zone) ?? .gmt
        // Uses the offset of an hour earlier, so that a change within the same hour does not affect it.
        return wall - Double(zone.secondsFromGMT(for: Date(timeIntervalSince1970: wall - 3_600)))
    }
}
