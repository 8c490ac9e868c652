package import FoundationEssentials
// Without it `TimeZone` knows no zone but GMT.
import FoundationInternationalization

/// The one place that decides which day a sample belongs to.
public enum LocalDay {
    /// Which clock tells the day.
    public enum ZonePolicy: Hashable, Sendable {
        /// The clock at the place of measurement: the sample's zone, else its offset, else `zone` of the person.
        case sample
        /// Always the person's own zone, wherever they were.
        case fixed
    }

    /// The local day of a sample.
    ///
    /// A zone tells more than an offset, so where a sample has both, the zone counts. Safe on every thread; costs a look-up in
    /// Foundation's cache of zones where a zone is needed, else a few divisions.
    ///
    /// - Parameters:
    ///   - time: the sample's `start`.
    ///   - sampleZone: the IANA zone the sample names, if any.
    ///   - personZone: the zone of the person, used where the sample knows no local time.
    ///   - policy: whether the sample's own clock tells the day, or always the person's.
    ///   - dayStartMinutes: when a day begins on the wall clock, in minutes after midnight, 0…1439: with 240, what happens at
    ///     03:59 belongs to the day before. Other numbers are a mistake of the program and trap.
    /// - Returns: `nil` when the zone that is needed is not in Foundation's time zone database, and only then.
    public static func of(
        _ time: Timestamp, sampleZone: String?, personZone: String, policy: ZonePolicy = .sample,
        dayStartMinutes: Int = 0
    ) -> LocalDate? {
        number(
            of: time, sampleZone: sampleZone, personZone: personZone, policy: policy, dayStartMinutes: dayStartMinutes
        ).map(LocalDate.init(daysSinceEpoch:))
    }

    /// The same day as ``LocalDate/daysSinceEpoch``, for those who have many samples to sort.
    public static func number(
        of time: Timestamp, sampleZone: String?, personZone: String, policy: ZonePolicy = .sample,
        dayStartMinutes: Int = 0
    ) -> Int? {
        precondition((0..<1_440).contains(dayStartMinutes), "a day starts 0 to 1439 minutes after midnight")
        return localSeconds(of: time, sampleZone, personZone, policy).map { seconds in
            Int((seconds - Int64(dayStartMinutes) * 60).flooredDivision(by: 86_400))
        }
    }

    /// What the clock at the place of measurement shows: the sample's zone, else its offset, else `zone` of the person.
    ///
    /// - Returns: the date, and the time as `HH:MM:SS`; `nil` when the zone that is needed is not in Foundation's time zone database.
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

    /// The first instant of a day by the clocks of a zone, written as the midnight of that day.
    ///
    /// Of a midnight that the clocks show twice it is the first; a day whose midnight they skip begins when they do.
    package static func start(of date: LocalDate, in zone: TimeZone) -> Timestamp {
        let local = Int64(date.daysSinceEpoch) * 86_400
        let instant = instant(at: local, in: zone)
        let minutes = (local - instant).quotientAndRemainder(dividingBy: 60)
        return Timestamp(
            microseconds: instant * 1_000_000,
            offsetMinutes: minutes.remainder == 0 ? Int16(exactly: minutes.quotient) : nil)
    }

    /// When the clocks of a zone show a time, in seconds since 1970.
    ///
    /// A time that they show twice is the first of the two; one that they skip is as much later as they are put forward.
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

    /// Zones change at whole seconds, and only those a `Date`, which is a double, names exactly.
    private static func offsetSeconds(of zone: String, at seconds: Int64) -> Int? {
        TimeZone(identifier: zone)?.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
    }
}

extension Timestamp {
    /// The same instant with the offset that the clocks of a zone have at it.
    ///
    /// Before zones were agreed on, clocks differed by seconds, which RFC 3339 cannot write: then the offset is unknown.
    package func local(in zone: TimeZone) -> Timestamp {
        let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(wholeSeconds)))
        return Timestamp(
            microseconds: microseconds, offsetMinutes: offset % 60 == 0 ? Int16(exactly: offset / 60) : nil)
    }
}
