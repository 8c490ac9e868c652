import GRDB
import HealthStatistics
import Samples

/// The samples that statistics of one person and type are made of, within one snapshot of the store.
///
/// Quantities that stand, are not hardly true, and were not filled in by anything.
struct StatisticsReadings {
    private let query: StatisticsQuery
    private let reader: Reader
    private let range: HistoryRange
    let unit: Int64
    private let conditions: String
    private let ranks: Ranks
    /// What is kept of whole hours; `nil` where nothing is, or where the question asks for some sources alone.
    let rolled: RolledHours?

    /// `nil` where the store has nothing of them.
    init?(_ query: StatisticsQuery, _ reader: Reader) throws {
        (self.query, self.reader) = (query, reader)
        var filtered = RecordQuery()
        (filtered.types, filtered.persons, filtered.sources) = ([query.type], [.person(query.person)], query.sources)
        let filter = try Filter(filtered, in: reader.db)
        guard !filter.isEmpty, let range = try HistoryRange.samples(filter, in: reader.db).first,
            let unit = try Filter.id("SELECT id FROM term WHERE text = ?", query.unit, reader.db)
        else { return nil }
        (self.range, self.unit) = (range, unit)
        ranks = Ranks(query.priority, reader)
        rolled = try RolledHours(query, Rollup.Key(person: range.person, type: range.type), unit: unit, reader.db)
        conditions =
            ([
                "kind = 0", "unit = ?5", "retracted IS NULL", "implausible IS NULL", "provenance <> 2",
            ] + filter.from).joined(separator: " AND ")
    }

    /// Whose they are; `nil` where they have no person.
    var key: Rollup.Key? { range.person == 0 ? nil : Rollup.Key(person: range.person, type: range.type) }

    /// From where to where there may be something.
    func extent() throws -> Range<Int64>? {
        guard let starts = try starts() else { return nil }
        let reach = query.style == .cumulative ? range.longest : 0
        return starts.lowerBound..<starts.upperBound + reach + 1
    }

    /// When the first and the last sample begin, whether they count or not.
    func starts() throws -> ClosedRange<Int64>? {
        func edge(_ order: String) throws -> Int64? {
            let statement = try RawStatement(
                cached: """
                    SELECT start FROM sample INDEXED BY sample_history WHERE person IS ?1 AND type = ?2
                    ORDER BY start \(order) LIMIT 1
                    """, in: reader.db)
            defer { statement.clear() }
            bind(statement)
            return try statement.step() ? statement.integer(0) : nil
        }
        guard let first = try edge("ASC"), let last = try edge("DESC") else { return nil }
        return first...last
    }

    /// When the first sample begins that does so at or after `time`, whether it counts or not.
    func start(from time: Int64) throws -> Int64? {
        let statement = try RawStatement(
            cached: """
                SELECT start FROM sample INDEXED BY sample_history WHERE person IS ?1 AND type = ?2 AND start >= ?3
                ORDER BY start LIMIT 1
                """, in: reader.db)
        defer { statement.clear() }
        bind(statement)
        statement.bind(3, time)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// The figures between each border and the next, how many samples they were made of, and where the last of these ends.
    ///
    /// - Returns: `nil` where more than so many samples begin in more than an hour.
    func figures(_ borders: [Int64], most: Int) throws -> (figures: [Figures], count: Int, reach: Int64?)? {
        guard let from = borders.first, let to = borders.last else { return ([], 0, nil) }
        let most = to - from > StatisticsWalk.Course.strides.lowerBound ? most : .max
        if query.style == .cumulative {
            guard let portions = try portions(from, to, most: most) else { return nil }
            let reach = portions.lazy.map { max($0.end, $0.start + 1) }.max()
            return (Figures.sums(portions, borders, bySource: query.isBySource), portions.count, reach)
        }
        guard let levels = try levels(from, to, most: most) else { return nil }
        let reach = levels.lazy.filter { $0.start < to }.map { max($0.end, $0.start + 1) }.max()
        return (Figures.levels(levels, borders, query.style, bySource: query.isBySource), levels.count, reach)
    }

    /// All samples that reach into a span.
    private func portions(_ from: Int64, _ to: Int64, most: Int) throws -> [Portion]? {
        var spanned = RecordQuery()
        spanned.from = from
        var portions: [Portion] = []
        for (part, low, _) in Overhang.lanes(spanned, longest: range.longest, endFloor: nil, isSplit: false) {
            let limits = (part.demand + part.limit).map { " AND \($0)" }.joined()
            let rows = try rows(
                from: low, to: to, by: part.index, limits + " AND (start >= ?6 OR start + duration > ?6)")
            defer { rows.clear() }
            rows.bind(6, from)
            while try rows.step() {
                guard portions.count < most else { return nil }
                let start = rows.integer(1)
                portions.append(
                    Portion(
                        number: rows.integer(0), start: start, end: start + rows.integer(2), value: rows.double(3),
                        rank: try ranks.rank(of: rows.integer(4))))
            }
        }
        return portions
    }

    /// The readings that begin in a span, by start, and those after it that may end what the last of them hold.
    private func levels(_ from: Int64, _ to: Int64, most: Int) throws -> [Level]? {
        var count = 0
        var levels = try levels(from: from, to: to) { _ in
            count += 1
            return count <= most
        }
        guard count <= most else { return nil }
        guard query.style.isWeighed, let last = levels.last else { return levels }
        var waiting = Set(levels.map(\.rank))
        let held = levels.map { min($0.end - $0.start, Tally.longestHold) }.max() ?? 0
        levels += try self.levels(from: to, to: last.start + max(held, Tally.holdTime)) { level in
            // The next of each source is enough; of all together the next of any is.
            waiting.remove(level.rank)
            return query.isBySource && !waiting.isEmpty
        }
        return levels
    }

    private func levels(from: Int64, to: Int64, until goesOn: (Level) -> Bool) throws -> [Level] {
        let rows = try rows(from: from, to: to, by: "sample_history", "")
        defer { rows.clear() }
        var levels: [Level] = []
        while try rows.step() {
            let start = rows.integer(1)
            let level = Level(
                number: rows.integer(0), start: start, end: start + rows.integer(2), value: rows.double(3),
                rank: try ranks.rank(of: rows.integer(4)))
            levels.append(level)
            if !goesOn(level) { break }
        }
        return levels
    }

    private func rows(from: Int64, to: Int64, by index: String, _ limits: String) throws -> RawStatement {
        let sql = """
            SELECT number, start, duration, value, source FROM sample INDEXED BY \(index)
            WHERE person IS ?1 AND type = ?2 AND start >= ?3 AND start < ?4 AND \(conditions)\(limits)
            ORDER BY start, number
            """
        // Of lists of sources there may be very many.
        let statement =
            try query.sources == nil
            ? RawStatement(cached: sql, in: reader.db) : RawStatement(new: sql, in: reader.db)
        bind(statement)
        statement.bind(3, from)
        statement.bind(4, to)
        statement.bind(5, unit)
        return statement
    }

    private func bind(_ statement: RawStatement) {
        statement.bind(1, range.person)
        statement.bind(2, range.type)
    }

    /// What was kept, with the sources by their ranks.
    func figures(_ hour: RolledDay.Hour) throws -> Figures {
        var figures = Figures()
        figures.total = hour.total
        for (source, tally) in hour.sources { figures.sources[try ranks.rank(of: source)] = tally }
        return figures
    }

    /// The same the other way round.
    func rolled(_ figures: Figures) -> RolledDay.Hour {
        var hour = RolledDay.Hour(total: figures.total)
        for (rank, tally) in figures.sources { hour.sources[Ranks.id(of: rank)] = tally }
        return hour
    }

    /// Where the last of what reaches over an instant ends.
    func reach(over time: Int64) throws -> Int64? {
        guard query.style == .cumulative else { return nil }
        return try portions(time, time + 1, most: .max)?.lazy.map { max($0.end, $0.start + 1) }.max()
    }

    /// A row of the answer, with the sources by their names.
    func row(_ figures: Figures, from: Int64, to: Int64) throws -> StatisticsRow {
        let sources = try figures.sources.sorted { $0.key < $1.key }.map { rank, tally in
            (try ranks.source(at: rank), tally)
        }
        return StatisticsRow(from: from, to: to, total: figures.total, sources: sources)
    }
}

/// The order of the sources, the best first.
private final class Ranks {
    private let order: SourceRank
    private let reader: Reader
    private var known: [Int64: Int] = [:]

    init(_ priority: [String], _ reader: Reader) { (order, self.reader) = (SourceRank(priority), reader) }

    func rank(of id: Int64) throws -> Int {
        if let rank = known[id] { return rank }
        let rank = Int(order.rank(of: try reader.termCache.source(id, in: reader.db), number: id))
        known[id] = rank
        return rank
    }

    func source(at rank: Int) throws -> Source { try reader.termCache.source(Ranks.id(of: rank), in: reader.db) }

    static func id(of rank: Int) -> Int64 { SourceRank.number(of: Int64(rank)) }
}
