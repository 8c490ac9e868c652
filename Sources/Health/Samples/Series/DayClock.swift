/// The starts of the days in a zone, with the same borders as daily statistics.
public struct DayClock: Sendable {
    private let days: Intervals
    private let anchor = Int32(Intervals.usualAnchor.daysSinceEpoch)
    /// Day starts that have already been looked up.
    private var known: [Int32: Int64] = [:]

    /// Creates the clock of a zone.
    ///
    /// - Parameters:
    ///   - zone: IANA name, or an offset such as `GMT+0530`.
    ///   - dayStartMinutes: when a day begins, in minutes after midnight, 0…1439.
    /// - Returns: `nil` if the machine does not know the zone.
    public init?(zone: String, dayStartMinutes: Int = 0) {
        guard let days = Intervals(.day, zone: zone, dayStartMinutes: dayStartMinutes) else { return nil }
        self.days = days
    }

    /// The first instant of a day, in microseconds since 1970.
    func start(of day: Int32) -> Int64 { known[day] ?? days.border(Int(day) - Int(anchor)) }

    /// The day that contains an instant.
    public func day(of time: Int64) -> Int32 {
        // A zone change shifts midnight by hours, and occasionally by a whole day.
        var day = anchor + Int32(clamping: (time - days.anchor).flooredDivision(by: 86_400_000_000))
        while start(of: day) > time { day -= 1 }
        while start(of: day + 1) <= time { day += 1 }
        return day
    }

    /// The day that contains an instant, cached for the next call.
    public mutating func learnedDay(of time: Int64) -> Int32 {
        let day = day(of: time)
        for day in day...day + 1 where known[day] == nil { known[day] = start(of: day) }
        return day
    }
}
