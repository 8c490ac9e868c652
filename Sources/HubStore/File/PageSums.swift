import CPageSums
import Files
import Glibc
import GRDB
import GRDBSQLite

/// The sums of a store's pages: made when a page is written, compared whenever one is read, by whichever connection.
///
/// SQLite itself believes what its files give it. `CPageSums` lies between the two for the whole process; here is what the store asks of it.
enum PageSums {
    /// Puts the layer below all connections that are opened from now on.
    static func begin() throws(StoreError) {
        let code = page_sums_begin()
        guard code == SQLITE_OK else {
            throw StoreError(.internalFault, "SQLite did not take the layer that keeps sums of pages (\(code))")
        }
    }

    /// Gives a database that has nothing in it sums from its first page on.
    static func enable(_ db: Database) throws {
        try db.execute(sql: "PRAGMA page_size = \(page_sums_page)")
        let code = page_sums_enable(db.sqliteConnection)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// The same where the database is new; one that was made without is given them by `convert`.
    static func enableNew(_ db: Database) throws {
        if try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 { try enable(db) }
    }

    static func areOn(_ db: Database) -> Bool { page_sums_are_on(db.sqliteConnection) == 1 }

    /// Copies what a connection sees into `draft`, statement by statement, with sums.
    static func vacuum(_ db: Database, into draft: DraftFile, _ progress: (CopyProgress) -> Void = { _ in }) throws {
        var reserve = CInt(page_sums_reserve)
        let code = withUnsafeMutablePointer(to: &reserve) { reserve in
            sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_RESERVE_BYTES, reserve)
        }
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        let total = try Int64.fetchOne(db, sql: StoreSummary.bytes) ?? 0
        try Interrupts.during(db, { progress(CopyProgress(done: min(draft.size, total), total: total)) }) {
            try db.execute(sql: "VACUUM INTO ?", arguments: [draft.path])
        }
        let failure = page_sums_stamp(draft.path)
        guard failure == 0 else { throw StoreError(FileError("write", draft.path, code: failure)) }
    }

    /// Whether a database that is there has to be copied to have sums.
    static func areMissing(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_size > 0 && page_sums_are_in(path) == 0
    }

    // MARK: - Looking at all of it

    /// What was found when pages were looked at.
    struct Findings {
        var damage: [PageDamage] = []
        /// The page to go on with; past `pages` at the end.
        var next: Int64
        /// How many pages the database has.
        var pages: Int64
    }

    /// Reads pages from the disk and compares them with their sums, and the log whole, in the snapshot of the connection.
    ///
    /// Free pages and those that no index needs are among them, which SQLite's own check does not read.
    /// - Parameter isInUse: whether a hub may be writing just now: what is found then is looked at again.
    static func look(
        _ db: Database, from first: Int64 = 1, count: Int64 = .max, most: Int = 20, isInUse: Bool = true
    ) throws -> Findings {
        // The snapshot keeps the log from being begun again.
        let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        _ = try Int64.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
        var findings = Findings(next: first, pages: pages)
        let (inLog, damage) = try lookAtLog(db, isInUse)
        findings.damage = damage
        guard areOn(db) else {
            findings.next = pages + 1
            return findings
        }
        let end = count > pages - first ? pages : first + count - 1
        while findings.next <= end, findings.damage.count < most {
            let page = findings.next
            findings.next += 1
            // A newer one in the log will be written over it, and may be just now.
            if inLog.contains(UInt32(truncatingIfNeeded: page)) { continue }
            if let found = try patiently(isInUse, { page_sums_check_page(db.sqliteConnection, page) }) {
                findings.damage.append(found)
            }
        }
        return findings
    }

    /// The pages that are only in the log as yet, and what is wrong in it.
    private static func lookAtLog(_ db: Database, _ isInUse: Bool) throws -> (Set<UInt32>, [PageDamage]) {
        var (frames, written): (UInt32, UInt32) = (0, 0)
        try check(page_sums_log(db.sqliteConnection, &frames, &written))
        guard frames > 0 else { return ([], []) }
        var (pages, damage): (Set<UInt32>, [PageDamage]) = ([], [])
        for frame in 0...frames {
            var page: UInt32 = 0
            if let found = try patiently(isInUse, { page_sums_check_frame(db.sqliteConnection, frame, &page) }) {
                var (now, past): (UInt32, UInt32) = (0, 0)
                try check(page_sums_log(db.sqliteConnection, &now, &past))
                // All of it is in the file, and the log was begun again under a reader that needs none of it.
                if now < frames || now == frames && past < written { return ([], []) }
                damage.append(found)
                // Without its head nothing can be said of the log.
                if frame == 0 || damage.count == 20 { break }
            } else if frame > written, page > 0 {
                pages.insert(page)
            }
        }
        return (pages, damage)
    }

    /// What is being written just now is looked at again: only what stays so is damage.
    private static func patiently(_ isInUse: Bool, _ look: () -> CInt) throws -> PageDamage? {
        for pause in isInUse ? [UInt32(0), 1_000, 5_000, 20_000, 50_000] : [0] {
            // Even no time at all is a tenth of a millisecond of waiting.
            if pause > 0 { usleep(pause) }
            let code = look()
            if code == SQLITE_OK { return nil }
            guard code == PageDamage.code else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        }
        return PageDamage.last
    }

    private static func check(_ code: CInt) throws {
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}

/// A page that the disk gave otherwise than it was written.
public struct PageDamage: Hashable, Sendable, CustomStringConvertible {
    public var path: String
    /// From 1; in a log the number of the frame, 0 for its head.
    public var page: Int64
    public var isInLog: Bool
    let found: UInt32
    let isMissing: Bool

    /// What SQLite's callers get for it, and for nothing else.
    static let code: CInt = SQLITE_IOERR | 32 << 8

    /// What this thread met last.
    static var last: PageDamage {
        var last = page_sums_last()
        let path = withUnsafeBytes(of: &last.path) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return PageDamage(
            path: path, page: last.page, isInLog: last.in_log == 1, found: last.found, isMissing: last.is_missing == 1)
    }

    public var description: String {
        let what = isInLog ? page == 0 ? "the head" : "frame \(page)" : "page \(page)"
        if isMissing { return "\(what) of \(path) is not there: the file is too short" }
        let other =
            !isInLog && found != UInt32(truncatingIfNeeded: page) && found > 0 && found < 1 << 28
            ? ", and says that it is page \(found)" : ""
        return "\(what) of \(path) has not the sum with which it was written\(other)"
    }
}
