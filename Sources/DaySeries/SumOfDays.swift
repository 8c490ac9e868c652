import HealthStatistics

/// What was counted on each day, of several sources: as statistics merge them, so that nothing counts twice.
///
/// A reading gives each day of its own clock the share of its value that the day has of its time.
struct SumOfDays {
    private let merge: SourceMerge
    private let clocks: [DayClock]
    /// By number, where there are several clocks.
    private var clockOf: [Int64: Int32] = [:]

    /// - Parameter readings: all that count and reach into the days that are asked for, in any order.
    init(_ readings: some Sequence<Reading>, _ rules: SeriesRules, _ clocks: [DayClock]) {
        self.clocks = clocks
        var portions: [Portion] = []
        for reading in readings {
            if clocks.count > 1 { clockOf[reading.number] = reading.clock }
            portions.append(
                Portion(
                    number: reading.number, start: reading.time, end: reading.end, value: reading.value,
                    rank: rules.rank(of: reading.source)))
        }
        merge = SourceMerge(counting: portions)
    }

    /// The days that have anything, of these, which are in order.
    func values(_ days: [Int32]) -> [MeasuredDay] {
        guard !days.isEmpty else { return [] }
        var sums: [Int32: ExactSum] = [:]
        for clock in clocks.indices {
            let cut = Cut(days, clocks[clock])
            for (day, total) in zip(cut.days, merge.totals(cut.borders, adding: isOf(Int32(clock)))) {
                if let day, let total { sums[day, default: ExactSum()].add(total.sum) }
            }
        }
        return days.compactMap { day in
            sums[day]?.rounded.map { MeasuredDay(day: day, value: $0) }
        }
    }

    /// The readings that something counts of on a day.
    func counting(_ day: Int32) -> [Int64] {
        clocks.indices.flatMap { clock in
            let (start, end) = (clocks[clock].start(of: day), clocks[clock].start(of: day + 1))
            return start < end ? merge.counted(from: start, to: end, adding: isOf(Int32(clock))) : []
        }
    }

    private func isOf(_ clock: Int32) -> ((Portion) -> Bool)? {
        clocks.count > 1 ? { clockOf[$0.number] == clock } : nil
    }

    /// Days and what lies between them as intervals side by side.
    private struct Cut {
        var borders: [Int64] = []
        /// One for each interval; `nil` between days.
        var days: [Int32?] = []

        init(_ wanted: [Int32], _ clock: DayClock) {
            for day in wanted {
                let (start, end) = (clock.start(of: day), clock.start(of: day + 1))
                guard start < end else { continue }  // A day that the zone has left out.
                if let last = borders.last, last < start {
                    days.append(nil)
                    borders.append(start)
                } else if borders.isEmpty {
                    borders.append(start)
                }
                days.append(day)
                borders.append(end)
            }
        }
    }
}

extension Reading {
    /// How far a reading that is not long reaches.
    static let longestShort: Int64 = 43_200_000_000

    /// Whether it may reach beyond the days next to its own.
    var isLong: Bool { end - time > Self.longestShort }

    /// The last day that it reaches into.
    func lastDay(_ clocks: [DayClock]) -> Int32 {
        end - 1 <= time ? day : max(day, clocks[Int(clock)].day(of: end - 1))
    }
}
