import FoundationEssentials
// Without it `TimeZone` knows no zone but GMT.
import FoundationInternationalization
import PluginKit
import ScaleFrames

/// What the wall clock beside the scale shows, and which instant a wall time was.
struct LocalClock: Sendable {
    let zone: TimeZone

    init(_ zone: TimeZone) { self.zone = zone }

    /// Its IANA name.
    var name: String { zone.identifier }

    /// A wall time that has been placed.
    struct Placed: Hashable, Sendable {
        var time: Timestamp
        /// The clock shows this time twice in that night; the first one was taken.
        var isAmbiguous = false
        /// The clock never shows this time, because it was put forward; the time moves forward with it.
        var isInGap = false
    }

    /// The instant at which a clock in this zone shows `wall`.
    ///
    /// A scale knows neither its zone nor daylight saving time, so two nights a year this is a rule and not a fact.
    func place(_ wall: WallTime) -> Placed {
        let local = wall.secondsSince2000 + Self.year2000
        // Rules change months apart, so the offsets of a day before and after are those around any change.
        let (before, after) = (offset(at: local - 86_400), offset(at: local + 86_400))
        let isBefore = offset(at: local - before) == before
        let isAfter = offset(at: local - after) == after
        let isInGap = !isBefore && !isAfter
        let instant = local - (isBefore || isInGap ? before : after)
        return Placed(
            time: timestamp(instant), isAmbiguous: isBefore && isAfter && before != after, isInGap: isInGap)
    }

    /// What the clock shows at `microseconds` since 1970; the year 2000 where no wall clock can.
    func wall(at microseconds: Int64) -> WallTime {
        let seconds = Int(microseconds / 1_000_000)
        return WallTime(secondsSince2000: seconds + offset(at: seconds) - Self.year2000) ?? .startOf2000
    }

    private static let year2000 = 946_684_800

    private func offset(at seconds: Int) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
    }

    private func timestamp(_ seconds: Int) -> Timestamp {
        let offset = offset(at: seconds)
        // RFC 3339 has no offsets of seconds; since 1972 no zone has one.
        let minutes = offset % 60 == 0 ? Int16(exactly: offset / 60) : nil
        return Timestamp(microseconds: Int64(seconds) * 1_000_000, offsetMinutes: minutes)
    }
}
