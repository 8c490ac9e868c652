/// The daily sums of several sources, merged as in statistics so that nothing counts twice.
///
/// A reading contributes to each day of its clock in proportion to the time it spends in that day.
struct SumOfDays {
    private let merge: SourceMerge
    private let clocks: [DayClock]
    /// Clock by reading number; empty if there is only one clock.
    private var clockOf: [Int64: Int32] = [:]

    /// - Parameter readings: all counting readings that extend into the requested days, in any order.
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

    /// The sums of the given sorted days; omits days without a sum.
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

    /// The readings that contribute to a day.
    func counting(_ day: Int32) -> [Int64] {
        clocks.indices.flatMap { clock in
            let (start, end) = (clocks[clock].start(of: day), clocks[clock].start(of: day + 1))
            return start < end ? merge.counted(from: start, to: end, adding: isOf(Int32(clock))) : []
        }
    }

    private func isOf(_ clock: Int32) -> ((Portion) -> Bool)? {
        clocks.count > 1 ? { clockOf[$0.number] == clock } : nil
    }

    /// The days and the gaps between them, as adjacent intervals.
    private struct Cut {
        var borders: [Int64] = []
        /// The day of each interval; `nil` for a gap between days.
        var days: [Int32?] = []

        init(_ wanted: [Int32], _ clock: DayClock) {
            for day in wanted {
                let (start, end) = (clock.start(of: day), clock.start(of: day + 1))
                guard start < end else { continue }  // Skip a day that does not exist in the zone.
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
    /// Maximum length of a short reading.
    static let longestShort: Int64 = 43_200_000_000

    /// Whether the reading may extend beyond the days next to its own.
    var isLong: Bool { end - time > Self.longestShort }

    /// The last day that the reading extends into.
    func lastDay(_ clocks: [DayClock]) -> Int32 {
        end - 1 <= time ? day : max(day, clocks[Int(clock)].day(of: end - 1))
    }
}
