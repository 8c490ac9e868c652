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
        var account = caches.account(of: batch.instance)
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

    /// The members of groups that would exceed a limit.
    ///
    /// The whole group is refused before any of it is stored.
    ///
    /// Close to a limit, all new members of a group are refused. A group that has begun to be stored therefore never reaches the limit in the middle.
    private mutating func membersBeyondLimits(of batch: IntakeBatch) throws -> [Int: RecordRejection] {
        let limits = caches.allowance.limits
        guard limits != .none else { return [:] }
        let isNear = caches.allowance.isNear(batch.items.count)
        var refusals: [Int: RecordRejection] = [:]
        var members: [String: (count: Int64, plugin: String)] = [:]
        for (place, item) in batch.items.enumerated() {
            guard case .success(let intake) = item, case .sample(let sample) = intake.record, let group = sample.group
            else { continue }
            members[group, default: (0, sample.source.plugin)].count += 1
            let known = try find(sample.source, sample.key)
            guard try known.map({ addsInformation(sample, for: try sourceVersion(of: $0)) }) ?? true else { continue }
            if isNear {
                refusals[place] = caches.allowance.nearest
            } else if let known, try VersionCount.of(known.number, in: db) + Int64(batch.items.count) > limits.versions
            {
                refusals[place] = RecordRejection(reached: .versions, limits.versions)
            }
        }
        for (group, (count, plugin)) in members {
            let stored = try size(of: group, plugin, limit: limits.groupSamples)
            guard stored + count > limits.groupSamples else { continue }
            for (place, item) in batch.items.enumerated() {
                guard case .success(let intake) = item, case .sample(let sample) = intake.record, sample.group == group,
                    try find(sample.source, sample.key)?.sample.group != group
                else { continue }
                refusals[place] = RecordRejection(reached: .groupSamples, limits.groupSamples)
            }
        }
        return refusals
    }

    /// The number of samples of one plugin in a group, counted up to a limit.
    private func size(of group: String, _ plugin: String, limit: Int64) throws -> Int64 {
        let sql = """
            SELECT count(*) FROM (SELECT 1 FROM sample INDEXED BY sample_group
                WHERE grouping = ?1 AND source IN (SELECT id FROM source WHERE plugin = ?2) LIMIT ?3)
            """
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, group)
        statement.bind(2, plugin)
        statement.bind(3, limit)
        return try statement.step() ? statement.integer(0) : 0
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
            var account = caches.account(of: IntakeCounts.hand)
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
        try RawStatement.run(sql, number, in: db)
        try VersionCount.add(number, in: db)
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
