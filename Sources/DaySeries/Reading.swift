import FoundationEssentials
// Without it `TimeZone` knows no zone but GMT.
import FoundationInternationalization
public import Samples

/// A measured value on its local day, as far as a day value is made of it: 48 bytes, so that ten years fit in a cache.
public struct Reading: Hashable, Sendable {
    /// The hub's number of the record: its identity, and what a day names in its basis.
    public var number: Int64
    /// When it was measured, in microseconds since 1970; of an interval when it began.
    public var time: Int64
    /// When it ended; `time` for what has no length.
    public var end: Int64
    /// In the type's one unit.
    public var value: Double
    /// The local day, in days since 1970-01-01.
    public var day: Int32
    /// Which source it came from; a number of the caller's choice, the same for the same source.
    public var source: Int32
    /// Which of a history's clocks cuts it into days.
    public var clock: Int32

    /// A reading; nothing is checked.
    ///
    /// - Parameters:
    ///   - number: the hub's number of the record.
    ///   - time: when it was measured or began, in microseconds since 1970.
    ///   - end: not before `time`, which it is where none is given.
    ///   - value: in the type's one unit.
    ///   - day: the local day of `time`, in days since 1970-01-01.
    ///   - source: the caller's number of the source.
    ///   - clock: the place of its clock among those of the history.
    public init(
        number: Int64, time: Int64, end: Int64? = nil, value: Double, day: Int32, source: Int32 = 0, clock: Int32 = 0
    ) {
        (self.number, self.time, self.end, self.value) = (number, time, end ?? time, value)
        (self.day, self.source, self.clock) = (day, source, clock)
    }
}

extension Reading: Comparable {
    /// By day, then time, then value: an order that does not depend on when a reading arrived, wherever that could be told.
    public static func < (left: Reading, right: Reading) -> Bool {
        if left.day != right.day { return left.day < right.day }
        if left.time != right.time { return left.time < right.time }
        if left.value != right.value { return left.value < right.value }
        return left.number < right.number
    }
}

/// What cuts a person's time into days.
public struct DayCalendar: Hashable, Sendable {
    /// The clock that tells the day.
    public var policy: LocalDay.ZonePolicy
    /// IANA name: the zone of `fixed`, and with `sample` that of samples without a local time; also the zone of "today".
    public var zone: String
    /// When a day begins, in minutes after midnight, 0…1439.
    public var dayStartMinutes: Int

    /// A calendar; minutes outside 0…1439 trap.
    ///
    /// - Parameters:
    ///   - policy: whether a sample's own clock tells its day, or always that of `zone`.
    ///   - zone: IANA name of the person's zone.
    ///   - dayStartMinutes: when a day begins, in minutes after midnight.
    /// - Returns: `nil` when the machine does not know `zone`.
    public init?(_ policy: LocalDay.ZonePolicy = .sample, zone: String, dayStartMinutes: Int = 0) {
        guard
            LocalDay.number(
                of: Timestamp(microseconds: 0), sampleZone: nil, personZone: zone, dayStartMinutes: dayStartMinutes)
                != nil
        else { return nil }
        (self.policy, self.zone, self.dayStartMinutes) = (policy, zone, dayStartMinutes)
    }

    /// The day of a sample, in days since 1970-01-01; where its own zone is not in the database of zones, by its offset.
    public func day(of time: Timestamp, zone sampleZone: String? = nil) -> Int32 {
        let day =
            LocalDay.number(
                of: time, sampleZone: sampleZone, personZone: zone, policy: policy, dayStartMinutes: dayStartMinutes)
            ?? LocalDay.number(
                of: time, sampleZone: nil, personZone: zone, policy: policy, dayStartMinutes: dayStartMinutes)
        return Int32(clamping: day ?? 0)  // `zone` was known when this calendar was made.
    }

    /// The zone whose clock tells the day of a sample: IANA name, or an offset as `GMT+0530`.
    ///
    /// An offset that the person's zone has just then stands for that zone, which also knows where the next day begins.
    public func zone(at time: Timestamp, zone sampleZone: String? = nil) -> String {
        guard policy == .sample else { return zone }
        if let sampleZone, TimeZone(identifier: sampleZone) != nil { return sampleZone }
        let seconds = Double(time.microseconds.flooredDivision(by: 1_000_000))
        guard let minutes = time.offsetMinutes,
            TimeZone(identifier: zone)?.secondsFromGMT(for: Date(timeIntervalSince1970: seconds)) != Int(minutes) * 60
        else { return zone }
        return TimeZone(secondsFromGMT: Int(minutes) * 60)?.identifier ?? zone
    }

    /// Today at an instant, in microseconds since 1970.
    public func today(at now: Int64) -> Int32 {
        Int32(
            clamping: LocalDay.number(
                of: Timestamp(microseconds: now), sampleZone: nil, personZone: zone, policy: .fixed,
                dayStartMinutes: dayStartMinutes) ?? 0)
    }

    /// The first instant of the day after today, in microseconds since 1970, to the second.
    ///
    /// Asked of the clock, not computed from a midnight: on some days there is none.
    public func nextDay(after now: Int64) -> Int64 {
        let day = today(at: now)
        // No day is longer than that, and none that follows begins before a minute has passed.
        var (low, high) = (now, now + 49 * 3_600_000_000)
        while high - low > 1_000_000 {
            let middle = low + (high - low) / 2
            if today(at: middle) > day { high = middle } else { low = middle }
        }
        return high - (high % 1_000_000 + 1_000_000) % 1_000_000
    }
}
