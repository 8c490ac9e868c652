import GRDB
import Samples

/// A part of a history index that has rows: samples of one person and type, or days of one person, type and series.
struct HistoryRange {
    /// 0 for no person.
    let person: Int64
    let type: Int64
    var series: Int64?
    /// The longest duration that any of its samples ever had, in microseconds.
    var longest: Int64 = 0

    /// The condition that selects the part in its index.
    static let sample = "person IS ?2 AND type = ?3"
    static let day = "person = ?2 AND type = ?3 AND series = ?4"

    var ids: [Int64?] { [person == 0 ? nil : person, type, series] }

    /// The ranges of `sample_history` for a query, by type, then person.
    static func samples(_ filter: Filter, in db: Database) throws -> [HistoryRange] {
        if filter.wantsRetractions { return try indexed(filter, in: db) }
        let sql = """
            SELECT ifnull(person, 0), ifnull(type, 0), max(longest) FROM stream WHERE kind = 0 \(types(filter))
            \(filter.streams) GROUP BY ifnull(type, 0), ifnull(person, 0)
            """
        return try all(sql, filter, in: db) { HistoryRange(person: $0, type: $1, longest: $2) }
    }

    /// The same from the index itself, because no stream shows a sample that was reassigned while it was retracted.
    private static func indexed(_ filter: Filter, in db: Database) throws -> [HistoryRange] {
        let lengths = try Row.fetchAll(
            db,
            sql: """
                SELECT ifnull(type, 0), max(longest) FROM stream WHERE kind = 0 \(types(filter)) GROUP BY ifnull(type, 0)
                """)
        let longest = Dictionary(lengths.map { ($0[0] as Int64, $0[1] as Int64) }, uniquingKeysWith: max)
        let everyone = [0] + (try Int64.fetchAll(db, sql: "SELECT id FROM person"))
        let next = try db.makeStatement(
            sql: "SELECT min(type) FROM sample INDEXED BY sample_history WHERE person IS ? AND type > ?")
        var ranges: [HistoryRange] = []
        for person in everyone where filter.persons?.contains(person) ?? true {
            var last: Int64 = 0
            while let type = try Int64.fetchOne(next, arguments: [person == 0 ? nil : person, last]) {
                if filter.types?.contains(type) ?? true {
                    ranges.append(HistoryRange(person: person, type: type, longest: longest[type] ?? 0))
                }
                last = type
            }
        }
        return ranges.sorted { ($0.type, $0.person) < ($1.type, $1.person) }
    }

    /// The ranges of `day_identity` for a query.
    static func days(_ filter: Filter, in db: Database) throws -> [HistoryRange] {
        let sql = """
            SELECT person, type, label FROM stream WHERE kind = 1 \(types(filter))
            ORDER BY ifnull(type, 0), ifnull(person, 0), ifnull(label, 0)
            """
        return try all(sql, filter, in: db) { HistoryRange(person: $0, type: $1, series: $2) }
    }

    /// Answered by the index of streams.
    private static func types(_ filter: Filter) -> String {
        filter.types.map { "AND ifnull(type, 0) IN (\(Filter.list($0)))" } ?? ""
    }

    private static func all(
        _ sql: String, _ filter: Filter, in db: Database, _ make: (Int64, Int64, Int64) -> HistoryRange
    ) throws -> [HistoryRange] {
        let statement = try RawStatement(new: sql, in: db)
        var ranges: [HistoryRange] = []
        while try statement.step() {
            let person = statement.integer(0)
            guard filter.persons?.contains(person) ?? true else { continue }
            ranges.append(make(person, statement.integer(1), statement.integer(2)))
        }
        return ranges
    }
}

/// Samples that begin before a time span and extend into it.
///
/// Few samples are long. Samples of up to an hour are found by their start, at most an hour before the span. Longer samples, and those of more than
/// 32 days, have an index each. A single sample of a thousand years therefore does not make every query read all years.
enum OverlappingSamples: CaseIterable {
    /// All samples, or those of up to an hour if there are longer ones.
    case usual
    case short
    /// Longer than an hour; up to 32 days if there are longer ones.
    case long
    case middle
    case endless

    private static let hour: Int64 = 3_600_000_000
    private static let month: Int64 = 2_764_800_000_000

    var index: String {
        switch self {
        case .usual, .short: "sample_history"
        case .long, .middle: "sample_long"
        case .endless: "sample_endless"
        }
    }

    /// The condition that the index requires.
    var demand: [String] {
        switch self {
        case .usual, .short: []
        case .long, .middle: ["duration > \(OverlappingSamples.hour)"]
        case .endless: ["duration > \(OverlappingSamples.month)"]
        }
    }

    /// The condition that excludes samples of other lanes.
    var limit: [String] {
        switch self {
        case .usual, .long, .endless: []
        case .short: ["duration <= \(OverlappingSamples.hour)"]
        case .middle: ["duration <= \(OverlappingSamples.month)"]
        }
    }

    /// The lanes of a history part with the given longest sample, each with its earliest start and its longest duration.
    ///
    /// - Parameters:
    ///   - endFloor: if set, only samples that end at or after it are wanted.
    ///   - isSplit: whether to split the lanes by length even without a time span.
    static func lanes(
        _ query: RecordQuery, longest: Int64, endFloor: Int64?, isSplit: Bool
    ) -> [(part: OverlappingSamples, low: Int64, length: Int64)] {
        let least = query.strictStart ? query.from ?? .min : .min
        let reach = [query.strictStart ? query.allowance?.since : query.from, endFloor].compactMap(\.self).max()
        guard reach != nil || isSplit else { return [(.usual, least, longest)] }
        func low(_ length: Int64) -> Int64 { max(least, reach.map { $0 - length } ?? .min) }
        if longest <= hour { return [(.usual, low(longest), longest)] }
        if longest <= month { return [(.short, low(hour), hour), (.long, low(longest), longest)] }
        return [(.short, low(hour), hour), (.middle, low(month), month), (.endless, least, longest)]
    }
}
