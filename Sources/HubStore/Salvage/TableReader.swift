import CPageSums
import GRDB
import GRDBSQLite

/// Reads a table row by row, past what its disk does not give as it was written.
///
/// A page that cannot be read hides a run of rows, and one above others in the tree a longer one. The reader seeks key by key where the
/// next row can be read again, so that no whole row is left out.
struct TableReader {
    let db: Database
    let table: String
    /// An integer by which the table lies in order; `nil` where there is none: such tables are small, and are read from both ends.
    let key: String?
    /// No row has a greater key.
    var bound = 1 << 52 as Int64
    /// Which rows, as SQL.
    var scope = "TRUE"
    /// The columns by which rows of one key lie in order, where one key has several rows.
    var order: [String] = []

    /// Hands out the whole rows; some twice where something could not be read.
    ///
    /// - Returns: how often something could not be read.
    func read(_ body: (Row) throws -> Void) throws -> Int {
        guard let key else { return try readFromBothEnds(body) }
        var (breaks, next) = (0, 0 as Int64)
        while true {
            var last: Int64?
            guard
                try run(
                    "SELECT \(key), * FROM \(table) WHERE \(scope) AND \(key) >= \(next) ORDER BY \(key)",
                    { row in
                        last = row[0]
                        try body(row)
                    })
            else { return breaks }
            breaks += 1
            // Other rows of the same key may lie beyond what cannot be read.
            if let last, !order.isEmpty {
                let descending = order.map { "\($0) DESC" }.joined(separator: ", ")
                _ = try run(
                    "SELECT \(key), * FROM \(table) WHERE \(scope) AND \(key) = \(last) ORDER BY \(descending)", body)
            }
            guard try hasRoot(), let found = try seek(after: last ?? next) else { return breaks }
            next = found
        }
    }

    private func readFromBothEnds(_ body: (Row) throws -> Void) throws -> Int {
        let sql = "SELECT 0, * FROM \(table) ORDER BY \(order.joined(separator: ", "))"
        guard try run(sql, body) else { return 0 }
        let descending = order.map { "\($0) DESC" }.joined(separator: ", ")
        _ = try run("SELECT 0, * FROM \(table) ORDER BY \(descending)", body)
        return 1
    }

    /// - Returns: whether it ended because something could not be read.
    private func run(_ sql: String, _ body: (Row) throws -> Void) throws -> Bool {
        let rows = try Row.fetchCursor(db, sql: sql)
        while true {
            let row: Row?
            do { row = try rows.next() } catch let error as DatabaseError where TableReader.isDamage(error) {
                return true
            }
            guard let row else { return false }
            try body(row)
        }
    }

    /// Whether the page can be read through which all others are found.
    private func hasRoot() throws -> Bool {
        guard
            let root = try Int64.fetchOne(
                db, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table])
        else { return false }
        return page_sums_check_page(db.sqliteConnection, root) == SQLITE_OK
    }

    /// So many keys in a row are tried one by one: more than a page above the leaves hides.
    private static let patience: Int64 = 100_000

    /// The next key from which on rows can be read; `nil` where there are none.
    private func seek(after key: Int64) throws -> Int64? {
        for next in key + 1...key + TableReader.patience {
            if next > bound { return nil }
            if case .found(let found) = try look(from: next) { return found }
        }
        // A page high in the tree: what it hides is one run, whose end is searched for.
        var (hidden, step) = (key + TableReader.patience, 1 as Int64)
        while hidden < bound {
            guard case .found = try look(from: hidden + step) else {
                (hidden, step) = (hidden + step, 2 * step)
                continue
            }
            var readable = hidden + step
            while readable - hidden > 1 {
                let middle = hidden + (readable - hidden) / 2
                if case .found = try look(from: middle) { readable = middle } else { hidden = middle }
            }
            if case .found(let found) = try look(from: readable) { return found }
        }
        return nil
    }

    private enum Look {
        case hidden
        /// The first key; `nil` where the table ends.
        case found(Int64?)
    }

    private func look(from next: Int64) throws -> Look {
        guard let key else { return .found(nil) }
        do {
            return .found(
                try Int64.fetchOne(
                    db, sql: "SELECT \(key) FROM \(table) WHERE \(scope) AND \(key) >= ? ORDER BY \(key) LIMIT 1",
                    arguments: [next]))
        } catch let error as DatabaseError where TableReader.isDamage(error) { return .hidden }
    }

    /// What one page did, and not the whole file.
    static func isDamage(_ error: DatabaseError) -> Bool {
        error.resultCode == .SQLITE_IOERR || error.resultCode == .SQLITE_CORRUPT
    }
}
