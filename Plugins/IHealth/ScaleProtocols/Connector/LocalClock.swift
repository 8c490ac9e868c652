public import FoundationEssentials
// Without this import `TimeZone` knows only GMT.
import FoundationInternationalization
public import PluginKit

/// Converts between wall times of the clock beside the scale and instants.
public struct LocalClock: Sendable {
    public let zone: TimeZone

    public init(_ zone: TimeZone) { self.zone = zone }

    /// The IANA name of the zone.
    public var name: String { zone.identifier }

    /// A wall time with its instant.
    public struct Placed: Hashable, Sendable {
        public var time: Timestamp
        /// The clock shows this time twice in that night; the first instant was chosen.
        public var isAmbiguous = false
        /// The clock skips this time because it is put forward; the time moves forward with it.
        public var isInGap = false
    }

    /// The instant at which a clock in this zone shows `wall`.
    ///
    /// A scale knows neither its zone nor daylight saving time, so on two nights a year this is a convention and not a fact.
    public func place(_ wall: WallTime) -> Placed {
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

    /// The wall time at `microseconds` since 1970; the start of the year 2000 if no wall clock can show it.
    public func wall(at microseconds: Int64) -> WallTime {
        let seconds = Int(microseconds / 1_000_000)
        return WallTime(secondsSince2000: seconds + offset(at: seconds) - Self.year2000) ?? .startOf2000
    }

    /// The instant at which this machine's clock showed `wall`, close to `now`.
    ///
    /// A time that this machine has read from its own clock is unambiguous even in the night with a repeated hour.
    func instant(of wall: WallTime, near now: Int64) -> Int64 {
        Int64(wall.secondsSince2000 + Self.year2000 - offset(at: Int(now / 1_000_000))) * 1_000_000
    }

    /// The instant with the zone's offset at that time.
    func timestamp(at microseconds: Int64) -> Timestamp { timestamp(Int(microseconds / 1_000_000)) }

    /// Converts seconds since 2000 in UTC to microseconds since 1970.
    static func microseconds(since2000 seconds: Int) -> Int64 { Int64(seconds + year2000) * 1_000_000 }

    private static let year2000 = 946_684_800

    private func offset(at seconds: Int) -> Int {
        zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
    }

    private func timestamp(_ seconds: Int) -> Timestamp {
        let offset = offset(at: seconds)
        // RFC 3339 has no offsets with seconds; no zone has had one since 1972.
        let minutes = offset % 60 == 0 ? Int16(exactly: offset / 60) : nil
        return Timestamp(microseconds: Int64(seconds) * 1_000_000, offsetMinutes: minutes)
    }
}
