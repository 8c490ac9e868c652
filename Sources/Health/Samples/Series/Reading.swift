import FoundationEssentials
// Without this import `TimeZone` knows no zone but GMT.
import FoundationInternationalization

/// A measured value on its local day, reduced to the data a day value needs: 48 bytes, so that ten years fit in a cache.
public struct Reading: Hashable, Sendable {
    /// The hub's number of the record.
    ///
    /// It identifies the reading, and a day's basis refers to it.
    public var number: Int64
    /// The time of measurement or the start of the interval, in microseconds since 1970.
    public var time: Int64
    /// The end of the interval; equals `time` for an instant.
    public var end: Int64
    /// In the type's canonical unit.
    public var value: Double
    /// The local day, in days since 1970-01-01.
    public var day: Int32
    /// The source; the caller chooses a number for each source.
    public var source: Int32
    /// Index of the history's clock that assigns the reading to days.
    public var clock: Int32

    /// Creates a reading without checking its values.
    ///
    /// - Parameters:
    ///   - number: the hub's number of the record.
    ///   - time: the time of measurement or the start, in microseconds since 1970.
    ///   - end: not before `time`; defaults to `time`.
    ///   - value: in the type's canonical unit.
    ///   - day: the local day of `time`, in days since 1970-01-01.
    ///   - source: the caller's number of the source.
    ///   - clock: index of its clock in the history's clocks.
    public init(
        number: Int64, time: Int64, end: Int64? = nil, value: Double, day: Int32, source: Int32 = 0, clock: Int32 = 0
    ) {
        (self.number, self.time, self.end, self.value) = (number, time, end ?? time, value)
        (self.day, self.source, self.clock) = (day, source, clock)
    }
}

extension Reading: Comparable {
    /// Sorts by day, time and value, so that the order does not depend on the order of arrival.
    public static func < (left: Reading, right: Reading) -> Bool {
        if left.day != right.day { return left.day < right.day }
        if left.time != right.time { return left.time < right.time }
        if left.value != right.value { return left.value < right.value }
        return left.number < right.number
    }
}

/// The rules that divide a person's time into days.
public struct DayCalendar: Hashable, Sendable {
    /// The clock that decides the day.
    public var policy: LocalDay.ZonePolicy
    /// IANA name: the zone of `fixed` and, with `sample`, of samples without a local time.
    ///
    /// It is also the zone of "today".
    public var zone: String
    /// When a day begins, in minutes after midnight, 0…1439.
    public var dayStartMinutes: Int

    /// Creates a calendar; minutes outside 0…1439 trap.
    ///
    /// - Parameters:
    ///   - policy: whether a sample's own clock decides its day, or always the clock of `zone`.
    ///   - zone: IANA name of the person's zone.
    ///   - dayStartMinutes: when a day begins, in minutes after midnight.
    /// - Returns: `nil` if the machine does not know `zone`.
    public init?(_ policy: LocalDay.ZonePolicy = .sample, zone: String, dayStartMinutes: Int = 0) {
        guard
            LocalDay.number(
                of: Timestamp(microseconds: 0), sampleZone: nil, personZone: zone, dayStartMinutes: dayStartMinutes)
                != nil
        else { return nil }
        (self.policy, self.zone, self.dayStartMinutes) = (policy, zone, dayStartMinutes)
    }

    /// The day of a sample, in days since 1970-01-01; uses its offset if its own zone is not in the time zone database.
    public func day(of time: Timestamp, zone sampleZone: String? = nil) -> Int32 {
        let day =
            LocalDay.number(
                of: time, sampleZone: sampleZone, personZone: zone, policy: policy, dayStartMinutes: dayStartMinutes)
            ?? LocalDay.number(
                of: time, sampleZone: nil, personZone: zone, policy: policy, dayStartMinutes: dayStartMinutes)
        return Int32(clamping: day ?? 0)  // `zone` was known when this calendar was made.
    }

    /// The zone whose clock decides the day of a sample: an IANA name, or an offset such as `GMT+0530`.
    ///
    /// If the offset equals that of the person's zone at that time, the result is the person's zone, which also knows where the next day begins.
    public func zone(at time: Timestamp, zone sampleZone: String? = nil) -> String {
        guard policy == .sample else { return zone }
        if let sampleZone, TimeZone(identifier: sampleZone) != nil { return sampleZone }
        let seconds = Double(time.microseconds.flooredDivision(by: 1_000_000))
        guard let minutes = time.offsetMinutes,
            TimeZone(identifier: zone)?.secondsFromGMT(for: Date(timeIntervalSince1970: seconds)) != Int(minutes) * 60
        else { return zone }
        return TimeZone(secondsFromGMT: Int(minutes) * 60)?.identifier ?? zone
    }

    /// The current day at an instant in microseconds since 1970.
    public func today(at now: Int64) -> Int32 {
        Int32(
            clamping: LocalDay.number(
                of: Timestamp(microseconds: now), sampleZone: nil, personZone: zone, policy: .fixed,
                dayStartMinutes: dayStartMinutes) ?? 0)
    }

    /// The first instant of the next day, as a whole second, in microseconds since 1970.
    ///
    /// Searches for the instant at which ``today(at:)`` changes instead of computing a midnight, because some days have none.
    public func nextDay(after now: Int64) -> Int64 {
        let day = today(at: now)
        // No day is longer than 49 hours.
        var (low, high) = (now, now + 49 * 3_600_000_000)
        while high - low > 1_000_000 {
            let middle = low + (high - low) / 2
            if today(at: middle) > day { high = middle } else { low = middle }
        }
        return high - (high % 1_000_000 + 1_000_000) % 1_000_000
    }
}
