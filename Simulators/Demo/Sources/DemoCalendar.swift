import Foundation
import Samples

/// When something of the plan is due: the month passes by the hub's clock, which runs faster than others.
struct DemoCalendar: Sendable {
    /// Where the household lives: a place whose clocks change in March, where this machine knows such places.
    static let zone = TimeZone(identifier: "Europe/Berlin") == nil ? "UTC" : "Europe/Berlin"

    /// Seconds of the month in one of real time.
    let rate: Double
    /// What the hub's clock showed at a moment, in seconds since 1970.
    private let shown: Double
    private let moment: ContinuousClock.Instant

    /// How long before the month the hub is started, in real time: it takes a moment until all scales are connected.
    static let lead = 3.0

    /// What `[hub] clock` says, for a month of so many days in so many seconds.
    static func setting(rate: Double) -> String {
        let start = Date(timeIntervalSince1970: seconds(of: DemoTime(1, 0, 0)) - (lead * rate).rounded())
        return "\(start.formatted(.iso8601))@\(rate)"
    }

    /// - Parameter time: what the hub's clock shows now, RFC 3339.
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

    /// A calendar that goes on from what this one shows now, with another rate.
    func going(at rate: Double) -> DemoCalendar { DemoCalendar(rate: rate, showing: now) }

    /// What the hub's clock shows now, in seconds since 1970.
    private var now: Double { shown + (ContinuousClock.now - moment) / .seconds(1) * rate }

    /// What the hub's clock shows now, for a simulator to begin with.
    var clock: String { clock(ahead: 0) }

    /// `START@RATE`, with what the hub's clock will show in `ahead` seconds of real time.
    func clock(ahead: Double) -> String {
        "\(Date(timeIntervalSince1970: (now + ahead * rate).rounded()).formatted(.iso8601))@\(rate)"
    }

    /// The day that the hub's clock shows now, where the household lives.
    var today: LocalDate {
        let zone = TimeZone(identifier: DemoCalendar.zone) ?? .gmt
        let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: now))
        return LocalDate(daysSinceEpoch: (Int(now) + offset) / 86_400)
    }

    /// With the offset of the place, for a record.
    static func timestamp(of time: DemoTime) -> Timestamp {
        let instant = seconds(of: time)
        return Timestamp(
            microseconds: Int64(instant * 1_000_000), offsetMinutes: Int16((Double(time.seconds) - instant) / 60))
    }

    /// Since 1970.
    private static func seconds(of time: DemoTime) -> Double {
        let wall = Double(time.seconds)
        let zone = TimeZone(identifier: zone) ?? .gmt
        // An hour before, so that the offset is that of before a change in the same hour.
        return wall - Double(zone.secondsFromGMT(for: Date(timeIntervalSince1970: wall - 3_600)))
    }
}
