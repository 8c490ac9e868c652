import CPageSums
import GRDB
import GRDBSQLite

/// The pages of a store at one instant, in order.
///
/// Together they are a database that needs no log beside it.
///
/// SQLite's online backup writes into a separate file, so a backup's bytes would be on a disk before they are encrypted. This type reads each
/// page from the log or the file, as SQLite would, and compares its checksum.
struct PageSnapshot {
    let summary: StoreSummary
    private let pageCount: Int64
    private let hasSums: Bool
    private let db: Database
    /// For each page in the log, the frame with its newest version.
    private let frames: [UInt32: UInt32]

    static let pageSize = Int(page_sums_page)

    /// Takes a snapshot that is valid during `body`.
    static func with<Value>(_ queue: DatabaseQueue, _ body: (PageSnapshot) throws -> Value) throws -> Value {
        try queue.inDatabase { db in
            // The first read opens the log and recovers it after a crash.
            _ = try Int64.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
            for _ in 0..<attempts {
                let before = try head(db)
                try db.execute(sql: "BEGIN")
                defer { if db.isInsideTransaction { try? db.execute(sql: "COMMIT") } }
                _ = try Int64.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
                // If a commit happened in between, the end of the snapshot is unknown: try again.
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
        hasSums = PageChecksums.areOn(db)
        let size = try Int.fetchOne(db, sql: "PRAGMA page_size")
        guard size == PageSnapshot.pageSize else {
            throw StoreError(
                .foreign,
                "its pages have \(size ?? 0) bytes, a size that no hub uses; a backup without encryption can be made")
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

    /// Writes all pages in order, and reports progress after every MiB.
    func write(to sink: any ByteSink, _ progress: (CopyProgress) throws -> Void) throws {
        var bytes = [UInt8](repeating: 0, count: PageSnapshot.pageSize)
        let total = pageCount * Int64(PageSnapshot.pageSize)
        for page in 1...pageCount {
            try read(page, into: &bytes)
            try sink.write(bytes)
            if page % 256 == 0 { try progress(CopyProgress(done: page * Int64(PageSnapshot.pageSize), total: total)) }
        }
    }

    /// Reads a page, numbered from 1, into `bytes`, which must have room for it.
    private func read(_ page: Int64, into bytes: inout [UInt8]) throws {
        if let frame = frames[UInt32(page)] {
            var found: UInt32 = 0
            try PageSnapshot.check(page_sums_read_frame(db.sqliteConnection, frame, &found, &bytes))
        } else {
            try PageSnapshot.check(page_sums_read_page(db.sqliteConnection, page, &bytes))
        }
        // Clears WAL mode in the header, because a backup may be read from a place that is not writable.
        if page == 1 { (bytes[18], bytes[19]) = (1, 1) }
        // Pages in the log are as SQLite wrote them, with data left in their unused bytes.
        if hasSums { page_sums_seal_page(&bytes, page, pageCount) }
    }

    /// The faults that SQLite's integrity check finds in the snapshot.
    func faults() throws -> [String] {
        let found = try String.fetchAll(db, sql: "PRAGMA integrity_check(20)")
        return found == ["ok"] ? [] : found
    }

    private static func check(_ code: CInt) throws {
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}
