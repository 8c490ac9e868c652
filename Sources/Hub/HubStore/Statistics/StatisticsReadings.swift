import GRDB
import Samples

/// The samples for the statistics of one person and type, within one snapshot of the store.
///
/// They are quantities that are not retracted, not implausible, and not filled in.
struct StatisticsReadings {
    private let query: StatisticsQuery
    private let reader: SnapshotReader
    private let range: HistoryRange
    let unit: Int64
    /// Ids of the requested sources; `nil` for all.
    private let sources: Set<Int64>?
    private let ranks: Ranks
    /// The stored figures of hours; `nil` if there are none, or if the query requests only some sources.
    let rolled: RolledHours?
    /// The time from which ``rolled`` is valid.
    ///
    /// An earlier hour may include samples that ended before `since`, or lack their mirrors.
    private(set) var rolledFrom = Int64.min
    /// If only some sources are requested: shows on which days they have no data.
    private let kept: RolledHours?

    private static let conditions =
        "kind = 0 AND unit = ?5 AND retracted IS NULL AND implausible IS NULL AND provenance <> 2"

    /// `nil` if the store has no such samples.
    init?(_ query: StatisticsQuery, _ reader: SnapshotReader) throws {
        (self.query, self.reader) = (query, reader)
        var filtered = RecordQuery()
        (filtered.types, filtered.persons, filtered.sources) = ([query.type], [.person(query.person)], query.sources)
        let filter = try Filter(filtered, in: reader.db)
        guard !filter.isEmpty, let range = try HistoryRange.samples(filter, in: reader.db).first,
            let unit = try Filter.term(query.unit, in: reader.db)
        else { return nil }
        (self.range, self.unit, sources) = (range, unit, filter.sources.map(Set.init))
        ranks = Ranks(query.priority, reader)
        let hours = try RolledHours(query, Rollup.Key(person: range.person, type: range.type), unit: unit, reader.db)
        (rolled, kept) = sources == nil ? (hours, nil) : (nil, hours)
        guard rolled != nil, let since = query.since else { return }
        rolledFrom = since
        guard query.style == .cumulative, let found = try portions(since, since + 1, most: .max) else { return }
        rolledFrom = max(since, found.portions.map(\.end).max() ?? since)
    }

    /// Their person and type; `nil` if they have no person.
    var key: Rollup.Key? { range.person == 0 ? nil : Rollup.Key(person: range.person, type: range.type) }

    /// The time range that may have data.
    func extent() throws -> Range<Int64>? {
        guard let starts = try starts(), let first = try start(from: starts.lowerBound)?.time else { return nil }
        let reach = query.style == .cumulative ? range.longest : 0
        return first..<max(first, starts.upperBound) + reach + 1
    }

    /// The starts of the first and the last sample of all sources, whether they count or not.
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

    /// Maximum number of samples of other sources skipped at once.
    private static let passedAtOnce = 1_000

    /// An instant at or after `time`; no requested sample begins between the two.
    ///
    /// `nil` if none begins later.
    ///
    /// If `isAsked`, a sample begins at the instant, whether it counts or not. Otherwise there are many samples of other sources in between, and the
    /// search
    /// has to continue from there.
    func start(from time: Int64) throws -> (time: Int64, isAsked: Bool)? {
        var low = time
        if let since = query.since, low < since {
            if let start = try firstStart(from: low, reaching: since) { return (start, true) }
            low = since
        }
        if let kept, let sources { low = try kept.first(from: low, of: sources) }
        let statement = try RawStatement(
            cached: """
                SELECT start, source FROM sample INDEXED BY sample_history WHERE person IS ?1 AND type = ?2 AND start >= ?3
                ORDER BY start
                """, in: reader.db)
        defer { statement.clear() }
        bind(statement)
        statement.bind(3, low)
        var passed = 0
        while try statement.step() {
            let start = statement.integer(0)
            if sources?.contains(statement.integer(1)) ?? true { return (start, true) }
            if passed >= Self.passedAtOnce, start > low { return (start, false) }
            passed += 1
        }
        return nil
    }

    /// Maximum number of samples of the requested sources examined at once.
    private static let searchedAtOnce = 4_000

    /// Examines more of the samples of the requested sources, in the order of their keys.
    ///
    /// - Returns: whether all have been examined.
    func look(_ search: inout SourceSearch) throws -> Bool {
        var looked = 0
        for source in (sources ?? []).sorted() where source >= search.source {
            let statement = try RawStatement(
                cached: """
                    SELECT key, start, person IS ?1 AND type = ?2 AND start + duration >= ?6 AND \(Self.conditions)
                    FROM sample INDEXED BY sample_identity WHERE source = ?3 AND key > ?4 ORDER BY key
                    """, in: reader.db)
            defer { statement.clear() }
            bind(statement)
            statement.bind(3, source)
            statement.bind(4, source == search.source ? search.key : "")
            statement.bind(5, unit)
            statement.bind(6, query.since ?? .min)
            while try statement.step() {
                let start = statement.integer(1)
                if start >= search.from, statement.integer(2) != 0 { search.first = min(search.first ?? start, start) }
                looked += 1
                if looked == Self.searchedAtOnce {
                    (search.source, search.key) = (source, statement.text(0) ?? "")
                    return false
                }
            }
        }
        return true
    }

    /// The first start of the samples that begin between `low` and `since` and end at or after `since`.
    private func firstStart(from low: Int64, reaching since: Int64) throws -> Int64? {
        let from = sources.map { " AND source IN (\(Filter.list($0.sorted())))" } ?? ""
        return try lanes(over: since).compactMap { lane in
            let limits = (lane.part.demand + lane.part.limit).map { " AND \($0)" }.joined()
            let statement = try RawStatement(
                new: """
                    SELECT start FROM sample INDEXED BY \(lane.part.index) WHERE person IS ?1 AND type = ?2
                        AND start >= ?3 AND start < ?4 AND start + duration >= ?4\(limits)\(from)
                    ORDER BY start LIMIT 1
                    """, in: reader.db)
            bind(statement)
            statement.bind(3, max(low, lane.low))
            statement.bind(4, since)
            return try statement.step() ? statement.integer(0) : nil
        }.min()
    }

    /// The figures between each border and the next, the number of their samples, and the number of samples read.
    ///
    /// - Returns: `nil` if more than `most` samples begin in a span of more than an hour.
    func figures(_ borders: [Int64], most: Int) throws -> (figures: [Figures], count: Int, looked: Int)? {
        guard let from = borders.first, let to = borders.last else { return ([], 0, 0) }
        let most = to - from > StatisticsWalk.Course.strides.lowerBound ? most : .max
        if query.style == .cumulative {
            guard let (portions, looked) = try portions(from, to, most: most) else { return nil }
            return (Figures.sums(portions, borders, bySource: query.isBySource), portions.count, looked)
        }
        guard let (levels, looked) = try levels(from, to, most: most) else { return nil }
        return (Figures.levels(levels, borders, query.style, bySource: query.isBySource), levels.count, looked)
    }

    /// All samples that extend into a span, and those with the same start as one that begins before it, because one of them may count instead.
    private func portions(_ from: Int64, _ to: Int64, most: Int) throws -> (portions: [Portion], looked: Int)? {
        var (portions, looked) = ([Portion](), 0)
        for lane in lanes(over: max(from, query.since ?? .min)) {
            let rows = try rows(from: lane.low, to: to, lane.part, " AND (start >= ?7 OR start + duration > ?7)")
            defer { rows.clear() }
            rows.bind(7, from)
            while try rows.step() {
                looked += 1
                guard looked <= most else { return nil }
                if isAsked(rows) { portions.append(try portion(rows)) }
            }
        }
        let early = Set(portions.lazy.filter { $0.start < from }.map(\.start))
        if !early.isEmpty { portions.removeAll { $0.start < from } }
        for start in early {
            let rows = try rows(from: start, to: start + 1, .usual)
            defer { rows.clear() }
            while try rows.step() { if isAsked(rows) { portions.append(try portion(rows)) } }
        }
        return (portions, looked)
    }

    private func portion(_ rows: RawStatement) throws -> Portion {
        let start = rows.integer(1)
        return Portion(
            number: rows.integer(0), start: start, end: start + rows.integer(2), value: rows.double(3),
            rank: try ranks.rank(of: rows.integer(4)))
    }

    /// The readings that begin in a span, by start, and later ones that may end the validity of the last of them.
    private func levels(_ from: Int64, _ to: Int64, most: Int) throws -> (levels: [Level], looked: Int)? {
        var levels: [Level] = []
        let looked = try read(from: from, to: to, most: most) { level in
            levels.append(level)
            return true
        }
        guard let looked else { return nil }
        guard query.style.isWeighed, let last = levels.last else { return (levels, looked) }
        var waiting = Set(levels.map(\.rank))
        let held = levels.map { min($0.end - $0.start, Tally.longestHold) }.max() ?? 0
        _ = try read(from: to, to: last.start + max(held, Tally.holdTime), most: .max) { level in
            levels.append(level)
            // One more reading per source is enough; for all sources together one more of any source.
            waiting.remove(level.rank)
            return query.isBySource && !waiting.isEmpty
        }
        return (levels, looked)
    }

    /// Reads the readings that begin in a span, by start, while `use` returns `true`.
    ///
    /// - Returns: the number of rows read; `nil` if there are more than `most`.
    private func read(from: Int64, to: Int64, most: Int, _ use: (Level) throws -> Bool) throws -> Int? {
        var looked = 0
        if let since = query.since, from < since {
            var early: [Level] = []
            for lane in lanes(over: since) {
                let rows = try rows(from: max(from, lane.low), to: min(to, since), lane.part)
                defer { rows.clear() }
                while try rows.step() {
                    looked += 1
                    guard looked <= most else { return nil }
                    if isAsked(rows) { early.append(try level(rows)) }
                }
            }
            for level in early.sorted(by: { ($0.start, $0.number) < ($1.start, $1.number) }) {
                guard try use(level) else { return looked }
            }
        }
        let rows = try rows(from: max(from, query.since ?? .min), to: to, .usual)
        defer { rows.clear() }
        while try rows.step() {
            looked += 1
            guard looked <= most else { return nil }
            if isAsked(rows), try !use(try level(rows)) { break }
        }
        return looked
    }

    private func level(_ rows: RawStatement) throws -> Level {
        let start = rows.integer(1)
        return Level(
            number: rows.integer(0), start: start, end: start + rows.integer(2), value: rows.double(3),
            rank: try ranks.rank(of: rows.integer(4)))
    }

    private func isAsked(_ rows: RawStatement) -> Bool { sources?.contains(rows.integer(4)) ?? true }

    /// The lanes for samples that extend over an instant, each with the earliest possible start.
    private func lanes(over time: Int64) -> [(part: OverlappingSamples, low: Int64, length: Int64)] {
        var spanned = RecordQuery()
        spanned.from = time
        return OverlappingSamples.lanes(spanned, longest: range.longest, endFloor: nil, isSplit: false)
    }

    /// The samples of all sources that count and begin in a span.
    ///
    /// Filtering by source here would hide how many rows are read.
    private func rows(from: Int64, to: Int64, _ part: OverlappingSamples, _ limits: String = "") throws -> RawStatement
    {
        let statement = try RawStatement(
            cached: """
                SELECT number, start, duration, value, source FROM sample INDEXED BY \(part.index)
                WHERE person IS ?1 AND type = ?2 AND start >= ?3 AND start < ?4 AND \(Self.conditions)
                    AND start + duration >= ?6\((part.demand + part.limit).map { " AND \($0)" }.joined())\(limits)
                ORDER BY start, number
                """, in: reader.db)
        bind(statement)
        statement.bind(3, from)
        statement.bind(4, to)
        statement.bind(5, unit)
        statement.bind(6, query.since ?? .min)
        return statement
    }

    private func bind(_ statement: RawStatement) {
        statement.bind(1, range.person)
        statement.bind(2, range.type)
    }

    /// Stored figures, with the sources by their ranks.
    func figures(_ hour: RolledDay.Hour) throws -> Figures {
        var figures = Figures()
        figures.total = hour.total
        for (source, tally) in hour.sources { figures.sources[try ranks.rank(of: source)] = tally }
        return figures
    }

    /// The same figures in the stored form, with the sources by their ids.
    func rolled(_ figures: Figures) -> RolledDay.Hour {
        var hour = RolledDay.Hour(total: figures.total)
        for (rank, tally) in figures.sources { hour.sources[Ranks.id(of: rank)] = tally }
        return hour
    }

    /// The latest end of the samples that extend over an instant.
    func reach(over time: Int64) throws -> Int64? {
        guard query.style == .cumulative, let found = try portions(time, time + 1, most: .max) else { return nil }
        let portions = found.portions.sorted { $0.start < $1.start }
        let mirrors = Mirrors.find(portions)
        return portions.indices.lazy.filter { mirrors[$0] == nil }
            .map { max(portions[$0].end, portions[$0].start + 1) }.max()
    }

    /// A row of the answer, with the sources by name.
    func row(_ figures: Figures, from: Int64, to: Int64) throws -> StatisticsRow {
        let counting = figures.sources.filter { $0.value != Tally() }
        let sources = try counting.sorted { $0.key < $1.key }.map { rank, tally in
            (try ranks.source(at: rank), tally)
        }
        return StatisticsRow(from: from, to: to, total: figures.total, sources: sources)
    }
}

/// The search for the next counting sample through the samples of the requested sources.
///
/// By time, these samples are found only among those of all sources, which may be very many. If the walk finds only others, it alternates with this
/// search and continues with the result of the faster one.
struct SourceSearch: Sendable {
    /// Samples that begin earlier are ignored.
    let from: Int64
    /// The source and key up to which it has searched.
    var source = Int64.min
    var key = ""
    /// The first start of the samples found.
    var first: Int64?

    init(from: Int64) { self.from = from }
}

/// The ranking of the sources, the best first.
private final class Ranks {
    private let order: SourceRank
    private let reader: SnapshotReader
    private var known: [Int64: Int] = [:]

    init(_ priority: [String], _ reader: SnapshotReader) { (order, self.reader) = (SourceRank(priority), reader) }

    func rank(of id: Int64) throws -> Int {
        if let rank = known[id] { return rank }
        let rank = Int(order.rank(of: try reader.termCache.source(id, in: reader.db), number: id))
        known[id] = rank
        return rank
    }

    func source(at rank: Int) throws -> Source { try reader.termCache.source(Ranks.id(of: rank), in: reader.db) }

    static func id(of rank: Int) -> Int64 { SourceRank.number(of: Int64(rank)) }
}
