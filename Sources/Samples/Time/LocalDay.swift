import FoundationEssentials

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
    /// - Parameters:
    ///   - time: the sample's `start`.
    ///   - sampleZone: the IANA zone the sample names, if any.
    ///   - personZone: the zone of the person, used where the sample knows no local time.
    ///   - dayStartMinutes: when a day begins, in minutes after midnight (0…1439): with 240, what happens at 03:59 belongs to the day before.
    /// - Returns: `nil` only when a zone name is unknown to the system's time zone database.
    public static func of(
        _ time: Timestamp, sampleZone: String?, personZone: String, policy: ZonePolicy = .sample, dayStartMinutes: Int = 0
    ) -> LocalDate? {
        let offsetSeconds: Int
        switch (policy, sampleZone, time.offsetMinutes) {
        case (.sample, let zone?, _):
            guard let seconds = offset(of: zone, at: time.microseconds) else { return nil }
            offsetSeconds = seconds
        case (.sample, nil, let minutes?):
            offsetSeconds = Int(minutes) * 60
        default:
            guard let seconds = offset(of: personZone, at: time.microseconds) else { return nil }
            offsetSeconds = seconds
        }
        let local = time.microseconds + (Int64(offsetSeconds) - Int64(dayStartMinutes) * 60) * 1_000_000
        return LocalDate(daysSinceEpoch: Int(local.flooredDivision(by: 86_400_000_000)))
    }

    private static func offset(of zone: String, at microseconds: Int64) -> Int? {
        TimeZone(identifier: zone)?.secondsFromGMT(for: Date(timeIntervalSince1970: Double(microseconds) / 1_000_000))
    }
}
