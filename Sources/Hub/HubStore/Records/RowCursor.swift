import GRDB
import Samples

/// The place of a row in an order: its sort key, then its number.
struct RowPosition: Hashable, Comparable {
    var key: Int64
    var number: Int64

    static func < (left: RowPosition, right: RowPosition) -> Bool {
        (left.key, left.number) < (right.key, right.number)
    }
}

/// One ordered run of rows, as the SQL that reads it.
///
/// A page is the merge of several lanes.
struct Lane {
    enum Table {
        case sample, day, departure

        /// The table and its alias in SQL.
        var name: String {
            switch self {
            case .sample: "sample"
            case .day: "day"
            case .departure: "departure d"
            }
        }

        fileprivate var columns: (list: String, count: Int32) {
            switch self {
            case .sample: (SampleColumn.list, Int32(SampleColumn.allCases.count))
            case .day: (DayColumn.list, Int32(DayColumn.allCases.count))
            case .departure: (Departure.columns, 7)
            }
        }
    }

    let table: Table
    /// The order in which rows are read.
    enum Walk {
        /// By sequence number.
        case sequence
        /// By start, then number, ascending or descending.
        case time, newestFirst
    }

    let order: Walk
    let sql: String
    /// Whether its rows are in the order of their numbers, which is the order of change for rows that never changed.
    fileprivate let isByNumber: Bool
    /// Whether its rows are returned as no longer matching: those that a second column or a judge excludes.
    fileprivate let returnsEndedMatches: Bool
    /// Bound to `?1` if a condition uses it.
    var text: String?
    /// How the lane can be entered at any place: the statement for the rest of one key's rows, and the bound values.
    private(set) var entry: Entry?

    struct Entry {
        fileprivate var tie: String
        /// Bound to `?2` and following: the part of the index.
        fileprivate var ids: [Int64?] = []
        /// The first place, in the order of the lane, and the last key, in the units of the column.
        fileprivate var begin = RowPosition(key: 0, number: 0)
        fileprivate var end: Int64 = 0
    }

    /// A lane that is read from its beginning.
    ///
    /// - Parameters:
    ///   - index: the index of the rows, such as `INDEXED BY sample_moved`.
    ///   - range: conditions that an index answers, or that few rows have to meet.
    ///   - fits: conditions on each row of the range. Rows that fail them are skipped one by one, so that a page can end among them.
    ///   - ceasing: for rows that no longer match the query: conditions of which at least one must fail.
    ///   - sort: another expression for the order of the rows, if SQLite would otherwise sort rows that are already in order.
    init(
        _ table: Table, _ index: String, _ range: [String], fits: [String] = [], ceasing: [String]? = nil,
        by order: Walk, sort: String? = nil, text: String? = nil
    ) {
        (self.table, self.order, self.text) = (table, order, text)
        (isByNumber, returnsEndedMatches) = (sort == "number", ceasing != nil)
        sql = Lane.select(table, index, range, fits, ceasing, sort ?? Lane.sort(table, order))
    }

    /// The form of lanes in order of time, which can be entered anywhere without reading the rows before.
    ///
    /// A store may have thousands of lanes of one form. `entered` creates them, and their SQL is built once.
    init(entered table: Table, _ index: String, _ range: [String], fits: [String], by order: Walk) {
        (self.table, self.order, isByNumber, returnsEndedMatches) = (table, order, false, false)
        let (down, key, sort) = (order == .newestFirst, Lane.key(table), Lane.sort(table, order))
        sql = Lane.select(
            table, index, range + ["\(key) \(down ? "<=" : ">=") ?5", "\(key) \(down ? ">=" : "<=") ?7"], fits, nil,
            sort)
        let tie = Lane.select(
            table, index, range + ["\(key) = ?5", "number \(down ? "<=" : ">=") ?6"], fits, nil, sort)
        entry = Entry(tie: tie)
    }

    /// - Parameters:
    ///   - ids: the values of `?2`, `?3`, … of the range.
    ///   - low, high: the first and last start, or day.
    ///   - after: the place after which it begins.
    func entered(_ ids: [Int64?], low: Int64, high: Int64, after: RowPosition?) -> Lane {
        let down = order == .newestFirst
        var begin = RowPosition(key: down ? high : low, number: down ? .max : .min)
        if let after {
            let floor = table == .day ? Filter.floor(after.key) : after.key
            let next =
                after.key % unit == 0
                ? RowPosition(key: floor, number: down ? after.number - 1 : after.number + 1)
                : RowPosition(key: down ? floor : floor + 1, number: down ? .max : .min)
            begin = down ? min(begin, next) : max(begin, next)
        }
        var lane = self
        lane.entry?.ids = ids
        lane.entry?.begin = begin
        lane.entry?.end = down ? low : high
        return lane
    }

    /// All SQL that reads it, for tests of the query plans.
    var statements: [String] { [sql] + (entry.map { [$0.tie] } ?? []) }

    /// The factor from the column's key to the sort key.
    fileprivate var unit: Int64 { table == .day && order != .sequence ? Filter.dayLength : 1 }

    private static func key(_ table: Table) -> String { table == .sample ? "start" : "date" }

    private static func sort(_ table: Table, _ order: Walk) -> String {
        switch order {
        case .sequence: "seq"
        case .time: "\(key(table)), number"
        case .newestFirst: "\(key(table)) DESC, number DESC"
        }
    }

    private static func select(
        _ table: Table, _ index: String, _ range: [String], _ fits: [String], _ ceasing: [String]?, _ sort: String
    ) -> String {
        let join = table == .departure ? "CROSS JOIN sample s ON s.number = d.number" : ""
        func all(_ conditions: [String]) -> String {
            conditions.isEmpty ? "1" : conditions.map { "(\($0))" }.joined(separator: " AND ")
        }
        let answers = [all(fits)] + (ceasing.map { [all($0)] } ?? [])
        return """
            SELECT \(table.columns.list), \(answers.joined(separator: ", ")) FROM \(table.name) \(index) \(join) \
            WHERE \(range.joined(separator: " AND ")) ORDER BY \(sort)
            """
    }
}

/// Reads a lane.
///
/// It is a class, so that reading a row does not copy it.
final class RowCursor {
    private let lane: Lane
    private let db: Database
    private var statement: RawStatement
    private let isBrief: Bool
    /// The column that tells whether a row matches.
    private let fits: Int32
    /// If set, `statement` reads only the rows of this key, and another statement reads the rows after it.
    private var tie: Int64?
    /// The place of the current row; `nil` after the last.
    private(set) var head: RowPosition?

    /// - Parameters:
    ///   - place: the first row, for a lane that can be entered anywhere; by default the beginning of the lane.
    ///   - isBrief: whether it may use the cached statement, because no other cursor of the same form is open at the same time.
    init(_ lane: Lane, from place: RowPosition? = nil, isBrief: Bool = false, in db: Database) throws {
        (self.lane, self.isBrief, self.db, fits) = (lane, isBrief, db, lane.table.columns.count)
        var sql = lane.sql
        let begin = place.map { RowPosition(key: $0.key / lane.unit, number: $0.number) } ?? lane.entry?.begin
        if let begin, let entry = lane.entry, begin.number != .min, begin.number != .max {
            (sql, tie) = (entry.tie, begin.key)
        }
        statement = try RowCursor.statement(sql, isBrief, db)
        bind(begin)
        try advance()
    }

    /// Whether the row matches the query.
    func isFit(_ judge: RowMatcher?) throws -> Bool {
        guard statement.integer(fits) != 0 else { return false }
        // A departure concerns the record as it was, regardless of its current state.
        if lane.table == .departure { return true }
        if lane.returnsEndedMatches, statement.integer(fits + 1) == 0 { return true }
        return try (judge?.fits(statement, of: lane.table) ?? true) != lane.returnsEndedMatches
    }

    var number: Int64 { statement.integer(0) }

    /// The type, person (0 for none) and source of the row.
    struct Owner: Hashable {
        let type: Int64
        let person: Int64
        let source: Int64
    }

    var owner: Owner {
        lane.table == .sample
            ? Owner(
                type: statement.integer(SampleColumn.type.rawValue),
                person: statement.integer(SampleColumn.person.rawValue),
                source: statement.integer(SampleColumn.source.rawValue))
            : Owner(
                type: statement.integer(DayColumn.type.rawValue), person: statement.integer(DayColumn.person.rawValue),
                source: statement.integer(DayColumn.source.rawValue))
    }

    /// The start and end of the current row, in order of time; a day ends a microsecond before the next midnight UTC.
    var span: (start: Int64, end: Int64) {
        guard lane.table == .sample else {
            let start = statement.integer(DayColumn.date.rawValue) &* Filter.dayLength
            return (start, start &+ Filter.dayLength - 1)
        }
        let start = statement.integer(SampleColumn.start.rawValue)
        return (start, start &+ statement.integer(SampleColumn.duration.rawValue))
    }

    /// The record of the current row.
    func record(_ termCache: TermCache) throws -> StoredRecord {
        switch lane.table {
        case .sample where lane.returnsEndedMatches: try SampleRow(statement, termCache, db).ceased
        case .sample: try SampleRow(statement, termCache, db).stored
        case .day where lane.returnsEndedMatches: try DayRow(statement, termCache, db).ceased
        case .day: try DayRow(statement, termCache, db).stored
        case .departure: try Departure.record(statement, termCache, db)
        }
    }

    func advance() throws {
        while try !statement.step() {
            guard let tie, lane.entry != nil else {
                head = nil
                return
            }
            let down = lane.order == .newestFirst
            self.tie = nil
            statement = try RowCursor.statement(lane.sql, isBrief, db)
            bind(RowPosition(key: down ? tie - 1 : tie + 1, number: down ? .max : .min))
        }
        let key: Int64 =
            switch (lane.order, lane.table) {
            // A changed row is elsewhere in the order of change, and is skipped here.
            case (.sequence, _) where lane.isByNumber: statement.integer(0)
            case (.sequence, .sample): statement.integer(SampleColumn.seq.rawValue)
            case (.sequence, .day): statement.integer(DayColumn.seq.rawValue)
            case (_, .departure): statement.integer(1)
            case (_, .sample): statement.integer(SampleColumn.start.rawValue)
            case (_, .day): statement.integer(DayColumn.date.rawValue) &* Filter.dayLength
            }
        head = RowPosition(key: key, number: statement.integer(0))
    }

    private static func statement(_ sql: String, _ isBrief: Bool, _ db: Database) throws -> RawStatement {
        isBrief ? try RawStatement(cached: sql, in: db) : try RawStatement(new: sql, in: db)
    }

    /// Ends the use of the cursor.
    func close() { statement.clear() }

    private func bind(_ begin: RowPosition?) {
        if let text = lane.text { statement.bind(1, text) }
        guard let entry = lane.entry, let begin else { return }
        for (index, id) in entry.ids.enumerated() { statement.bind(Int32(index + 2), id) }
        statement.bind(5, begin.key)
        if tie != nil { statement.bind(6, begin.number) } else { statement.bind(7, entry.end) }
    }
}
