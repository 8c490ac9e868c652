import Dispatch
import Files
import GRDB
public import Samples
import Synchronization

/// The hub's records in one SQLite file: everything it has confirmed, and nothing twice.
///
/// Commits run one after another on the store's own queue, each made durable by `fsync` before it returns; reads run beside them, each in
/// a snapshot. Callers from any thread; no call blocks the caller's thread except `init` and `close`.
public final class Store: Sendable {
    /// The random, permanent name of this hub.
    public let hubID: String

    let path: String
    let pool: DatabasePool
    private let checkpoints: CheckpointWatch
    private let lock: FileLock
    private let isClosed = Mutex(false)
    let writer: Writer
    private let reserve: SequenceReserve
    private let latch: DamageLatch
    let marks: OfferMarks
    let readerTerms = TermCache()
    /// Whether an erasure is being finished, or names are being taken away: each would miss what the other does between its transactions.
    let isFinishingErasure = Mutex(false)
    let isChoosingErasure = Mutex(false)
    private let place: Mutex<Samples.Cursor>

    /// When a hub last believed its clock, before the first did when the newest record was stored; `nil` in a new store.
    ///
    /// In microseconds since 1970.
    public let believedAtOpening: Int64?

    /// What was found missing when the store was opened; `nil` where nothing was.
    public let loss: SequenceGap?

    /// Opens the store, or makes it where there is none.
    ///
    /// A file that is gone or empty while its log has committed records is refused, and both stay as they are.
    /// Of an older schema a copy is kept beside it as `<path>.before-<version>` before it is brought up to date.
    /// - Parameters:
    ///   - path: the file; its folder must exist. It gets mode 0600, as do SQLite's `-wal` and `-shm`; `<path>.lock` names the process.
    ///   - now: microseconds since 1970, the creation time of a new store; from here on no retry waits longer than was asked.
    ///   - telling: called while a store of an older hub is copied and brought up to date, on the caller's thread.
    public convenience init(
        path: String, now: Int64, telling: (OpeningProgress) -> Void = { _ in }
    ) throws(StoreError) {
        try self.init(path: path, now: now, migrator: Schema.migrator, telling: telling)
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
            let file = try Opening.open(path, migrator, checkpoints, now: now, telling)
            (pool, reserve, loss) = (file.pool, file.reserve, file.loss)
            let opened = try pool.writeWithoutTransaction { db in
                // What is stored by a wrong clock from now on does not speak for it.
                try db.execute(sql: "UPDATE meta SET clock = (\(StoreSummary.newest)) WHERE clock IS NULL")
                return (
                    try Opening.meta(db), try WriterCaches(from: db),
                    try Int64.fetchOne(db, sql: "SELECT clock FROM meta")
                )
            }
            hubID = opened.0.hub
            believedAtOpening = opened.2
            place = Mutex(Samples.Cursor(epoch: opened.0.epoch, sequence: opened.1.head))
            marks = OfferMarks(opened.1.ledger.sinks, head: opened.1.head)
            writer = Writer(opened.1, marks, reserve, latch)
        } catch {
            throw StoreError(error, doing: "open \(path)", path)
        }
    }

    /// Eight characters that change when the store is restored; part of every cursor.
    public var epoch: String { cursor.epoch }

    /// The last sequence that is stored; 0 in an empty store.
    public var head: Int64 { cursor.sequence }

    /// The place after everything that is stored.
    public var cursor: Samples.Cursor { place.withLock { $0 } }

    // MARK: - Writing

    /// Stores the batches of any number of instances in one durable transaction, in order.
    ///
    /// Bad records are rejected one by one, with the rest of their group. When this throws, nothing at all was stored or counted.
    /// A commit that has begun is finished even if the calling task is cancelled.
    /// - Parameter recordedAt: microseconds since 1970, by the hub's clock.
    public func commit(_ batches: [IntakeBatch], recordedAt: Int64) async throws(StoreError) -> [CommitResult] {
        try await write("commit", recordedAt) { transaction in
            try batches.map { batch in try transaction.store(batch) }
        }
    }

    /// As ``commit(_:recordedAt:)``, of batches that are asked for one by one: what comes while the transaction is open can still be in it.
    ///
    /// - Parameter next: called on the store's own queue, at once after the batch before is stored; `nil` ends the transaction.
    public func commit(
        recordedAt: Int64, of next: @escaping @Sendable () -> IntakeBatch?
    ) async throws(StoreError) -> [CommitResult] {
        try await write("commit", recordedAt) { transaction in
            var results: [CommitResult] = []
            while let batch = next() { results.append(try transaction.store(batch)) }
            return results
        }
    }

    /// Does what a person asked for by hand, in one durable transaction.
    ///
    /// A result per record, in order, groups included; what cannot be done to one is its rejection and stops nothing else.
    public func carryOut(_ action: ManualChange, recordedAt: Int64) async throws(StoreError) -> [ManualResult] {
        try await write("change by hand", recordedAt) { transaction in try transaction.carryOut(action) }
    }

    /// What `carryOut` would answer now; nothing is changed.
    public func rehearse(_ action: ManualChange, recordedAt: Int64) async throws(StoreError) -> [ManualResult] {
        try await onWriter("rehearse a change") { [writer] db in
            try writer.rehearsal(db, recordedAt: recordedAt) { transaction in try transaction.carryOut(action) }
        }
    }

    /// The persons of these names, made with a random uid where they are new.
    ///
    /// No name may be empty.
    public func ensurePersons(_ names: [String], recordedAt: Int64) async throws(StoreError) -> [Person] {
        guard names.allSatisfy({ !$0.isEmpty }) else { throw StoreError(.query, "persons: a name is empty") }
        return try await write("persons", recordedAt) { transaction in try transaction.ensurePersons(names) }
    }

    /// Starts a new epoch, as after a restore: every cursor given out before becomes worthless.
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

    /// Writes what is there already, durably: throws what a commit would meet.
    public func checkWritable() async throws(StoreError) {
        try await write("write test", 0) { transaction in
            try transaction.db.execute(sql: "UPDATE meta SET created = created")
        }
    }

    /// Why what is confirmed stays in the log beside the file, where it should have been brought into the file.
    ///
    /// It is on the disk there, and the log grows.
    public var checkpointFault: StoreError? { checkpoints.fault }

    /// Brings the log into the file as far as no reader needs it; `checkpointFault` tells what became of that.
    public func checkpoint() async throws(StoreError) {
        try await onWriter("bring the log into the file") { [checkpoints] db in
            if let connection = db.sqliteConnection { checkpoints.attempt(connection) }
        }
    }

    /// The damage for which nothing is confirmed until a person decides; `nil` where none was found.
    ///
    /// Found by reading, by whichever call, or by `check`; it lasts over a restart. What is whole can be read all the same.
    public var damage: String? { latch.reason }

    /// Reads pages from the disk past all memory and compares them with their sums, from where the last call ended.
    ///
    /// What is damaged is remembered, as `damage`.
    /// - Parameters:
    ///   - pages: so many of 4 KiB; the log is read whole with each call.
    ///   - now: microseconds since 1970.
    public func check(pages: Int64, now: Int64) async throws(StoreError) -> PageCheck {
        var check = PageCheck(of: path)
        let first = check.next
        let found = try await read("check") { db in try PageSums.look(db, from: first, count: pages, most: 1) }
        if let damage = found.damage.first {
            latch.note(StoreError(.corrupt, "check \(path): \(damage)"))
        } else {
            check.went(to: found.next, of: found.pages, now: now)
            check.write(of: path)
        }
        return check
    }

    /// How far the check has come.
    public var checked: PageCheck { PageCheck(of: path) }

    // MARK: - Reading

    /// One page of records; see `RecordQuery`.
    public func page(_ query: RecordQuery) async throws(StoreError) -> RecordPage {
        try await page(query, within: .usual)
    }

    func page(_ query: RecordQuery, within slice: PageSlice) async throws(StoreError) -> RecordPage {
        try await read("query") { [readerTerms] db in try Reader(db, readerTerms).page(query, within: slice) }
    }

    /// Which sources have given what a query selects, as far as one look goes; its order and limit count for nothing.
    public func sources(_ query: RecordQuery) async throws(StoreError) -> SourceCountPage {
        try await sources(query, within: .usual)
    }

    func sources(_ query: RecordQuery, within slice: PageSlice) async throws(StoreError) -> SourceCountPage {
        try await read("sources") { [readerTerms] db in try Reader(db, readerTerms).sources(query, within: slice) }
    }

    /// The records with these numbers in their current version, in the order asked; unknown numbers are left out.
    ///
    /// At most 1,000.
    public func records(numbers: [Int64]) async throws(StoreError) -> [StoredRecord] {
        guard numbers.count <= RecordQuery.maximumPage else {
            throw StoreError(.query, "records: at most 1,000 numbers in one call")
        }
        return try await read("records") { [readerTerms] db in try Reader(db, readerTerms).records(numbers: numbers)
        }
    }

    /// The current version of what has this identity; a day's person by uid or name.
    public func record(_ identity: RecordIdentity) async throws(StoreError) -> StoredRecord? {
        try await read("record") { [readerTerms] db in try Reader(db, readerTerms).record(identity) }
    }

    /// A page of the story of a record; `nil` when there is none of this number.
    ///
    /// - Parameters:
    ///   - place: where the page before ended; `nil` for the first.
    ///   - limit: versions of the page; 0 for none, where only days are wanted.
    public func trace(
        _ number: Int64, from place: RecordTrace.Place? = nil, versions limit: Int = RecordQuery.maximumPage
    )
        async throws(StoreError) -> RecordTrace?
    {
        try await trace(number, from: place, versions: limit, within: .usual)
    }

    func trace(_ number: Int64, from place: RecordTrace.Place?, versions limit: Int, within slice: PageSlice)
        async throws(StoreError) -> RecordTrace?
    {
        try await read("trace") { [readerTerms] db in
            try Reader(db, readerTerms).trace(
                number, from: place ?? .beginning, versions: min(limit, RecordQuery.maximumPage), within: slice)
        }
    }

    /// Computes on what a question about statistics asks, for some milliseconds.
    ///
    /// To be called until the walk is over, or has rows enough.
    public func advance(_ walk: StatisticsWalk) async throws(StoreError) -> StatisticsWalk {
        try await read("statistics") { [readerTerms] db in
            var walk = walk
            try Reader(db, readerTerms).advance(&walk)
            return walk
        }
    }

    /// The raw bytes that a version was read from, where its source's settings keep them.
    public func payload(sequence: Int64) async throws(StoreError) -> [UInt8]? {
        try await read("payload") { db in
            let statement = try RawStatement(cached: "SELECT bytes FROM payload WHERE seq = ?", in: db)
            defer { statement.clear() }
            statement.bind(1, sequence)
            return try statement.step() ? statement.bytes(0) : nil
        }
    }

    /// Everyone the store knows, in the order they were made known.
    public func persons() async throws(StoreError) -> [Person] {
        try await read("persons") { db in
            try Row.fetchAll(db, sql: "SELECT uid, name FROM person ORDER BY id").map {
                Person(uid: $0[0], name: $0[1])
            }
        }
    }

    /// What every instance sent and what became of it, by name.
    public func accounts() async throws(StoreError) -> [Account] {
        try await read("accounts") { db in try Account.all(in: db) }
    }

    /// Recomputes from the records all that the counters and streams claim; a sentence per difference.
    ///
    /// Reads the whole file.
    public func verifyAccounts() async throws(StoreError) -> [String] {
        try await read("verify accounts") { db in
            try AccountCheck.discrepancies(in: db) + LedgerCheck.discrepancies(in: db)
        }
    }

    /// How many samples wait for a person to say whose they are.
    public func inboxCount() async throws(StoreError) -> Int64 {
        try await read("inbox") { db in
            try Tallies(from: db).inbox
        }
    }

    /// How many samples are implausible.
    public func implausibleCount() async throws(StoreError) -> Int64 {
        try await read("implausible") { db in
            try Tallies(from: db).implausible
        }
    }

    /// Sequences that were left out, the newest first: where the machine went down, or something was lost.
    public func gaps() async throws(StoreError) -> [SequenceGap] {
        try await read("gaps") { db in try SequenceGap.all(in: db) }
    }

    /// How many records there are in their current version, retracted ones included.
    public func recordCount() async throws(StoreError) -> Int64 {
        // Each sequence that started an identity was counted once in an account; counting rows would read the file.
        try await read("records") { db in
            try Account.all(in: db).reduce(0) { $0 + $1.stored } - RetentionSchema.removedRecords(in: db)
        }
    }

    /// Finishes the commits in progress and closes the file; every later call throws `closed`.
    ///
    /// A second call does nothing.
    public func close() throws(StoreError) {
        do {
            guard !isClosed.withLock({ $0 }) else { return }
            restSinks()
            checkpoints.end()
            // The pool closes its writer before its readers, so SQLite would leave all of it in the write-ahead log; a program that copies the
            // file of a hub that is stopped should have everything. One that cannot be folded in now is read from the log next time.
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

    /// Writes down what the sinks were given, if that can be: without it the next opening takes everything for given.
    private func restSinks() {
        try? pool.writeWithoutTransaction { db in
            guard db.sqliteConnection != nil else { return }
            try writer.transaction(db, recordedAt: 0, { transaction in transaction.restSinks() }, committed: { _ in })
        }
    }

    // MARK: - Queues

    /// Runs `body` in one transaction on the writer's queue; the head moves when it is durable.
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
}
