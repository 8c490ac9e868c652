/// The tallies of a span of time: all sources together, and each source separately.
public struct Figures: Sendable {
    /// All sources together.
    ///
    /// For a cumulative type the sources are merged.
    public var total = Tally()
    /// The tally of each source by rank, without the other sources and without records that mirror a better one; empty if not requested.
    ///
    /// If all records of a source that begin in the span are mirrors, its tally is empty.
    public var sources: [Int: Tally] = [:]

    /// Figures of a span without records.
    public init() {}

    /// Whether no record begins in the span and no earlier record counts in it.
    public var isEmpty: Bool { total.count == 0 && !total.isCounted }

    /// Adds the figures of an adjacent span.
    public mutating func add(_ other: Figures) {
        total.add(other.total)
        for (rank, tally) in other.sources { sources[rank, default: Tally()].add(tally) }
    }

    /// The figures between each border and the next, for a cumulative type.
    ///
    /// They do not depend on the other borders: the figures of two adjacent spans add up to those of the combined span.
    /// - Parameters:
    ///   - portions: all that extend into the time between the first border and the last, in any order; finite values.
    ///   - borders: in microseconds since 1970, ascending, at least two.
    ///   - bySource: whether ``sources`` is filled too.
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

    /// The figures between each border and the next, for a type that is not cumulative.
    ///
    /// - Parameters:
    ///   - levels: sorted by start. Contains all that begin between the first border and the last, and those that begin after it within the time
    ///     for which the last level of each source may hold.
    ///   - borders: in microseconds since 1970, ascending, at least two.
    ///   - style: how the type is aggregated.
    ///   - bySource: whether ``sources`` is filled too.
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

    /// Finds the next start of each level, reading backwards.
    private struct Following {
        private var start: Int64?
        private var later: Int64?

        /// The start of the next reading; readings at the same instant hold equally long.
        mutating func next(of level: Level) -> Int64? {
            if let start, start > level.start { later = start }
            start = level.start
            return later
        }
    }

    /// The index of the interval that contains an instant.
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
