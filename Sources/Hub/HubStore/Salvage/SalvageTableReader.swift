import CPageSums
import GRDB
import GRDBSQLite

/// Reads a table row by row, skipping damaged pages.
///
/// An unreadable page hides a run of rows; a page higher in the tree hides a longer run. The reader tries key after key until the next row is
/// readable, so that no readable row is skipped.
struct SalvageTableReader {
    let db: Database
    let table: String
    /// The integer column that orders the table; `nil` if there is none.
    ///
    /// Such tables are small and are read from both ends.
    let key: String?
    /// The upper limit for keys.
    var bound = 1 << 52 as Int64
    /// An SQL condition that selects the rows.
    var scope = "TRUE"
    /// The columns that order rows with the same key, if a key can have several rows.
    var order: [String] = []

    /// Passes each readable row to `body`; some rows twice if others were unreadable.
    ///
    /// - Returns: the number of unreadable runs.
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
            // Other rows with the same key may be after the unreadable part.
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

    /// - Returns: whether it ended because of an unreadable page.
    private func run(_ sql: String, _ body: (Row) throws -> Void) throws -> Bool {
        let rows = try Row.fetchCursor(db, sql: sql)
        while true {
            let row: Row?
            do { row = try rows.next() } catch let error as DatabaseError where SalvageTableReader.isDamage(error) {
                return true
            }
            guard let row else { return false }
            try body(row)
        }
    }

    /// Whether the table's root page is readable.
    private func hasRoot() throws -> Bool {
        guard
            let root = try Int64.fetchOne(
                db, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table])
        else { return false }
        return page_sums_check_page(db.sqliteConnection, root) == SQLITE_OK
    }

    /// Number of consecutive keys to try one by one: more than a page above the leaves can hide.
    private static let patience: Int64 = 100_000

    /// The next readable key; `nil` if there is none.
    private func seek(after key: Int64) throws -> Int64? {
        for next in key + 1...key + SalvageTableReader.patience {
            if next > bound { return nil }
            if case .found(let found) = try look(from: next) { return found }
        }
        // A page high in the tree hides one run. Search for its end.
        var (hidden, step) = (key + SalvageTableReader.patience, 1 as Int64)
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
        /// The first key; `nil` at the end of the table.
        case found(Int64?)
    }

    private func look(from next: Int64) throws -> Look {
        guard let key else { return .found(nil) }
        do {
            return .found(
                try Int64.fetchOne(
                    db, sql: "SELECT \(key) FROM \(table) WHERE \(scope) AND \(key) >= ? ORDER BY \(key) LIMIT 1",
                    arguments: [next]))
        } catch let error as DatabaseError where SalvageTableReader.isDamage(error) { return .hidden }
    }

    /// Whether the error concerns one page instead of the whole file.
    static func isDamage(_ error: DatabaseError) -> Bool {
        error.resultCode == .SQLITE_IOERR || error.resultCode == .SQLITE_CORRUPT
    }
}
