import Dispatch
import GRDB
import Platform
public import Samples
import Synchronization

/// The hub's records in one SQLite file: everything that it has confirmed, without duplicates.
///
/// Commits run one after another on the store's own queue. Each is made durable by `fsync` before it returns. Reads run concurrently, each in a
/// snapshot. Callers may use any thread. No call blocks the caller's thread, except `init` and `close`.
public final class Store: Sendable {
    /// The random, permanent name of this hub.
    public let hubID: String

    let path: String
    let pool: DatabasePool
    private let checkpoints: CheckpointWatch
    private let lock: FileLock
    private let isClosed = Mutex(false)
    let writer: WriterState
    private let reserve: SequenceReserve
    private let latch: DamageLatch
    let marks: OfferMarks
    let readerTerms = TermCache()
    /// Whether an erasure is being finished or names are being removed.
    ///
    /// Each would miss changes that the other makes between its transactions.
    let isFinishingErasure = Atomic(false)
    let isChoosingErasure = Atomic(false)
    private let place: Mutex<Samples.Cursor>

    /// When a hub last trusted its clock, or before the first time, when the newest record was stored; `nil` in a new store.
    ///
    /// In microseconds since 1970.
    public let believedAtOpening: Int64?

    /// The loss detected when the store was opened; `nil` if there was none.
    public let loss: SequenceGap?

    /// Opens the store, or creates it if there is none.
    ///
    /// If the file is missing or empty but its log has committed records, the call throws and changes neither.
    /// A store with an older schema is first copied to `<path>.before-<version>` and then upgraded.
    /// - Parameters:
    ///   - path: the file; its folder must exist. It gets mode 0600, as do SQLite's `-wal` and `-shm`; `<path>.lock` names the process.
    ///   - now: microseconds since 1970, the creation time of a new store. It also limits the waits of retries to their requested length.
    ///   - telling: called on the caller's thread while a store of an older hub is copied and upgraded.
    public convenience init(
        path: String, now: Int64, telling: (OpeningProgress) -> Void = { _ in }
    ) throws(StoreError) {
        try self.init(path: path, now: now, migrator: StoreSchema.migrator, telling: telling)
    }

    init(
        path: String, now: Int64, migrator: DatabaseMigrator, telling: (OpeningProgress) -> Void = { _ in }
    ) throws(StoreError) {
        self.path = path
        lock = try StoreFiles.lock(path)
        StoreCopies.removeDrafts(of: path)
        latch = try DamageLatch(path)
        checkpoints = CheckpointWatch(path, latch)
        try StoreLoss.check(path)
        try StoreFiles.prepare(path)
        do {
            let file = try StoreOpener.open(path, migrator, checkpoints, now: now, telling)
            (pool, reserve, loss) = (file.pool, file.reserve, file.loss)
            let marks = OfferMarks()
            let opened = try pool.writeWithoutTransaction { db in
                // Set the clock before anything is stored, because records stored with a wrong clock are no evidence for it.
                try db.execute(sql: "UPDATE meta SET clock = (\(StoreSummary.newest)) WHERE clock IS NULL")
                return (
                    try StoreOpener.meta(db), try WriterCaches(from: db, marks),
                    try Int64.fetchOne(db, sql: "SELECT clock FROM meta")
                )
            }
            hubID = opened.0.hub
            believedAtOpening = opened.2
            place = Mutex(Samples.Cursor(epoch: opened.0.epoch, sequence: opened.1.head))
            marks.adopt(opened.1.ledger.sinks, head: opened.1.head)
            self.marks = marks
            writer = WriterState(opened.1, marks, reserve, latch)
        } catch {
            throw StoreError(error, doing: "open \(path)", path)
        }
    }

    /// Eight characters that change when the store is restored; part of every cursor.
    public var epoch: String { cursor.epoch }

    /// The last stored sequence number; 0 in an empty store.
    public var head: Int64 { cursor.sequence }

    /// The place after everything that is stored.
    public var cursor: Samples.Cursor { place.withLock { $0 } }

    // MARK: - Writing

    /// Stores the batches of any number of instances in one durable transaction, in order.
    ///
    /// Invalid records are rejected one by one, with the rest of their group. If the call throws, nothing was stored or counted.
    /// A commit that has begun is finished even if the calling task is cancelled.
    /// - Parameter recordedAt: microseconds since 1970, by the hub's clock.
    public func commit(_ batches: [IntakeBatch], recordedAt: Int64) async throws(StoreError) -> [[StoreResult]] {
        try await write("commit", recordedAt) { transaction in
            try batches.map { batch in try transaction.store(batch) }
        }
    }

    /// Like ``commit(_:recordedAt:)``, but requests batches one by one, so that batches arriving during the transaction can be part of it.
    ///
    /// - Parameter next: called on the store's own queue, immediately after the previous batch is stored; `nil` ends the transaction.
    public func commit(
        recordedAt: Int64, of next: @escaping @Sendable () -> IntakeBatch?
    ) async throws(StoreError) -> [[StoreResult]] {
        try await write("commit", recordedAt) { transaction in
            var results: [[StoreResult]] = []
            while let batch = next() { results.append(try transaction.store(batch)) }
            return results
        }
    }

    /// Carries out a manual change in one durable transaction.
    ///
    /// Returns a result per record, in order, groups included. A record that cannot be changed gets a rejection and does not affect the others.
    public func carryOut(_ action: ManualChange, recordedAt: Int64) async throws(StoreError) -> [ManualResult] {
        try await write("change by hand", recordedAt) { transaction in try transaction.carryOut(action) }
    }

    /// The results that `carryOut` would return now; nothing is changed.
    public func rehearse(_ action: ManualChange, recordedAt: Int64) async throws(StoreError) -> [ManualResult] {
        try await onWriter("rehearse a change") { [writer] db in
            try writer.rehearsal(db, recordedAt: recordedAt) { transaction in try transaction.carryOut(action) }
        }
    }

    /// The persons of these names.
    ///
    /// New ones are created with a random uid.
    ///
    /// No name may be empty.
    public func ensurePersons(_ names: [String], recordedAt: Int64) async throws(StoreError) -> [Person] {
        guard names.allSatisfy({ !$0.isEmpty }) else { throw StoreError(.query, "persons: a name is empty") }
        return try await write("persons", recordedAt) { transaction in try transaction.ensurePersons(names) }
    }

    /// Starts a new epoch, as after a restore.
    ///
    /// All cursors issued before become invalid.
    @discardableResult
    public func newEpoch() async throws(StoreError) -> String {
        let epoch = RandomName.epoch()
        try reserve.announce(epoch)
        _ = try await write("new epoch", 0) { transaction in
            try transaction.db.execute(sql: "UPDATE meta SET epoch = ?", arguments: [epoch])
        }
        try reserve.begin(epoch)
        place.withLock { $0.epoch = epoch }
        return epoch
    }

    /// Rewrites existing data durably; throws the error that a commit would get.
    public func checkWritable() async throws(StoreError) {
        try await write("write test", 0) { transaction in
            try transaction.db.execute(sql: "UPDATE meta SET created = created")
        }
    }

    /// Why confirmed data stays in the log instead of being moved into the file.
    ///
    /// The data is on disk in the log, and the log grows.
    public var checkpointFault: StoreError? { checkpoints.fault }

    /// Moves the log into the file as far as no reader needs it; `checkpointFault` has the result.
    public func checkpoint() async throws(StoreError) {
        try await onWriter("bring the log into the file") { [checkpoints] db in
            if let connection = db.sqliteConnection { checkpoints.attempt(connection) }
        }
    }

    /// The damage that stops all confirmations until a person decides; `nil` if there is none.
    ///
    /// Any call that reads may find it, as may `check`. It persists across a restart. Undamaged data can still be read.
    public var damage: String? { latch.reason }

    /// Reads pages from the disk, bypassing all caches, and compares their checksums, from where the last call ended.
    ///
    /// Damage found is recorded as `damage`.
    /// - Parameters:
    ///   - pages: the number of pages of 4 KiB. Each call also reads the whole log.
    ///   - now: microseconds since 1970.
    public func check(pages: Int64, now: Int64) async throws(StoreError) -> PageCheck {
        var check = PageCheck(of: path)
        let first = check.next
        let found = try await read("check") { db in try PageChecksums.look(db, from: first, count: pages, most: 1) }
        if let damage = found.damage.first {
            latch.note(StoreError(.corrupt, "check \(path): \(damage)"))
        } else {
            check.went(to: found.next, of: found.pages, now: now)
            check.write(of: path)
        }
        return check
    }

    /// The progress of the check.
    public var checked: PageCheck { PageCheck(of: path) }

    // MARK: - Reading

    /// One page of records; see `RecordQuery`.
    public func page(_ query: RecordQuery) async throws(StoreError) -> RecordPage {
        try await page(query, within: .usual)
    }

    func page(_ query: RecordQuery, within slice: PageTimeLimit) async throws(StoreError) -> RecordPage {
        try await readSnapshot("query") { reader in try reader.page(query, within: slice) }
    }

    /// The sources of the records that a query selects, for one part of them; the query's order and limit are ignored.
    public func sources(_ query: RecordQuery) async throws(StoreError) -> SourceCountPage {
        try await sources(query, within: .usual)
    }

    func sources(_ query: RecordQuery, within slice: PageTimeLimit) async throws(StoreError) -> SourceCountPage {
        try await readSnapshot("sources") { reader in try reader.sources(query, within: slice) }
    }

    /// The current versions of the records with these numbers, in the given order; unknown numbers are omitted.
    ///
    /// At most 1,000.
    public func records(numbers: [Int64]) async throws(StoreError) -> [StoredRecord] {
        guard numbers.count <= RecordQuery.maximumPage else {
            throw StoreError(.query, "records: at most 1,000 numbers in one call")
        }
        return try await readSnapshot("records") { reader in try reader.records(numbers: numbers) }
    }

    /// The current version of the record with this identity; a day's person by uid or name.
    public func record(_ identity: RecordIdentity) async throws(StoreError) -> StoredRecord? {
        try await readSnapshot("record") { reader in try reader.record(identity) }
    }

    /// A page of the history of a record; `nil` if no record has this number.
    ///
    /// - Parameters:
    ///   - place: the end of the previous page; `nil` for the first page.
    ///   - limit: the maximum number of versions on the page; 0 for only days.
    public func trace(
        _ number: Int64, from place: RecordTrace.Place? = nil, versions limit: Int = RecordQuery.maximumPage
    )
        async throws(StoreError) -> RecordTrace?
    {
        try await trace(number, from: place, versions: limit, within: .usual)
    }

    func trace(_ number: Int64, from place: RecordTrace.Place?, versions limit: Int, within slice: PageTimeLimit)
        async throws(StoreError) -> RecordTrace?
    {
        try await readSnapshot("trace") { reader in
            try reader.trace(
                number, from: place ?? .beginning, versions: min(limit, RecordQuery.maximumPage), within: slice)
        }
    }

    /// Continues the computation of statistics for some milliseconds.
    ///
    /// Call it until the walk is over or has enough rows.
    public func advance(_ walk: StatisticsWalk) async throws(StoreError) -> StatisticsWalk {
        try await readSnapshot("statistics") { reader in
            var walk = walk
            try reader.advance(&walk)
            return walk
        }
    }

    /// The raw bytes that a version was read from, if its source's settings keep them.
    public func payload(sequence: Int64) async throws(StoreError) -> [UInt8]? {
        try await read("payload") { db in
            let statement = try RawStatement(cached: "SELECT bytes FROM payload WHERE seq = ?", in: db)
            defer { statement.clear() }
            statement.bind(1, sequence)
            return try statement.step() ? statement.bytes(0) : nil
        }
    }

    /// All persons, in the order in which they were added.
    public func persons() async throws(StoreError) -> [Person] {
        try await read("persons") { db in
            try Row.fetchAll(db, sql: "SELECT uid, name FROM person ORDER BY id").map {
                Person(uid: $0[0], name: $0[1])
            }
        }
    }

    /// The counts of every instance's records by result, by name.
    public func accounts() async throws(StoreError) -> [IntakeCounts] {
        try await read("accounts") { db in try IntakeCounts.all(in: db) }
    }

    /// Compares all counters and streams with the records; returns one sentence per difference.
    ///
    /// Reads the whole file.
    public func verifyAccounts() async throws(StoreError) -> [String] {
        try await read("verify accounts") { db in
            try AccountCheck.discrepancies(in: db) + LedgerCheck.discrepancies(in: db)
        }
    }

    /// The number of samples that wait to be assigned to a person.
    public func inboxCount() async throws(StoreError) -> Int64 {
        try await read("inbox") { db in
            try StoreCounters(from: db).inbox
        }
    }

    /// The number of implausible samples.
    public func implausibleCount() async throws(StoreError) -> Int64 {
        try await read("implausible") { db in
            try StoreCounters(from: db).implausible
        }
    }

    /// Skipped sequence numbers, newest first.
    ///
    /// A machine crash or a loss caused them.
    public func gaps() async throws(StoreError) -> [SequenceGap] {
        try await read("gaps") { db in try SequenceGap.all(in: db) }
    }

    /// The number of records in their current version, including retracted ones.
    public func recordCount() async throws(StoreError) -> Int64 {
        // The accounts count each new identity once; counting rows would read the file.
        try await read("records") { db in
            try IntakeCounts.all(in: db).reduce(0) { $0 + $1.stored } - RetentionSchema.removedRecords(in: db)
        }
    }

    /// Finishes the commits in progress and closes the file; every later call throws `closed`.
    ///
    /// A second call does nothing.
    public func close() throws(StoreError) {
        do {
            guard !isClosed.withLock({ $0 }) else { return }
            pauseSinks()
            checkpoints.end()
            // The pool closes its writer before its readers, so SQLite would leave everything in the write-ahead log. A program that copies the file
            // of a
            // stopped hub should get all data. If the checkpoint fails now, the log is read at the next opening.
            try? pool.writeWithoutTransaction { db in
                if db.sqliteConnection != nil { _ = try db.checkpoint(.truncate) }
            }
            try pool.close()
            try reserve.close()
            isClosed.withLock { $0 = true }
            lock.release()
        } catch {
            throw StoreError(error, doing: "close \(path)")
        }
    }

    /// Stores which versions were handed out to sinks, if possible.
    ///
    /// Otherwise the next opening assumes that all were.
    private func pauseSinks() {
        try? pool.writeWithoutTransaction { db in
            guard db.sqliteConnection != nil else { return }
            try writer.transaction(
                db, recordedAt: 0, { transaction in transaction.caches.ledger.pause() }, committed: { _ in })
        }
    }

    // MARK: - Queues

    /// Runs `body` in one transaction on the writer's queue; the head advances once the transaction is durable.
    func write<Value: Sendable>(
        _ verb: String, _ recordedAt: Int64, _ body: @escaping @Sendable (inout WriteTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        try await onWriter(verb) { [self] db in
            try writer.transaction(db, recordedAt: recordedAt, body) { head in place.withLock { $0.sequence = head } }
        }
    }

    func onWriter<Value: Sendable>(
        _ verb: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            pool.asyncWriteWithoutTransaction { [path, latch] db in
                do {
                    guard db.sqliteConnection != nil else {
                        throw StoreError(.closed, "\(verb) in \(path): the store is closed")
                    }
                    continuation.resume(returning: .success(try body(db)))
                } catch {
                    let error = StoreError(error, doing: "\(verb) in \(path)", path)
                    latch.note(error)
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    func read<Value: Sendable>(
        _ verb: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            pool.asyncRead { [path, latch] database in
                continuation.resume(
                    returning: Result { try body(try database.get()) }.mapError { error in
                        let error = StoreError(error, doing: "\(verb) in \(path)", path)
                        latch.note(error)
                        return error
                    })
            }
        }
        return try result.get()
    }

    func readSnapshot<Value: Sendable>(
        _ verb: String, _ body: @escaping @Sendable (SnapshotReader) throws -> Value
    ) async throws(StoreError) -> Value {
        try await read(verb) { [readerTerms] db in try body(SnapshotReader(db, readerTerms)) }
    }
}
