import CPageSums
import GRDB
import GRDBSQLite
import Glibc
import Platform

/// The checksums of a store's pages, computed when a page is written and compared when any connection reads it.
///
/// SQLite itself trusts the bytes that it reads. `CPageSums` is a layer between SQLite and its files for the whole process. This type is the
/// store's interface to it.
enum PageChecksums {
    /// Installs the layer for all connections opened from now on.
    static func begin() throws(StoreError) {
        let code = page_sums_begin()
        guard code == SQLITE_OK else {
            throw StoreError(.internalFault, "SQLite did not take the layer that keeps sums of pages (\(code))")
        }
    }

    /// Gives an empty database checksums from its first page on.
    static func enable(_ db: Database) throws {
        try db.execute(sql: "PRAGMA page_size = \(page_sums_page)")
        let code = page_sums_enable(db.sqliteConnection)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    /// Enables checksums if the database is new.
    ///
    /// `convert` adds them to older ones.
    static func enableNew(_ db: Database) throws {
        if try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 { try enable(db) }
    }

    static func areOn(_ db: Database) -> Bool { page_sums_are_on(db.sqliteConnection) == 1 }

    /// Copies the state that a connection sees into `draft`, statement by statement, with checksums.
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

    /// Whether an existing database has to be copied to get checksums.
    static func areMissing(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_size > 0 && page_sums_are_in(path) == 0
    }

    // MARK: - Checking all pages

    /// The result of a check of pages.
    struct Findings {
        var damage: [PageDamage] = []
        /// The page to continue with; greater than `pages` at the end.
        var next: Int64
        /// The number of pages of the database.
        var pages: Int64
    }

    /// Reads pages from the disk and the whole log, in the snapshot of the connection, and compares their checksums.
    ///
    /// This includes free pages and pages that no index needs, which SQLite's own check does not read.
    /// - Parameter isInUse: whether a hub may be writing at the same time. Mismatches are then checked again.
    static func look(
        _ db: Database, from first: Int64 = 1, count: Int64 = .max, most: Int = 20, isInUse: Bool = true
    ) throws -> Findings {
        // The snapshot keeps the log from being restarted.
        let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        _ = try Int64.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
        var findings = Findings(next: first, pages: pages)
        let (inLog, damage) = try checkLog(db, isInUse)
        findings.damage = damage
        guard areOn(db) else {
            findings.next = pages + 1
            return findings
        }
        let end = count > pages - first ? pages : first + count - 1
        while findings.next <= end, findings.damage.count < most {
            let page = findings.next
            findings.next += 1
            // The log has a newer version, which a checkpoint may be writing over this page now.
            if inLog.contains(UInt32(truncatingIfNeeded: page)) { continue }
            if let found = try patiently(isInUse, { page_sums_check_page(db.sqliteConnection, page) }) {
                findings.damage.append(found)
            }
        }
        return findings
    }

    /// The pages that are only in the log so far, and the damage in the log.
    private static func checkLog(_ db: Database, _ isInUse: Bool) throws -> (Set<UInt32>, [PageDamage]) {
        var (frames, written): (UInt32, UInt32) = (0, 0)
        try check(page_sums_log(db.sqliteConnection, &frames, &written))
        guard frames > 0 else { return ([], []) }
        var (pages, damage): (Set<UInt32>, [PageDamage]) = ([], [])
        for frame in 0...frames {
            var page: UInt32 = 0
            if let found = try patiently(isInUse, { page_sums_check_frame(db.sqliteConnection, frame, &page) }) {
                var (now, past): (UInt32, UInt32) = (0, 0)
                try check(page_sums_log(db.sqliteConnection, &now, &past))
                // The whole log is in the file, and it was restarted because this reader needs none of it.
                if now < frames || now == frames && past < written { return ([], []) }
                damage.append(found)
                // Without its header the log cannot be checked.
                if frame == 0 || damage.count == 20 { break }
            } else if frame > written, page > 0 {
                pages.insert(page)
            }
        }
        return (pages, damage)
    }

    /// Reads a page several times, because it may be being written.
    ///
    /// Only a lasting mismatch is damage.
    private static func patiently(_ isInUse: Bool, _ look: () -> CInt) throws -> PageDamage? {
        for pause in isInUse ? [UInt32(0), 1_000, 5_000, 20_000, 50_000] : [0] {
            // Even usleep(0) waits for a tenth of a millisecond.
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

/// A page that the disk returned differently from how it was written.
public struct PageDamage: Hashable, Sendable, CustomStringConvertible {
    public var path: String
    /// From 1.
    ///
    /// In a log the number of the frame, or 0 for the log's header.
    public var page: Int64
    public var isInLog: Bool
    let found: UInt32
    let isMissing: Bool

    /// The SQLite result code for damage.
    ///
    /// It has no other use.
    static let code: CInt = SQLITE_IOERR | 32 << 8

    /// The damage that this thread found last.
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
        return "\(what) of \(path) does not have the sum with which it was written\(other)"
    }
}
