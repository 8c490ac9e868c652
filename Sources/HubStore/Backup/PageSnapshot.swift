import CPageSums
import GRDB
import GRDBSQLite

/// The pages of a store as they are at one instant, in order: together they are a database that needs no log beside it.
///
/// SQLite's online backup writes into a file of its own, so that the bytes of a backup would lie on a disk before they are encrypted. Here
/// each page is read where SQLite would read it, from the log or the file, and its sum is compared.
struct PageSnapshot {
    let summary: StoreSummary
    let pageCount: Int64
    let hasSums: Bool
    /// Changes whenever records are erased, and when their last names go.
    let erasures: String
    private let db: Database
    /// The frame of the log in which the newest version of a page is.
    private let frames: [UInt32: UInt32]

    static let pageSize = Int(page_sums_page)

    /// Takes a snapshot for the time of `body`.
    static func with<Value>(_ queue: DatabaseQueue, _ body: (PageSnapshot) throws -> Value) throws -> Value {
        try queue.inDatabase { db in
            // The first look opens the log, and brings it back after a crash.
            _ = try Int64.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
            for _ in 0..<attempts {
                let before = try head(db)
                try db.execute(sql: "BEGIN")
                defer { if db.isInsideTransaction { try? db.execute(sql: "COMMIT") } }
                _ = try Int64.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
                // A commit in between: how far the snapshot reaches is known only where there was none.
                guard let before, try head(db) == before else { continue }
                return try body(PageSnapshot(db, frames: before[4]))
            }
            throw DatabaseError(resultCode: .SQLITE_BUSY, message: "commits came without a pause")
        }
    }

    private static let attempts = 10_000

    private static func head(_ db: Database) throws -> [UInt32]? {
        var words = [UInt32](repeating: 0, count: 12)
        let code = page_sums_log_head(db.sqliteConnection, &words)
        if code == SQLITE_BUSY { return nil }
        try check(code)
        return words
    }

    private init(_ db: Database, frames count: UInt32) throws {
        self.db = db
        summary = try StoreSummary(in: db)
        pageCount = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        hasSums = PageSums.areOn(db)
        // What retention removes has no row left: it was to go in time, and older backups may have it.
        let erased = """
            SELECT count(*) || '-' || count(named) || '-' || ifnull(max(at), 0) FROM erased
            WHERE EXISTS (SELECT 1 FROM sample s WHERE s.number = erased.number)
                OR EXISTS (SELECT 1 FROM day d WHERE d.number = erased.number)
            """
        erasures = try db.tableExists("erased") ? String.fetchOne(db, sql: erased) ?? "" : "0-0-0"
        let size = try Int.fetchOne(db, sql: "PRAGMA page_size")
        guard size == PageSnapshot.pageSize else {
            throw StoreError(
                .foreign,
                "its pages have \(size ?? 0) bytes, as no hub has made them; an unencrypted full backup can be made")
        }
        var frames: [UInt32: UInt32] = [:]
        if page_sums_mark(db.sqliteConnection) > 0 {
            var (page, bytes) = (UInt32(0), [UInt8](repeating: 0, count: PageSnapshot.pageSize))
            for frame in 0..<count {
                try PageSnapshot.check(page_sums_read_frame(db.sqliteConnection, frame + 1, &page, &bytes))
                frames[page] = frame + 1
            }
        }
        self.frames = frames
    }

    /// Reads a page, from 1, into `bytes`, which has room for it.
    func read(_ page: Int64, into bytes: inout [UInt8]) throws {
        if let frame = frames[UInt32(page)] {
            var found: UInt32 = 0
            try PageSnapshot.check(page_sums_read_frame(db.sqliteConnection, frame, &found, &bytes))
        } else {
            try PageSnapshot.check(page_sums_read_page(db.sqliteConnection, page, &bytes))
        }
        // Without a log beside it: a backup is read where nothing can be written.
        if page == 1 { (bytes[18], bytes[19]) = (1, 1) }
        // In the log pages are as SQLite has them, with what it left beside their cells.
        if hasSums { page_sums_seal_page(&bytes, page, pageCount) }
    }

    /// What SQLite's own check finds, as in a copy.
    func faults() throws -> [String] {
        let found = try String.fetchAll(db, sql: "PRAGMA integrity_check(20)")
        return found == ["ok"] ? [] : found
    }

    private static func check(_ code: CInt) throws {
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}
