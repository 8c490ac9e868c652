import GRDB
import Samples

/// One write transaction in progress: records go in, results come out, and `caches` follows.
///
/// When anything throws, the transaction is rolled back and the caches are dropped with it.
struct Transaction {
    let db: Database
    let recordedAt: Int64
    var caches: WriterCaches
    let marks: OfferMarks
    /// Looked up once: finding it again by its text would cost each record as much as binding it.
    private let insertSample: RawStatement

    init(_ db: Database, _ caches: consuming WriterCaches, _ marks: OfferMarks, recordedAt: Int64) throws {
        self.db = db
        self.recordedAt = recordedAt
        self.caches = caches
        self.marks = marks
        insertSample = try RawStatement(cached: SampleRow.insert, in: db)
    }

    mutating func store(_ batch: IntakeBatch) throws -> CommitResult {
        let refusals = IntakeCheck.refusals(of: batch.items, caches)
        var account = caches.accounts[batch.instance] ?? Account(instance: batch.instance)
        var results: [RecordResult] = []
        results.reserveCapacity(batch.items.count)
        for (place, item) in batch.items.enumerated() {
            let result: RecordResult
            if let refusal = refusals?[place] {
                result = .rejected(refusal)
            } else if case .record(let intake) = item {
                result = try store(intake)
            } else {
                throw StoreError(.internalFault, "a refused record has no refusal")
            }
            account.count(result)
            results.append(result)
        }
        setAccount(account)
        return CommitResult(results: results)
    }

    /// A person's retraction of records by number, charged to `Account.hand`.
    mutating func retract(numbers: [Int64], reason: String?) throws -> [RecordResult] {
        var account = caches.accounts[Account.hand] ?? Account(instance: Account.hand)
        var results: [RecordResult] = []
        for number in numbers {
            let result: RecordResult
            if let row = try find(SampleRow.byNumber, number) {
                result = try retract(row, .person, reason: reason, version: nil)
            } else if let row = try findDay(DayRow.byNumber, number) {
                result = try retract(row, .person, reason: reason, version: nil, source: nil)
            } else {
                result = .rejected(Rejection(code: "unknown", reason: "no record has the number \(number)"))
            }
            account.count(result)
            results.append(result)
        }
        setAccount(account)
        return results
    }

    mutating func ensurePersons(_ names: [String]) throws -> [Person] {
        try names.map { name in
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

    /// Ends the work: streams and accounts are written; the caches are those of the state after the commit.
    mutating func finish() throws -> WriterCaches {
        try caches.save(to: db, marks)
        return caches
    }

    private mutating func setAccount(_ account: Account) {
        guard account.received > 0 else { return }
        caches.accounts[account.instance] = account
        caches.changedAccounts.insert(account.instance)
    }

    private mutating func store(_ intake: IntakeRecord) throws -> RecordResult {
        switch intake.record {
        case .sample(let sample): try put(sample, intake)
        case .day(let day): try put(day, intake)
        case .retraction(let retraction): try put(retraction)
        }
    }

    // MARK: - Samples

    private mutating func put(_ sample: Sample, _ intake: IntakeRecord) throws -> RecordResult {
        let source = try caches.source(sample.source, in: db)
        let references = SampleRow.References(
            source: source.id, type: try caches.term(sample.type.rawValue, .type, in: db),
            person: personID(intake.assignment))
        let sequence = caches.head + 1
        try SampleRow.bind(
            intake, sample, number: sequence, sequence: sequence, references, recordedAt: recordedAt, to: insertSample,
            &caches, db)
        var number = sequence
        if try insertSample.run() == 0 {
            guard let known = try find(sample.source, sample.key) else {
                throw StoreError(.corrupt, "commit: an index names a record that is not there; restore a backup")
            }
            guard isNews(sample, for: known) else { return .duplicate(number: known.number, sequence: known.sequence) }
            number = known.number
            try archive(SampleRow.archive, number)
            let replace = try RawStatement(cached: SampleRow.replace, in: db)
            try SampleRow.bind(
                intake, sample, number: number, sequence: sequence, references, recordedAt: recordedAt, to: replace,
                &caches, db)
            try replace.run()
            try supersede(
                number, known.facts,
                by: VersionFacts(
                    sequence: sequence, type: references.type, person: references.person, kind: sample.value.code,
                    isRetraction: false))
        }
        caches.head = sequence
        try keepPayload(intake, number: number, sequence: sequence)
        let duration = sample.end.microseconds - sample.start.microseconds
        let key = StreamKey(kind: .sample, type: references.type, person: references.person, label: source.plugin)
        var previous = caches.advance(
            key, to: sequence, duration: duration, fresh: number == sequence ? sample.value.code : nil)
        if references.person == 0 { previous = caches.advance(.inbox, to: sequence) }
        return .stored(Placement(number: number, sequence: sequence, previous: previous))
    }

    /// Whether a put of a known identity is a new version of it.
    ///
    /// The version belongs to the content: a higher one with the same values is kept, or an older one arriving late would pass for new.
    private func isNews(_ sample: Sample, for known: SampleRow) -> Bool {
        if known.retraction?.author == .person { return false }
        if let given = sample.sourceVersion, let floor = known.versionFloor, given < floor { return false }
        return known.retraction != nil || known.sample != sample
    }

    private mutating func retract(
        _ known: SampleRow, _ author: Retraction.Author, reason: String?, version: Int64?
    ) throws -> RecordResult {
        if let standing = known.retraction, !isNews(author, reason, version, for: standing) {
            return .duplicate(number: known.number, sequence: known.sequence)
        }
        if let version, let floor = known.versionFloor, version < floor {
            return .duplicate(number: known.number, sequence: known.sequence)
        }
        let sequence = caches.head + 1
        try archive(SampleRow.archive, known.number)
        let statement = try RawStatement(cached: SampleRow.retract, in: db)
        bindRetraction(statement, known.number, sequence, author, reason, version)
        try statement.run()
        try supersede(known.number, known.facts, by: known.facts.retracted(at: sequence))
        caches.head = sequence
        let plugin = try caches.term(known.sample.source.plugin, .other, in: db)
        var row = known
        row.sequence = sequence
        row.retraction = Retraction(
            identity: .sample(known.sample.source, known.sample.key), source: known.sample.source, author: author,
            reason: reason, sourceVersion: version)
        // A change of somebody's record without a person is news for the inbox alone.
        let key =
            known.personID == 0
            ? StreamKey.inbox
            : StreamKey(kind: .retraction, type: known.typeID, person: known.personID, label: plugin)
        let previous = caches.advance(key, to: sequence)
        return .stored(Placement(number: known.number, sequence: sequence, previous: previous, retraction: row.stored))
    }

    func isNews(_ author: Retraction.Author, _ reason: String?, _ version: Int64?, for standing: Retraction)
        -> Bool
    {
        switch (standing.author, author) {
        case (.person, _): false
        case (.source, .person): true
        case (.source, .source): standing.reason != reason || standing.sourceVersion != version
        }
    }

    // MARK: - Common

    /// A source's retraction.
    ///
    /// One of an unknown identity is refused: its type and person would have to be guessed.
    private mutating func put(_ retraction: Retraction) throws -> RecordResult {
        let version = retraction.sourceVersion
        switch retraction.identity {
        case .sample(let source, let key):
            if let known = try find(source, key) {
                return try retract(known, .source, reason: retraction.reason, version: version)
            }
        case .day(let person, let type, let series, let date):
            if let person = caches.personID(person),
                let known = try findDay(
                    person, try caches.term(type.rawValue, .type, in: db), try caches.term(series, .other, in: db), date
                )
            {
                return try retract(
                    known, .source, reason: retraction.reason, version: version, source: retraction.source)
            }
        }
        return .rejected(
            Rejection(
                code: "unknown",
                reason: "no record of this identity is stored; send the record first, or drop the retraction"))
    }

    /// 0 for nobody.
    ///
    /// The intake check has made sure that a named person is known.
    func personID(_ assignment: Assignment) -> Int64 {
        assignment.person.flatMap { caches.personID($0.uid) } ?? 0
    }

    func archive(_ sql: String, _ number: Int64) throws {
        let statement = try RawStatement(cached: sql, in: db)
        statement.bind(1, number)
        try statement.run()
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

    private mutating func find(_ source: Source, _ key: RecordKey) throws -> SampleRow? {
        let statement = try RawStatement(cached: SampleRow.byIdentity, in: db)
        defer { statement.clear() }
        statement.bind(1, try caches.source(source, in: db).id)
        statement.bind(2, key.text)
        return try statement.step() ? try SampleRow(statement, caches.lexicon, db) : nil
    }

    private func find(_ sql: String, _ number: Int64) throws -> SampleRow? {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step() ? try SampleRow(statement, caches.lexicon, db) : nil
    }
}

extension SampleRow {
    static let byNumber = "SELECT \(SampleColumn.list) FROM sample WHERE number = ?1"
    static let byIdentity = "SELECT \(SampleColumn.list) FROM sample WHERE source = ?1 AND key = ?2"
}
