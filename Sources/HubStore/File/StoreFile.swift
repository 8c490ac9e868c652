import Files
import Glibc
import GRDB
import GRDBSQLite

/// A store's file, read beside the hub that writes it, or where none runs.
///
/// Reads only, in one snapshot for each call, without the hub's lock: neither waits for the other. The calls block.
public struct StoreFile: Hashable, Sendable {
    public let path: String

    /// - Parameter path: of a store or of a backup of one; it is opened by each call.
    public init(_ path: String) { self.path = path }

    /// What the file holds.
    ///
    /// Costs a few index look-ups, however large it is.
    public func summary() throws(StoreError) -> StoreSummary {
        try read("read") { db in try StoreSummary(in: db) }
    }

    /// How many records there are that were first stored after a sequence.
    public func recordCount(after sequence: Int64) throws(StoreError) -> Int64 {
        try read("count") { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT (SELECT count(*) FROM sample WHERE number > ?1) + (SELECT count(*) FROM day WHERE number > ?1)
                    """, arguments: [sequence]) ?? 0
        }
    }

    /// How closely a file is looked at; each level has the one before in it.
    public enum Depth: Hashable, Sendable, Comparable {
        /// The sum and the form of every page, and the number of records.
        case pages
        /// That every index says what its table says: SQLite's `integrity_check`.
        case indices
        /// That all counters and streams say what the records say, which reads the file several times.
        case counters
    }

    /// What is damaged or does not add up, a sentence each.
    public func faults(_ depth: Depth) throws(StoreError) -> [String] {
        try read("check") { db in
            let pages = try PageSums.look(db, isInUse: FileLock.isHeld(path + ".lock")).damage
            guard pages.isEmpty else { return pages.map(\.description) }
            let damage = try String.fetchAll(
                db, sql: "PRAGMA \(depth == .pages ? "quick_check" : "integrity_check")(20)")
            try refuseUnread(damage)
            guard damage == ["ok"] else { return damage }
            // The counters of an older format are compared once it has been brought up to date.
            if depth == .counters, try Schema.migrator.hasCompletedMigrations(db) {
                return try AccountCheck.discrepancies(in: db) + LedgerCheck.discrepancies(in: db)
            }
            let claimed = try Int64.fetchOne(db, sql: "SELECT ifnull(sum(stored), 0) FROM account") ?? 0
            let counted =
                (try Int64.fetchOne(db, sql: "SELECT (SELECT count(*) FROM sample) + (SELECT count(*) FROM day)") ?? 0)
                + (try RetentionSchema.removedRecords(in: db))
            return claimed == counted ? [] : ["records: the counters say \(claimed), the records \(counted)"]
        }
    }

    /// In which tables, indices, triggers and views the file differs from what this program makes, a sentence each.
    public func schemaFaults() throws(StoreError) -> [String] {
        try read("check") { db in try SchemaCheck.discrepancies(in: db) }
    }

    /// Which of the figures that are kept for statistics are not what the samples say, a sentence each; reads all their samples.
    public func rollupFaults() throws(StoreError) -> [String] {
        try read("check") { db in
            try Schema.migrator.hasCompletedMigrations(db) ? RollupCheck.discrepancies(in: db) : []
        }
    }

    /// Ends what is kept for statistics, which the hub then computes again; not while a hub has the store.
    public func forgetRollups() throws(StoreError) {
        let store = try Store(path: path, now: 1)
        do {
            try store.pool.write { db in try db.execute(sql: "UPDATE rollup SET not_valid = 1") }
        } catch {
            throw StoreError(error, doing: "end the rollups of \(path)")
        }
        try store.close()
    }

    /// What a glance has seen.
    public struct Glance: Hashable, Sendable {
        /// What is damaged, a sentence each.
        public var faults: [String]
        /// How much was looked at, in bytes; `nil` where it was all.
        public var looked: Int64?
        /// When the hub last read all of it and found it whole, microseconds since 1970.
        public var whole: Int64?

        public init(faults: [String], looked: Int64? = nil, whole: Int64? = nil) {
            (self.faults, self.looked, self.whole) = (faults, looked, whole)
        }
    }

    /// What is damaged as far as a moment goes: all ``faults(_:)`` of the pages of a small file; of a large one its log and a run of pages,
    /// at another place each time.
    ///
    /// - Parameter most: how many pages, 64 MiB if not given.
    public func glance(most: Int64 = 16_384) throws(StoreError) -> Glance {
        let damage: [String]? = try read("check") { db in
            let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            guard pages > most, PageSums.areOn(db) else { return nil }
            let first = Int64.random(in: 1...pages - most + 1)
            return try PageSums.look(db, from: first, count: most, isInUse: FileLock.isHeld(path + ".lock")).damage
                .map(\.description)
        }
        guard let damage else { return Glance(faults: try faults(.pages)) }
        return Glance(faults: damage, looked: most * Int64(PageSnapshot.pageSize), whole: PageCheck(of: path).whole)
    }

    /// Sequences that were left out, the newest first: where the machine went down, or something was lost.
    public func gaps() throws(StoreError) -> [SequenceGap] {
        try read("read") { db in try SequenceGap.all(in: db) }
    }

    /// The damage that the hub has found in this store, and that keeps it from confirming anything; `nil` where there is none.
    public func knownDamage() throws(StoreError) -> String? { try DamageLatch.read(of: path) }

    /// Lets the hub confirm again: a person has had the store read again and found it whole.
    public func forgetDamage() throws(StoreError) { try DamageLatch.forget(of: path) }

    /// When the samples that end last do so, microseconds since 1970: what is later than now has a wrong clock behind it.
    public func latestStart() throws(StoreError) -> Int64? {
        try read("read") { db in
            // One index end for each person and type: a plain max would read every row.
            let streams = try Row.fetchAll(
                db, sql: "SELECT DISTINCT type, person FROM stream WHERE kind = 0 AND person IS NOT NULL")
            return try streams.compactMap { row in
                try Int64.fetchOne(
                    db, sql: "SELECT max(start) FROM sample WHERE type = ? AND person = ? AND retracted IS NULL",
                    arguments: [row[0] as Int64, row[1] as Int64])
            }.max()
        }
    }

    /// Copies what is committed now into the new file `target`, durably, and checks the copy from end to end.
    ///
    /// The copy has mode 0600 and needs no file beside it. Until it is whole and checked it is called `<target>.part`; a failure leaves nothing
    /// behind. While it is made the store's log cannot be cut, so the log grows by what is committed meanwhile.
    /// - Parameters:
    ///   - target: must not exist.
    ///   - progress: called after every MiB; `false` ends the copy with `interrupted`.
    /// - Returns: what is in the copy.
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
        // Without this line it stays one that was begun, and is named as such.
        try? KnownBackup.note(target, found, of: path)
        return found
    }

    /// Copies one snapshot page by page: a copy by statements would cost the machine many times the work.
    func copy(into draft: DraftFile, _ progress: (CopyProgress) -> Bool) throws(StoreError) -> StoreSummary {
        let verb = "copy \(path) to \(draft.path)"
        do {
            let source = try open()
            defer { try? source.close() }
            let target = try draft.openForCopy(withSums: try source.read(PageSums.areOn))
            defer { try? target.close() }
            return try withoutActuallyEscaping(progress) { progress in
                try source.read { db in
                    // The first look takes the snapshot. Without it every commit would begin the copy again.
                    let summary = try StoreSummary(in: db)
                    let interrupted = StoreError(.interrupted, "\(verb): ended before it was whole")
                    var isWanted = true
                    try target.writeWithoutTransaction { copy in
                        var sinceFlush = 0
                        try db.backup(to: copy, pagesPerStep: StoreFile.pagesOfStep) { step in
                            sinceFlush += 1
                            if sinceFlush == StoreFile.stepsOfFlush || step.isCompleted {
                                // In pieces: one large flush at the end would hold up the hub's own.
                                try draft.flush()
                                sinceFlush = 0
                            }
                            let page = summary.bytes / Int64(max(1, step.totalPageCount))
                            let state = CopyProgress(
                                done: Int64(step.completedPageCount) * page, total: summary.bytes)
                            isWanted = progress(state)
                            if !isWanted { throw interrupted }
                        }
                        // What is thrown after the last step is not passed on.
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

    /// A page that the disk did not give is not a damaged page: SQLite's check tells of both in the same words, but for the error's number.
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

    /// A connection that changes nothing; refuses what is not a store, or a newer hub's.
    func open() throws -> DatabaseQueue {
        try PageSums.begin()
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
            guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == Schema.applicationID else {
                throw StoreError(.foreign, "open \(path): it is not a store of this hub")
            }
            try Opening.refuseNewer(db, Schema.migrator, path)
        }
        return queue
    }
}
