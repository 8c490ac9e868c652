public import Samples

/// The tallies of a span of time: of all sources together, and of each by itself.
public struct Figures: Sendable {
    /// Sources are merged in it where the type is added up.
    public var total = Tally()
    /// By rank, as if there were no other source, but without what mirrors a record of a better one; empty if that was not asked for.
    ///
    /// If all records of a source that begin in the span mirror others, its tally is empty.
    public var sources: [Int: Tally] = [:]

    public init() {}

    /// Whether no record begins in the span, and none that began before counts in it.
    public var isEmpty: Bool { total.count == 0 && !total.isCounted }

    public mutating func add(_ other: Figures) {
        total.add(other.total)
        for (rank, tally) in other.sources { sources[rank, default: Tally()].add(tally) }
    }

    /// The figures between each border and the next, of a type that is added up.
    ///
    /// They do not depend on where else time is cut: those of two spans side by side add up to those of both together.
    /// - Parameters:
    ///   - portions: all that reach into the time between the first border and the last, in any order; finite values.
    ///   - borders: in microseconds since 1970, rising, two at least.
    public static func sums(_ portions: [Portion], _ borders: [Int64], bySource: Bool) -> [Figures] {
        var figures = Array(repeating: Figures(), count: borders.count - 1)
        let portions = portions.sorted(by: SourceMerge.precedes)
        let mirrors = Mirrors.find(portions)
        let counting = mirrors.isEmpty ? portions : portions.indices.filter { mirrors[$0] == nil }.map { portions[$0] }
        for (place, total) in SourceMerge(counting: counting).totals(borders).enumerated() {
            if let total { figures[place].total.add(total) }
        }
        for (index, portion) in portions.enumerated() {
            guard let place = Figures.place(of: portion.start, among: borders) else { continue }
            if mirrors[index] != nil {
                if bySource { figures[place].sources[portion.rank, default: Tally()].add(Tally()) }
                continue
            }
            let reading = Tally.Reading(
                number: portion.number, start: portion.start, end: portion.end, value: portion.value)
            figures[place].total.note(reading)
            if bySource { figures[place].sources[portion.rank, default: Tally()].note(reading) }
        }
        guard bySource else { return figures }
        for (rank, own) in Dictionary(grouping: counting, by: \.rank) {
            for (place, total) in SourceMerge(counting: own).totals(borders).enumerated() {
                if let total { figures[place].sources[rank, default: Tally()].add(total) }
            }
        }
        return figures
    }

    /// The figures between each border and the next, of a type that is not added up.
    ///
    /// - Parameters:
    ///   - levels: by start; all that begin between the first border and the last, and those that begin after it within the time that the last
    ///     ones of each source may hold.
    public static func levels(
        _ levels: [Level], _ borders: [Int64], _ style: AggregationStyle, bySource: Bool
    ) -> [Figures] {
        var figures = Array(repeating: Figures(), count: borders.count - 1)
        var all = Following()
        var own: [Int: Following] = [:]
        let mirrors = Mirrors.find(levels)
        for index in levels.indices.reversed() {
            let level = levels[index]
            let next = all.next(of: level)
            let nextOfSource = bySource ? own[level.rank, default: Following()].next(of: level) : nil
            guard let place = Figures.place(of: level.start, among: borders) else { continue }
            if mirrors[index] != nil {
                if bySource { figures[place].sources[level.rank, default: Tally()].add(Tally()) }
                continue
            }
            figures[place].total.add(level, style, until: next)
            if bySource {
                figures[place].sources[level.rank, default: Tally()].add(level, style, until: nextOfSource)
            }
        }
        return figures
    }

    /// What begins after what, read backwards.
    private struct Following {
        private var start: Int64?
        private var later: Int64?

        /// When the reading after this one begins; those of one instant hold as long as one another.
        mutating func next(of level: Level) -> Int64? {
            if let start, start > level.start { later = start }
            start = level.start
            return later
        }
    }

    /// The interval in which an instant lies.
    private static func place(of time: Int64, among borders: [Int64]) -> Int? {
        guard let first = borders.first, let last = borders.last, first <= time, time < last else { return nil }
        var (low, high) = (0, borders.count - 1)
        while high - low > 1 {
            let middle = (low + high) / 2
            if borders[middle] <= time { low = middle } else { high = middle }
        }
        return low
    }
}
