import GRDB
import Samples

extension WriteTransaction {
    /// Stores a source's sample: as a first version, as a later one, or not at all if it is a duplicate.
    mutating func put(_ sample: Sample, _ intake: IntakeRecord) throws -> StoreResult {
        guard let household = intake.household else { return try put(sample, intake, nil) }
        let judgement = try judge(sample, intake, household)
        if let person = judgement.assignment.person, caches.personID(person.uid) == nil {
            return .rejected(IntakeCheck.unknownPerson)
        }
        var judged = intake
        judged.assignment = judgement.assignment
        return try put(sample, judged, judgement)
    }

    private mutating func put(
        _ sample: Sample, _ intake: IntakeRecord, _ judgement: AssignmentResult?
    ) throws -> StoreResult {
        let source = try caches.source(sample.source, in: db)
        let references = SampleRow.References(
            source: source.id, type: try caches.term(sample.type.rawValue, .type, in: db),
            person: personID(intake.assignment))
        let key = StreamKey(kind: .sample, type: references.type, person: references.person, label: source.plugin)
        let refusal = try caches.refusal(of: key, extra: sample.extra, in: db)
        if let refusal, try find(sample.source, sample.key) == nil { return .rejected(refusal) }
        let sequence = caches.head + 1
        try SampleRow.bind(
            intake, sample, number: sequence, sequence: sequence, references, recordedAt: recordedAt, to: insertSample,
            &caches, db)
        if let judgement { try bind(judgement) }
        guard try insertSample.run() == 0 else {
            caches.head = sequence
            try keepPayload(intake, number: sequence, sequence: sequence)
            let duration = sample.end.microseconds - sample.start.microseconds
            var previous = try caches.advance(
                key, to: sequence, duration: duration, fresh: sample.value.kind.code, in: db)
            if references.person == 0 { previous = try caches.advance(.inbox, to: sequence, in: db) }
            caches.allowance.charge(sample.extra)
            if references.person != 0, sample.value.kind == .quantity {
                try caches.rollups.touch(
                    Rollup.Key(person: references.person, type: references.type), start: sample.start.microseconds,
                    duration: duration, in: db)
            }
            caches.tallies.add(intake.assignment, isImplausible: !intake.implausible.isEmpty)
            learn(
                sample, intake, number: sequence, person: references.person, isByHand: judgement?.isByHand ?? false)
            let placement = Placement(number: sequence, sequence: sequence, previous: previous)
            return .stored(try judgement.map { try settle($0, sample, intake, placement) } ?? placement)
        }
        guard let known = try find(sample.source, sample.key) else {
            throw StoreError(.corrupt, "commit: an index names a record that is not there; restore a backup")
        }
        let standing = try sourceVersion(of: known)
        // `duplicate` would disclose that another person has entered the same record.
        if scope.isByHand, try !mayChange(known) { return .rejected(WriteScope.refusal) }
        guard addsInformation(sample, for: standing) else { return known.duplicate }
        guard try mayChange(known) else { return .rejected(WriteScope.refusal) }
        if let refusal = try refusal ?? caches.allowance.refusalOfVersion(known.number, in: db) {
            return .rejected(refusal)
        }
        caches.allowance.charge(sample.extra)
        var row = known
        (row.sample, row.canonical, row.typeID) = (sample, intake.canonical, references.type)
        row.implausible = intake.implausible
        row.retraction = nil
        // A person found by weight is kept, unless the source names its user again. A waiting weight is judged again.
        let decides = sample.group.map { batch?.words[$0]?.decider == sample.key } ?? true
        let isJudgedAnew = judgement.map { $0.isNamed || known.personID == 0 && decides } ?? true
        if !known.isAssignedByHand, isJudgedAnew {
            (row.assignment, row.personID) = (intake.assignment, references.person)
        }
        let placement = try known.isUnderHand ? cover(row) : replace(known, with: row)
        if !known.isAssignedByHand, isJudgedAnew, let ruling = judgement?.ruling { try note(ruling, placement) }
        try keepPayload(intake, number: placement.number, sequence: placement.sequence)
        guard judgement != nil, known.personID == 0, let group = sample.group else { return .stored(placement) }
        // Records measured together stay together.
        return .stored(placement.followed(by: try assignWaitingMembers(group)))
    }

    /// Retracts a sample at the request of its source.
    mutating func retract(_ known: SampleRow, reason: String?, version: Int64?) throws -> StoreResult {
        let standing = try sourceVersion(of: known)
        if let retraction = standing.retraction, !addsInformation(.source, reason, version, for: retraction) {
            return known.duplicate
        }
        if let version, let floor = standing.versionFloor, version < floor { return known.duplicate }
        guard try mayChange(known) else { return .rejected(WriteScope.refusal) }
        if let refusal = try caches.allowance.refusalOfVersion(known.number, in: db) { return .rejected(refusal) }
        var row = known.isUnderHand ? standing : known
        row.retract(by: .source, reason: reason, version: version)
        return .stored(try known.isUnderHand ? cover(row) : replace(known, with: row))
    }

    /// Whether a put of a known identity is a new version.
    ///
    /// The source's version is part of the content. A higher version with the same values is stored; otherwise an older one that arrives late would
    /// seem new.
    func addsInformation(_ sample: Sample, for standing: SampleRow) -> Bool {
        if let given = sample.sourceVersion, let floor = standing.versionFloor {
            if given < floor { return false }
            // An equal version of a HealthKit sample is never news (R6.72).
            if given == floor, standing.retraction == nil, sample.isSynchronized { return false }
        }
        return standing.retraction != nil || standing.sample != sample
    }

    /// Whether the sending instance may change this record (R6.33).
    ///
    /// If a person has assigned the record to another person, the earlier assignment decides. Its source can then continue to send corrections, which
    /// would otherwise be refused permanently and lost.
    func mayChange(_ known: SampleRow) throws -> Bool {
        if scope.allows(known.sample.type, of: known.assignment) { return true }
        guard !scope.isByHand, known.isAssignedByHand, let before = try find(SampleRow.beforeAssignment, known.number)
        else {
            return false
        }
        return scope.allows(known.sample.type, of: before.assignment)
    }

    /// The source's last version of a record: the current version, or the one hidden by a manual change.
    func sourceVersion(of known: SampleRow) throws -> SampleRow {
        guard known.isUnderHand else { return known }
        guard var row = try find(SampleRow.lastOfSource, known.number) else {
            throw StoreError(.corrupt, "record \(known.number): nothing lies beneath its edit; restore a backup")
        }
        // The assignment is not part of the source's data.
        (row.assignment, row.personID) = (known.assignment, known.personID)
        row.isAssignedByHand = known.isAssignedByHand
        return row
    }

    // MARK: - Versions

    /// Replaces `known` by `row` as its next version, with a new sequence number, and publishes it on its topic.
    mutating func replace(_ known: SampleRow, with row: SampleRow) throws -> Placement {
        let isSame = known.personID == row.personID && known.typeID == row.typeID
        let departure = isSame ? nil : try depart(known, known.personID == row.personID ? .type : .person)
        var row = row
        row.sequence = caches.head + 1
        try archive(SampleRow.archive, known.number)
        try write(row, SampleRow.replace)
        caches.tallies.replace(known, with: row)
        try caches.rollups.touch(known, in: db)
        try caches.rollups.touch(row, in: db)
        try caches.ledger.supersede(row.number, known.facts, by: row.facts, at: recordedAt, in: db)
        if !caches.trends.isEmpty {
            caches.trends.forget(known.personID)
            caches.trends.forget(row.personID)
        }
        let plugin = try caches.term(row.sample.source.plugin, .other, in: db)
        let (isRetracted, isNobodys) = (row.retraction != nil, row.personID == 0)
        var previous: Int64 = 0
        // Only followers of the inbox need the retraction of a record in the inbox.
        if !(isRetracted && isNobodys) {
            let key = StreamKey(
                kind: isRetracted ? .retraction : .sample, type: row.typeID, person: row.personID, label: plugin)
            let duration = row.sample.end.microseconds - row.sample.start.microseconds
            previous = try caches.advance(key, to: row.sequence, duration: isRetracted ? 0 : duration, in: db)
        }
        if isNobodys { previous = try caches.advance(.inbox, to: row.sequence, in: db) }
        if departure != nil { try arrive(row) }
        return Placement(
            number: row.number, sequence: row.sequence, previous: previous, record: row.stored, departure: departure)
    }

    /// Stores a source's version of a record that a manual change hides.
    mutating func cover(_ row: SampleRow) throws -> Placement {
        var row = row
        row.sequence = caches.head + 1
        row.edited = []
        try write(row, SampleRow.cover)
        try VersionCount.add(row.number, in: db)
        return Placement(
            number: row.number, sequence: row.sequence, previous: 0, record: row.stored, isCovered: true)
    }

    private mutating func write(_ row: SampleRow, _ sql: String) throws {
        let statement = try RawStatement(cached: sql, in: db)
        let source = try caches.source(row.sample.source, in: db).id
        try row.bind(source: source, recordedAt: recordedAt, to: statement, &caches, db)
        try statement.run()
        caches.head = row.sequence
    }

    // MARK: - Departures

    /// Stores that a record leaves its person or its type.
    private mutating func depart(_ known: SampleRow, _ cause: Departure.Cause) throws -> Placement.Departure {
        let sequence = caches.head + 1
        let insert = try RawStatement(
            cached:
                "INSERT INTO departure (seq, number, type, person, recorded_at, retyped) VALUES (?1, ?2, ?3, nullif(?4, 0), ?5, ?6)",
            in: db)
        insert.bind(1, sequence)
        insert.bind(2, known.number)
        insert.bind(3, known.typeID)
        insert.bind(4, known.personID)
        insert.bind(5, recordedAt)
        insert.bind(6, cause == .type ? 1 as Int64? : nil)
        try insert.run()
        caches.head = sequence
        departures += 1
        let plugin = try caches.term(known.sample.source.plugin, .other, in: db)
        let key =
            known.personID == 0
            ? StreamKey.inbox
            : StreamKey(kind: .retraction, type: known.typeID, person: known.personID, label: plugin)
        let record = Departure.record(
            of: known.sample.source, known.sample.key, type: known.sample.type, from: known.assignment.person,
            number: known.number, sequence: sequence, cause: cause)
        return Placement.Departure(record: record, previous: try caches.advance(key, to: sequence, in: db))
    }

    /// Ends the departure of a record that has the former person and type again.
    private func arrive(_ row: SampleRow) throws {
        let update = try RawStatement(
            cached:
                "UPDATE departure SET ended = ?3 WHERE number = ?1 AND ifnull(person, 0) = ?2 AND type = ?4 AND ended IS NULL",
            in: db)
        update.bind(1, row.number)
        update.bind(2, row.personID)
        update.bind(3, row.sequence)
        update.bind(4, row.typeID)
        try update.run()
    }

    // MARK: - Finding

    mutating func find(_ source: Source, _ key: RecordKey) throws -> SampleRow? {
        guard let source = try caches.knownSource(source, in: db) else { return nil }
        let statement = try RawStatement(cached: SampleRow.byIdentity, in: db)
        defer { statement.clear() }
        statement.bind(1, source.id)
        statement.bind(2, key.text)
        return try statement.step() ? try SampleRow(statement, caches.termCache, db) : nil
    }

    func find(_ sql: String, _ number: Int64) throws -> SampleRow? {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step() ? try SampleRow(statement, caches.termCache, db) : nil
    }
}

extension SampleRow {
    static let byNumber = "SELECT \(SampleColumn.list) FROM sample WHERE number = ?1"
    static let byIdentity = "SELECT \(SampleColumn.list) FROM sample WHERE source = ?1 AND key = ?2"
    /// The last published version before a person assigned the record.
    static let lastByRule = """
        SELECT \(SampleColumn.list) FROM sample_version
        WHERE number = ?1 AND assigned IS NULL AND covered IS NULL ORDER BY seq DESC LIMIT 1
        """
    /// The last version assigned by a rule.
    static let beforeAssignment = """
        SELECT \(SampleColumn.list) FROM sample_version
        WHERE number = ?1 AND assigned IS NULL ORDER BY seq DESC LIMIT 1
        """
    /// The newest superseded or hidden version without a manual change.
    static let lastOfSource = """
        SELECT \(SampleColumn.list) FROM sample_version
        WHERE number = ?1 AND edited IS NULL AND retracted IS NOT 2 ORDER BY seq DESC LIMIT 1
        """

    mutating func retract(by author: Retraction.Author, reason: String?, version: Int64?) {
        retraction = Retraction(
            identity: .sample(sample.source, sample.key), source: sample.source, author: author, reason: reason,
            sourceVersion: version)
    }
}
