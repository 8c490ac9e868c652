import Foundation
import HubSettings

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

    /// What the hub's clock shows now, for a simulator to begin with.
    var clock: String {
        let passed = (ContinuousClock.now - moment) / .milliseconds(1) / 1_000 * rate
        return "\(Date(timeIntervalSince1970: (shown + passed).rounded()).formatted(.iso8601))@\(rate)"
    }

    /// Since 1970.
    private static func seconds(of time: DemoTime) -> Double {
        // March 2026 begins on day 20,513 since 1970.
        let wall = Double((20_512 + time.day) * 86_400 + time.minute * 60)
        let zone = TimeZone(identifier: zone) ?? .gmt
        // An hour before, so that the offset is that of before a change in the same hour.
        return wall - Double(zone.secondsFromGMT(for: Date(timeIntervalSince1970: wall - 3_600)))
    }
}
