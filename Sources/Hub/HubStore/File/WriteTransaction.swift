import GRDB
import HubWire
import Samples

/// A write transaction in progress.
///
/// It stores records, returns results, and updates `caches`.
///
/// If anything throws, the transaction is rolled back and its caches are dropped.
struct WriteTransaction {
    let db: Database
    let recordedAt: Int64
    var caches: WriterCaches
    /// Looked up once.
    ///
    /// Finding it again by its text would cost as much per record as binding it.
    let insertSample: RawStatement
    /// The scope of the batch that is being stored.
    var scope = WriteScope()
    /// The number of records that have left a person in this transaction.
    var departures: Int64 = 0
    /// The batch that is being stored.
    var batch: BatchInProgress?
    /// Whether words or names were removed that the caches may contain.
    var forgetsWords = false

    init(_ db: Database, _ caches: consuming WriterCaches, recordedAt: Int64) throws {
        self.db = db
        self.recordedAt = recordedAt
        self.caches = caches
        insertSample = try RawStatement(cached: SampleRow.insert, in: db)
    }

    /// Returns one result per item, in the batch's order.
    mutating func store(_ batch: IntakeBatch) throws -> [StoreResult] {
        scope = batch.scope
        defer { scope = WriteScope() }
        var account = caches.accounts[batch.instance] ?? IntakeCounts(instance: batch.instance)
        caches.allowance = BatchAllowance(
            limits: batch.instance == IntakeCounts.hand ? .none : batch.limits, used: account.usage)
        defer { caches.allowance = BatchAllowance() }
        var refused = try membersBeyondLimits(of: batch)
        for place in try foreignMembers(of: batch) { refused[place] = WriteScope.refusal }
        let refusals = IntakeCheck.refusals(of: batch.items, caches, refused)
        self.batch = BatchInProgress(items: batch.items, refusals: refusals)
        defer { self.batch = nil }
        var results: [StoreResult] = []
        results.reserveCapacity(batch.items.count)
        for (place, item) in batch.items.enumerated() {
            let result: StoreResult
            if let refusal = refusals?[place] {
                result = .rejected(refusal)
            } else if case .success(let intake) = item {
                result = try store(intake)
            } else {
                throw StoreError(.internalFault, "a refused record has no refusal")
            }
            account.count(result)
            results.append(result)
        }
        account.usage = caches.allowance.used
        setAccount(account)
        return results
    }

    /// The indices of group members whose stored record may not be changed.
    ///
    /// The whole group is refused before any of it is stored.
    private mutating func foreignMembers(of batch: IntakeBatch) throws -> Set<Int> {
        guard batch.scope != WriteScope() else { return [] }
        var places: Set<Int> = []
        for (place, item) in batch.items.enumerated() {
            guard case .success(let intake) = item, case .sample(let sample) = intake.record, sample.group != nil,
                let known = try find(sample.source, sample.key), try !mayChange(known),
                try scope.isByHand || addsInformation(sample, for: sourceVersion(of: known))
            else { continue }
            places.insert(place)
        }
        return places
    }

    mutating func ensurePersons(_ names: [String]) throws -> [Person] {
        try names.map { name in
            // If a person waiting to be forgotten is added again, the name is kept.
            try db.execute(sql: "UPDATE person SET erased = NULL WHERE name = ? AND erased = 1", arguments: [name])
            if let known = caches.persons.first(where: { $0.name == name }) { return known }
            let person = Person(uid: RandomName.uid(), name: name)
            let insert = try RawStatement(cached: "INSERT INTO person (uid, name, created) VALUES (?, ?, ?)", in: db)
            insert.bind(1, person.uid)
            insert.bind(2, person.name)
            insert.bind(3, recordedAt)
            try insert.run()
            caches.remember(person, id: db.lastInsertedRowID)
            try caches.ledger.personsChanged(in: db)
            return person
        }
    }

    /// Ends the transaction: writes streams and accounts, and returns the caches for the state after the commit.
    mutating func finish() throws -> WriterCaches {
        if departures > 0 {
            var account = caches.accounts[IntakeCounts.hand] ?? IntakeCounts(instance: IntakeCounts.hand)
            account.received += departures
            account.retractions += departures
            setAccount(account)
        }
        try caches.save(to: db)
        if forgetsWords { caches = try WriterCaches(from: db, caches.ledger.marks) }
        return caches
    }

    mutating func setAccount(_ account: IntakeCounts) {
        guard account.received > 0 else { return }
        caches.accounts[account.instance] = account
        caches.changedAccounts.insert(account.instance)
    }

    private mutating func store(_ intake: IntakeRecord) throws -> StoreResult {
        do {
            if let known = try caches.erased(intake, in: db) { return known }
            switch intake.record {
            case .sample(let sample): return try put(sample, intake)
            case .day(let day): return try put(day, intake)
            case .retraction(let retraction): return try put(retraction)
            }
        } catch let rejection as RecordRejection {
            // The limit was reached while binding, so nothing is written. Clear the statement for the next record.
            insertSample.clear()
            return .rejected(rejection)
        }
    }

    func addsInformation(_ author: Retraction.Author, _ reason: String?, _ version: Int64?, for standing: Retraction)
        -> Bool
    {
        switch (standing.author, author) {
        case (.person, _): false
        case (.source, .person): true
        case (.source, .source): standing.reason != reason || standing.sourceVersion != version
        }
    }

    // MARK: - Common

    /// Stores a source's retraction.
    ///
    /// A retraction of an unknown identity is refused, because its type and person would have to be guessed.
    private mutating func put(_ retraction: Retraction) throws -> StoreResult {
        let version = retraction.sourceVersion
        switch retraction.identity {
        case .sample(let source, let key):
            if let known = try find(source, key) {
                return try retract(known, reason: retraction.reason, version: version)
            }
        case .day(let person, let type, let series, let date):
            if let person = caches.personID(person),
                let known = try findDay(
                    person, try caches.term(type.rawValue, .type, in: db), try caches.term(series, .other, in: db), date
                ), [known.day.source.plugin, DayValue.maker(ofSeries: series)].contains(retraction.source.plugin)
            {
                return try retract(
                    known, .source, reason: retraction.reason, version: version, source: retraction.source)
            }
        }
        return .rejected(
            RecordRejection(
                .unknown, "no record of this identity is stored; send the record first, or drop the retraction"))
    }

    /// The person's id, or 0 if there is no person.
    ///
    /// The intake check has made sure that a named person is known.
    func personID(_ assignment: Assignment) -> Int64 {
        assignment.person.flatMap { caches.personID($0.uid) } ?? 0
    }

    func archive(_ sql: String, _ number: Int64) throws {
        let statement = try RawStatement(cached: sql, in: db)
        statement.bind(1, number)
        try statement.run()
        try countVersion(of: number)
    }

    func bindRetraction(
        _ statement: RawStatement, _ number: Int64, _ sequence: Int64, _ author: Retraction.Author, _ reason: String?,
        _ version: Int64?
    ) {
        statement.bind(1, number)
        statement.bind(2, sequence)
        statement.bind(3, author == .person ? 2 as Int64 : 1)
        statement.bind(4, reason)
        statement.bind(5, version)
        statement.bind(6, recordedAt)
    }

    func keepPayload(_ intake: IntakeRecord, number: Int64, sequence: Int64) throws {
        guard let payload = intake.rawPayload else { return }
        let statement = try RawStatement(cached: "INSERT INTO payload (seq, number, bytes) VALUES (?, ?, ?)", in: db)
        statement.bind(1, sequence)
        statement.bind(2, number)
        statement.bind(3, payload)
        try statement.run()
    }
}

/// The state that the only writer keeps between transactions.
///
/// It is unchecked because the compiler cannot verify that everything here runs on the pool's serial writer queue.
final class WriterState: @unchecked Sendable {
    /// `nil` after a failure.
    ///
    /// The caches are then read from the file again.
    private var caches: WriterCaches?
    private let marks: OfferMarks
    private let reserve: SequenceReserve
    private let latch: DamageLatch

    init(_ caches: WriterCaches, _ marks: OfferMarks, _ reserve: SequenceReserve, _ latch: DamageLatch) {
        (self.caches, self.marks, self.reserve, self.latch) = (caches, marks, reserve, latch)
    }

    /// Runs `body` in one transaction; calls `committed` with the new head once the transaction is durable.
    func transaction<Value>(
        _ db: Database, recordedAt: Int64, _ body: (inout WriteTransaction) throws -> Value, committed: (Int64) -> Void
    ) throws -> Value {
        try latch.refuse("commit")
        let known = caches.take()
        var outcome: (value: Value, caches: WriterCaches)?
        try db.inTransaction(.immediate) {
            var transaction = try WriteTransaction(
                db, known ?? WriterCaches(from: db, marks), recordedAt: recordedAt)
            let value = try body(&transaction)
            let finished = try transaction.finish()
            try reserve.admit(finished.head)
            outcome = (value, finished)
            return .commit
        }
        guard let outcome else { throw StoreError(.internalFault, "a transaction without an outcome") }
        reserve.reached(head: outcome.caches.head, commits: outcome.caches.tallies.commits)
        committed(outcome.caches.head)
        caches = outcome.caches
        return outcome.value
    }

    /// Starts to track whether stored records concern these days.
    ///
    /// - Returns: `false` if that is unknown or the rollup no longer exists.
    func build(_ rollup: Rollup, _ days: Range<Int64>) -> Bool { caches?.rollups.build(rollup, days) ?? false }

    /// Runs `body` in a transaction that is rolled back, so that its outcome is that of a real one.
    ///
    /// The writer's caches stay unchanged: the rehearsal uses its own caches, which are dropped afterwards.
    func rehearsal<Value>(
        _ db: Database, recordedAt: Int64, _ body: (inout WriteTransaction) throws -> Value
    ) throws -> Value {
        var value: Value?
        try db.inTransaction(.immediate) {
            var transaction = try WriteTransaction(db, WriterCaches(from: db, marks), recordedAt: recordedAt)
            value = try body(&transaction)
            return .rollback
        }
        guard let value else { throw StoreError(.internalFault, "a rehearsal without an outcome") }
        return value
    }
}
