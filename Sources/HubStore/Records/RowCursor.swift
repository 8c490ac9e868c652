import GRDB
import Samples

/// One ordered run of rows, read lazily; a page is the merge of several.
struct RowCursor {
    enum Table {
        case sample, day, departure

        /// The table, or what stands for one, as SQL names it.
        var name: String {
            switch self {
            case .sample: "sample"
            case .day: "day"
            case .departure: "departure d CROSS JOIN sample s ON s.number = d.number"
            }
        }

        fileprivate var columns: String {
            switch self {
            case .sample: SampleColumn.list
            case .day: DayColumn.list
            case .departure: Departure.columns
            }
        }
    }

    /// What it reads, for tests of how it is read.
    let sql: String
    private let table: Table
    private let statement: RawStatement
    private let order: RecordQuery.Order
    /// The sort key and number of the row that the lane stands at; `nil` behind the last.
    private(set) var head: (key: Int64, number: Int64)?

    /// - Parameters:
    ///   - index: where the rows come from, such as `INDEXED BY sample_history`.
    ///   - sort: another name for the order of the rows, where SQLite would sort what already lies in order.
    ///   - text: bound to `?1` where a condition has it.
    init(
        _ table: Table, _ index: String, _ conditions: [String], by order: RecordQuery.Order, sort: String? = nil,
        text: String? = nil,
        in db: Database
    ) throws {
        self.table = table
        self.order = order
        let time = table == .sample ? "start" : "date"
        let usual =
            switch order {
            case .sequence: "seq"
            case .time: "\(time), number"
            case .newestFirst: "\(time) DESC, number DESC"
            }
        sql =
            "SELECT \(table.columns) FROM \(table.name) \(index) WHERE \(conditions.joined(separator: " AND ")) ORDER BY \(sort ?? usual)"
        statement = try RawStatement(new: sql, in: db)
        if text != nil { statement.bind(1, text) }
        try advance()
    }

    /// Whether this lane's row comes before the other's.
    func precedes(_ other: (key: Int64, number: Int64)) -> Bool {
        guard let head else { return false }
        return order == .newestFirst ? head > other : head < other
    }

    /// Takes the row the lane stands at and moves on.
    mutating func take(_ termCache: TermCache, _ db: Database) throws -> StoredRecord {
        let record =
            switch table {
            case .sample: try SampleRow(statement, termCache, db).stored
            case .day: try DayRow(statement, termCache, db).stored
            case .departure: try Departure.record(statement, termCache, db)
            }
        try advance()
        return record
    }

    private mutating func advance() throws {
        guard try statement.step() else {
            head = nil
            return
        }
        let key: Int64 =
            switch (order, table) {
            case (.sequence, .sample): statement.integer(SampleColumn.seq.rawValue)
            case (.sequence, .day): statement.integer(DayColumn.seq.rawValue)
            case (_, .departure): statement.integer(1)
            case (_, .sample): statement.integer(SampleColumn.start.rawValue)
            case (_, .day): statement.integer(DayColumn.date.rawValue) &* Filter.dayLength
            }
        head = (key, statement.integer(0))
    }
}

/// Rows from several lanes in one order.
struct Merge {
    var lanes: [RowCursor]

    /// The lane whose row is next, and that row's place.
    func front() -> (lane: Int, place: (key: Int64, number: Int64))? {
        var best: (lane: Int, place: (key: Int64, number: Int64))?
        for (index, lane) in lanes.enumerated() {
            guard let head = lane.head else { continue }
            if let current = best, !lane.precedes(current.place) { continue }
            best = (index, head)
        }
        return best
    }
}
