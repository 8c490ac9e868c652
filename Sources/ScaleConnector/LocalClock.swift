public import FoundationEssentials
// Without it `TimeZone` knows no zone but GMT.
import FoundationInternationalization
public import PluginKit
public import ScaleProtocols

/// What the wall clock beside the scale shows, and which instant a wall time was.
public struct LocalClock: Sendable {
    public let zone: TimeZone

    public init(_ zone: TimeZone) { self.zone = zone }

    /// Its IANA name.
    public var name: String { zone.identifier }

    /// A wall time that has been placed.
    public struct Placed: Hashable, Sendable {
        public var time: Timestamp
        /// The clock shows this time twice in that night; the first one was taken.
        public var isAmbiguous = false
        /// The clock never shows this time, because it was put forward; the time moves forward with it.
        public var isInGap = false
    }

    /// The instant at which a clock in this zone shows `wall`.
    ///
    /// A scale knows neither its zone nor daylight saving time, so two nights a year this is a rule and not a fact.
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

    /// What the clock shows at `microseconds` since 1970; the year 2000 where no wall clock can.
    public func wall(at microseconds: Int64) -> WallTime {
        let seconds = Int(microseconds / 1_000_000)
        return WallTime(secondsSince2000: seconds + offset(at: seconds) - Self.year2000) ?? .startOf2000
    }

    /// The instant at which this machine's clock showed `wall`, close to `now`.
    ///
    /// What this machine has read from its own clock is a fact also in the night that has an hour twice.
    func instant(of wall: WallTime, near now: Int64) -> Int64 {
        Int64(wall.secondsSince2000 + Self.year2000 - offset(at: Int(now / 1_000_000))) * 1_000_000
    }

    /// The instant with the offset that the zone has then.
    func timestamp(at microseconds: Int64) -> Timestamp { timestamp(Int(microseconds / 1_000_000)) }

    /// Microseconds since 1970, of seconds since 2000 in UTC.
    static func microseconds(since2000 seconds: Int) -> Int64 { Int64(seconds + year2000) * 1_000_000 }

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
