import GRDB
import GRDBSQLite
import Glibc
import Platform

/// A store's file, for reading it beside a running hub or without one.
///
/// Each call reads in one snapshot without the hub's lock, so neither waits for the other. The calls block.
public struct StoreFile: Hashable, Sendable {
    public let path: String

    /// - Parameter path: a store or a backup of one. Each call opens it.
    public init(_ path: String) { self.path = path }

    /// A summary of the file's content.
    ///
    /// It costs a few index look-ups, regardless of the file's size.
    public func summary() throws(StoreError) -> StoreSummary {
        try read("read") { db in try StoreSummary(in: db) }
    }

    /// How thoroughly a file is checked.
    ///
    /// Each level includes the one before.
    public enum Depth: Hashable, Sendable, Comparable {
        /// The checksum and structure of every page, and the number of records.
        case pages
        /// Also that every index matches its table: SQLite's `integrity_check`.
        case indices
        /// Also that all counters and streams match the records, which reads the file several times.
        case counters
    }

    /// The damage and inconsistencies found, one sentence each.
    public func faults(_ depth: Depth) throws(StoreError) -> [String] {
        try read("check") { db in
            let pages = try PageChecksums.look(db, isInUse: FileLock.isHeld(path + ".lock")).damage
            guard pages.isEmpty else { return pages.map(\.description) }
            let damage = try String.fetchAll(
                db, sql: "PRAGMA \(depth == .pages ? "quick_check" : "integrity_check")(20)")
            try refuseUnread(damage)
            guard damage == ["ok"] else { return damage }
            // The counters of an older format are compared after an upgrade.
            if depth == .counters, try StoreSchema.migrator.hasCompletedMigrations(db) {
                return try AccountCheck.discrepancies(in: db) + LedgerCheck.discrepancies(in: db)
            }
            let claimed = try Int64.fetchOne(db, sql: "SELECT ifnull(sum(stored), 0) FROM account") ?? 0
            let counted =
                (try Int64.fetchOne(db, sql: "SELECT (SELECT count(*) FROM sample) + (SELECT count(*) FROM day)") ?? 0)
                + (try RetentionSchema.removedRecords(in: db))
            return claimed == counted ? [] : ["records: the counters say \(claimed), the records \(counted)"]
        }
    }

    /// Differences between the file's tables, indices, triggers and views and those of this program, one sentence each.
    public func schemaFaults() throws(StoreError) -> [String] {
        try read("check") { db in try SchemaCheck.discrepancies(in: db) }
    }

    /// Rollups that differ from the samples, one sentence each; reads all their samples.
    public func rollupFaults() throws(StoreError) -> [String] {
        try read("check") { db in
            try StoreSchema.migrator.hasCompletedMigrations(db) ? RollupCheck.discrepancies(in: db) : []
        }
    }

    /// Invalidates all rollups; the hub then computes them again.
    ///
    /// Not allowed while a hub has the store.
    public func forgetRollups() throws(StoreError) {
        let store = try Store(path: path, now: 1)
        do {
            try store.pool.write { db in try db.execute(sql: "UPDATE rollup SET not_valid = 1") }
        } catch {
            throw StoreError(error, doing: "end the rollups of \(path)")
        }
        try store.close()
    }

    /// The result of a quick check.
    public struct Glance: Hashable, Sendable {
        /// The damage found, one sentence each.
        public var faults: [String]
        /// How many bytes were checked; `nil` if the whole file was.
        public var looked: Int64?
        /// When the hub last read the whole file without finding damage, in microseconds since 1970.
        public var whole: Int64?

        public init(faults: [String], looked: Int64? = nil, whole: Int64? = nil) {
            (self.faults, self.looked, self.whole) = (faults, looked, whole)
        }
    }

    /// A quick check.
    ///
    /// A small file gets ``faults(_:)`` of all pages. In a large file it checks the log and a random run of pages.
    ///
    /// - Parameter most: the number of pages, 64 MiB by default.
    public func glance(most: Int64 = 16_384) throws(StoreError) -> Glance {
        let damage: [String]? = try read("check") { db in
            let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            guard pages > most, PageChecksums.areOn(db) else { return nil }
            let first = Int64.random(in: 1...pages - most + 1)
            return try PageChecksums.look(db, from: first, count: most, isInUse: FileLock.isHeld(path + ".lock")).damage
                .map(\.description)
        }
        guard let damage else { return Glance(faults: try faults(.pages)) }
        return Glance(faults: damage, looked: most * Int64(PageSnapshot.pageSize), whole: PageCheck(of: path).whole)
    }

    /// Skipped sequence numbers, newest first.
    ///
    /// A machine crash or a loss caused them.
    public func gaps() throws(StoreError) -> [SequenceGap] {
        try read("read") { db in try SequenceGap.all(in: db) }
    }

    /// The damage that the hub found in this store and that stops its confirmations; `nil` if there is none.
    public func knownDamage() throws(StoreError) -> String? { try DamageLatch.read(of: path) }

    /// Lets the hub confirm again after a person has had the whole store read without finding damage.
    public func forgetDamage() throws(StoreError) { try DamageLatch.forget(of: path) }

    /// The latest start of a sample, in microseconds since 1970.
    ///
    /// A time in the future shows that a clock is wrong.
    public func latestStart() throws(StoreError) -> Int64? {
        try read("read") { db in
            // One index look-up for each person and type: a plain max would read every row.
            let streams = try Row.fetchAll(
                db, sql: "SELECT DISTINCT type, person FROM stream WHERE kind = 0 AND person IS NOT NULL")
            return try streams.compactMap { row in
                try Int64.fetchOne(
                    db, sql: "SELECT max(start) FROM sample WHERE type = ? AND person = ? AND retracted IS NULL",
                    arguments: [row[0] as Int64, row[1] as Int64])
            }.max()
        }
    }

    /// Copies the committed state into the new file `target`, durably, and checks the whole copy.
    ///
    /// The copy has mode 0600 and needs no file beside it. Until it is complete and checked it is named `<target>.part`. A failure leaves no file
    /// behind. While the copy is made, the store's log cannot be truncated, so the log grows with each commit.
    /// - Parameters:
    ///   - target: must not exist.
    ///   - progress: called after every MiB; return `false` to end the copy with `interrupted`.
    /// - Returns: a summary of the copy.
    public func backUp(
        to target: String, progress: (CopyProgress) -> Bool = { _ in true }
    ) throws(StoreError) -> StoreSummary {
        let verb = "back up \(path) to \(target)"
        guard access(target, F_OK) != 0 else {
            throw StoreError(.exists, "\(verb): there is such a file already; nothing is overwritten")
        }
        let draft = try DraftFile(target + ".part")
        try KnownBackup.note(target, of: path)
        let copied = try copy(into: draft, progress)
        let copy = StoreFile(draft.path)
        try draft.makePlain()
        let faults = try copy.faults(.indices)
        let found = try copy.summary()
        guard faults.isEmpty, found.head == copied.head, found.records == copied.records else {
            throw StoreError(
                .corrupt,
                "\(verb): the copy is not sound (\(faults.first ?? "other records than in the store")); hub doctor --deep looks at the store"
            )
        }
        try draft.publish(as: target)
        // Without this line the backup stays listed as begun.
        try? KnownBackup.note(target, found, of: path)
        return found
    }

    /// Copies one snapshot page by page, which is many times faster than a copy by statements.
    func copy(into draft: DraftFile, _ progress: (CopyProgress) -> Bool) throws(StoreError) -> StoreSummary {
        let verb = "copy \(path) to \(draft.path)"
        do {
            let source = try open()
            defer { try? source.close() }
            let target = try draft.openForCopy(withSums: try source.read(PageChecksums.areOn))
            defer { try? target.close() }
            return try withoutActuallyEscaping(progress) { progress in
                try source.read { db in
                    // The first read takes the snapshot. Without it, every commit would restart the copy.
                    let summary = try StoreSummary(in: db)
                    let interrupted = StoreError(.interrupted, "\(verb): ended before it was whole")
                    var isWanted = true
                    try target.writeWithoutTransaction { copy in
                        var sinceFlush = 0
                        try db.backup(to: copy, pagesPerStep: StoreFile.pagesOfStep) { step in
                            sinceFlush += 1
                            if sinceFlush == StoreFile.stepsOfFlush || step.isCompleted {
                                // Flush in pieces: one large flush at the end would delay the hub's own flushes.
                                try draft.flush()
                                sinceFlush = 0
                            }
                            let page = summary.bytes / Int64(max(1, step.totalPageCount))
                            let state = CopyProgress(
                                done: Int64(step.completedPageCount) * page, total: summary.bytes)
                            isWanted = progress(state)
                            if !isWanted { throw interrupted }
                        }
                        // GRDB does not pass on errors thrown after the last step.
                        if !isWanted { throw interrupted }
                    }
                    return summary
                }
            }
        } catch {
            throw StoreError(error, doing: verb)
        }
    }

    private static let pagesOfStep: CInt = 256
    private static let stepsOfFlush = 4

    /// Throws if the disk could not read a page.
    ///
    /// SQLite's check reports it like a damaged page, except for the error number.
    func refuseUnread(_ findings: [String]) throws {
        for finding in findings {
            guard let number = finding.firstMatch(of: /error code[ =]+([0-9]+)/).flatMap({ CInt($0.1) }),
                number & 0xFF == SQLITE_IOERR
            else { continue }
            throw DatabaseError(resultCode: ResultCode(rawValue: number), message: finding)
        }
    }

    // MARK: - Reading

    func read<Value>(_ verb: String, _ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do {
            let queue = try open()
            defer { try? queue.close() }
            return try queue.read(body)
        } catch {
            throw StoreError(error, doing: "\(verb) \(path)", path)
        }
    }

    /// A read-only connection.
    ///
    /// Throws if the file is not a store or is a newer hub's.
    func open() throws -> DatabaseQueue {
        try PageChecksums.begin()
        try StoreLoss.check(path)
        try StoreLoss.checkKind(path)
        var configuration = Configuration()
        configuration.label = "HubStore.file"
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.read { db in
            guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == StoreSchema.applicationID else {
                throw StoreError(.foreign, "open \(path): it is not a store of this hub")
            }
            try StoreOpener.refuseNewer(db, StoreSchema.migrator, path)
        }
        return queue
    }
}
