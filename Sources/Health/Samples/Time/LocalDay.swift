package import FoundationEssentials
// Without this import `TimeZone` knows no zone but GMT.
import FoundationInternationalization

/// The one place that decides which day a sample belongs to.
public enum LocalDay {
    /// The clock that decides the day.
    public enum ZonePolicy: Hashable, Sendable {
        /// The clock at the place of measurement: the sample's zone, else its offset, else `zone` of the person.
        case sample
        /// Always the person's own zone, wherever they were.
        case fixed
    }

    /// The local day of a sample.
    ///
    /// A zone is more precise than an offset, so if a sample has both, the zone counts. Safe on every thread. Costs a look-up in
    /// Foundation's cache of zones if a zone is needed, else a few divisions.
    ///
    /// - Parameters:
    ///   - time: the sample's `start`.
    ///   - sampleZone: the IANA zone the sample names, if any.
    ///   - personZone: the zone of the person, used if the sample has no local time.
    ///   - policy: whether the sample's own clock decides the day, or always the person's clock.
    ///   - dayStartMinutes: when a day begins on the wall clock, in minutes after midnight, 0…1439. With 240, an event at
    ///     03:59 belongs to the day before. Other numbers are a programming error and trap.
    /// - Returns: `nil` only if the required zone is not in Foundation's time zone database.
    public static func of(
        _ time: Timestamp, sampleZone: String?, personZone: String, policy: ZonePolicy = .sample,
        dayStartMinutes: Int = 0
    ) -> LocalDate? {
        number(
            of: time, sampleZone: sampleZone, personZone: personZone, policy: policy, dayStartMinutes: dayStartMinutes
        ).map(LocalDate.init(daysSinceEpoch:))
    }

    /// The same day as ``LocalDate/daysSinceEpoch``, for callers that sort many samples.
    public static func number(
        of time: Timestamp, sampleZone: String?, personZone: String, policy: ZonePolicy = .sample,
        dayStartMinutes: Int = 0
    ) -> Int? {
        precondition((0..<1_440).contains(dayStartMinutes), "a day starts 0 to 1439 minutes after midnight")
        return localSeconds(of: time, sampleZone, personZone, policy).map { seconds in
            Int((seconds - Int64(dayStartMinutes) * 60).flooredDivision(by: 86_400))
        }
    }

    /// The local date and time at the place of measurement: from the sample's zone, else its offset, else `zone` of the person.
    ///
    /// - Returns: the date, and the time as `HH:MM:SS`; `nil` if the required zone is not in Foundation's time zone database.
    public static func clock(
        of time: Timestamp, sampleZone: String?, personZone: String
    ) -> (date: LocalDate, time: String)? {
        localSeconds(of: time, sampleZone, personZone, .sample).map { seconds in
            let day = seconds.flooredDivision(by: 86_400)
            let rest = seconds - day * 86_400
            let parts = [rest / 3_600, rest / 60 % 60, rest % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
            return (LocalDate(daysSinceEpoch: Int(day)), parts.joined(separator: ":"))
        }
    }

    /// The first instant of a day in a zone, with the offset at that instant.
    ///
    /// If midnight occurs twice, it is the first one. If the clocks skip midnight, the day begins when they move forward.
    package static func start(of date: LocalDate, in zone: TimeZone) -> Timestamp {
        let local = Int64(date.daysSinceEpoch) * 86_400
        let instant = instant(at: local, in: zone)
        let minutes = (local - instant).quotientAndRemainder(dividingBy: 60)
        return Timestamp(
            microseconds: instant * 1_000_000,
            offsetMinutes: minutes.remainder == 0 ? Int16(exactly: minutes.quotient) : nil)
    }

    /// The instant at which the clocks of a zone show a local time, in seconds since 1970.
    ///
    /// If the local time occurs twice, the result is the first one. If the clocks skip it, the result is later by the length of the skip.
    ///
    /// - Parameter local: seconds since 1970 as the clock shows them.
    package static func instant(at local: Int64, in zone: TimeZone) -> Int64 {
        let before = local - offsetSeconds(of: zone, at: local - 86_400)
        let after = local - offsetSeconds(of: zone, at: local + 86_400)
        let isAfter =
            before + offsetSeconds(of: zone, at: before) != local && after + offsetSeconds(of: zone, at: after) == local
        return isAfter ? after : before
    }

    private static func offsetSeconds(of zone: TimeZone, at seconds: Int64) -> Int64 {
        Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
    }

    /// Seconds since 1970 as the clock shows them.
    private static func localSeconds(
        of time: Timestamp, _ sampleZone: String?, _ personZone: String, _ policy: ZonePolicy
    ) -> Int64? {
        let seconds = time.wholeSeconds
        let offset: Int? =
            switch (policy, sampleZone, time.offsetMinutes) {
            case (.sample, let zone?, _): offsetSeconds(of: zone, at: seconds)
            case (.sample, nil, let minutes?): Int(minutes) * 60
            default: offsetSeconds(of: personZone, at: seconds)
            }
        return offset.map { seconds + Int64($0) }
    }

    /// Takes whole seconds, because zones change only at whole seconds and a `Date`, which is a double, represents those exactly.
    private static func offsetSeconds(of zone: String, at seconds: Int64) -> Int? {
        TimeZone(identifier: zone)?.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
    }
}

extension Timestamp {
    /// The same instant with the zone's offset at that instant.
    ///
    /// The offset is unknown if it is not a whole number of minutes, as before zones were agreed on, because RFC 3339 cannot write seconds.
    package func local(in zone: TimeZone) -> Timestamp {
        let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(wholeSeconds)))
        return Timestamp(
            microseconds: microseconds, offsetMinutes: offset % 60 == 0 ? Int16(exactly: offset / 60) : nil)
    }
}
