import GRDB
import HubWire
import Samples

extension WriteTransaction {
    mutating func put(_ given: DayValue, _ intake: IntakeRecord) throws -> StoreResult {
        var day = given
        if let person = intake.assignment.person, let id = caches.personID(person.uid) {
            day.person = try caches.termCache.person(id, in: db).name  // A person named by uid or by name is the same.
        }
        if caches.tombstones.areThere,
            let erased = try caches.tombstones.erased(among: day.basis, of: day.source, in: db)
        {
            return .rejected(
                RecordRejection(.unknown, "basis: record \(erased) was erased; make the day without it"))
        }
        let references = DayRow.References(
            source: try caches.source(day.source, in: db).id, type: try caches.term(day.type.rawValue, .type, in: db),
            person: personID(intake.assignment), series: try caches.term(day.series, .other, in: db))
        let key = StreamKey(kind: .day, type: references.type, person: references.person, label: references.series)
        let refusal = try caches.refusal(of: key, extra: day.extra, in: db)
        if let refusal, try findDay(references.person, references.type, references.series, day.date) == nil {
            return .rejected(refusal)
        }
        let sequence = caches.head + 1
        let insert = try RawStatement(cached: DayRow.insert, in: db)
        try DayRow.bind(
            day, canonical: intake.canonical, number: sequence, sequence: sequence, references, recordedAt: recordedAt,
            to: insert, &caches, db)
        var number = sequence
        if try insert.run() == 0 {
            guard let known = try findDay(references.person, references.type, references.series, day.date) else {
                throw StoreError(.corrupt, "commit: an index names a day that is not there; restore a backup")
            }
            guard known.retraction?.author != .person, known.retraction != nil || known.day != day else {
                return known.duplicate
            }
            number = known.number
            if let refusal = try refusal ?? caches.allowance.refusalOfVersion(number, in: db) {
                return .rejected(refusal)
            }
            try archive(DayRow.archive, number)
            let replace = try RawStatement(cached: DayRow.replace, in: db)
            try DayRow.bind(
                day, canonical: intake.canonical, number: number, sequence: sequence, references,
                recordedAt: recordedAt,
                to: replace, &caches, db)
            try replace.run()
            var facts = known.facts
            (facts.sequence, facts.isRetraction) = (sequence, false)
            try caches.ledger.supersede(number, known.facts, by: facts, at: recordedAt, in: db)
        }
        caches.head = sequence
        try keepPayload(intake, number: number, sequence: sequence)
        caches.allowance.charge(day.extra)
        let previous = try caches.advance(
            key, to: sequence, fresh: number == sequence ? VersionProperties.day : nil, in: db)
        return .stored(Placement(number: number, sequence: sequence, previous: previous))
    }

    /// - Parameter isLimited: whether to apply the source's limit on versions.
    mutating func retract(
        _ known: DayRow, _ author: Retraction.Author, reason: String?, version: Int64?, source: Source?,
        isLimited: Bool = true
    ) throws -> StoreResult {
        if let standing = known.retraction, !addsInformation(author, reason, version, for: standing) {
            return known.duplicate
        }
        if let version, let floor = known.retraction?.sourceVersion, version < floor { return known.duplicate }
        if author == .source, isLimited, let refusal = try caches.allowance.refusalOfVersion(known.number, in: db) {
            return .rejected(refusal)
        }
        let by = source ?? known.day.source
        let ids = try caches.source(by, in: db)
        let sequence = caches.head + 1
        try archive(DayRow.archive, known.number)
        let statement = try RawStatement(cached: DayRow.retract, in: db)
        statement.bind(1, known.number)
        statement.bind(2, sequence)
        statement.bind(3, author == .person ? 2 as Int64 : 1)
        statement.bind(4, reason)
        statement.bind(5, version)
        statement.bind(6, recordedAt)
        statement.bind(7, ids.id)
        try statement.run()
        try caches.ledger.supersede(
            known.number, known.facts, by: known.facts.retracted(at: sequence), at: recordedAt, in: db)
        caches.head = sequence
        var row = known
        row.sequence = sequence
        row.retraction = Retraction(
            identity: .day(
                person: known.person.name, type: known.day.type, series: known.day.series, date: known.day.date),
            source: by, author: author, reason: reason, sourceVersion: version)
        let key = StreamKey(
            kind: .retraction, type: known.typeID, person: known.personID,
            label: try caches.term(known.day.series, .other, in: db))
        let previous = try caches.advance(key, to: sequence, in: db)
        return .stored(Placement(number: known.number, sequence: sequence, previous: previous, record: row.stored))
    }

    /// Undoes a person's retraction of a day and restores the version before it.
    mutating func restore(_ known: DayRow) throws -> Placement {
        var row = known
        row.sequence = caches.head + 1
        // If the source had retracted the day, that retraction is below the person's.
        row.retraction = try findDay(DayRow.beneathRetraction, known.number)?.retraction
        try archive(DayRow.archive, known.number)
        let statement = try RawStatement(cached: DayRow.restore, in: db)
        statement.bind(1, row.number)
        statement.bind(2, row.sequence)
        if let retraction = row.retraction {
            statement.bind(3, 1 as Int64)
            statement.bind(4, retraction.reason)
            statement.bind(5, retraction.sourceVersion)
        }
        statement.bind(6, recordedAt)
        try statement.run()
        try caches.ledger.supersede(row.number, known.facts, by: row.facts, at: recordedAt, in: db)
        caches.head = row.sequence
        let key = StreamKey(
            kind: row.retraction == nil ? .day : .retraction, type: row.typeID, person: row.personID,
            label: try caches.term(row.day.series, .other, in: db))
        let previous = try caches.advance(key, to: row.sequence, in: db)
        return Placement(number: row.number, sequence: row.sequence, previous: previous, record: row.stored)
    }

    func findDay(_ sql: String, _ number: Int64) throws -> DayRow? {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step() ? try DayRow(statement, caches.termCache, db) : nil
    }

    func findDay(_ person: Int64, _ type: Int64, _ series: Int64, _ date: LocalDate) throws -> DayRow? {
        let statement = try RawStatement(cached: DayRow.byIdentity, in: db)
        defer { statement.clear() }
        statement.bind(1, person)
        statement.bind(2, type)
        statement.bind(3, series)
        statement.bind(4, Int64(date.daysSinceEpoch))
        return try statement.step() ? try DayRow(statement, caches.termCache, db) : nil
    }
}

extension DayRow {
    static let byNumber = "SELECT \(DayColumn.list) FROM day WHERE number = ?1"
    static let beneathRetraction = """
        SELECT \(DayColumn.list) FROM day_version WHERE number = ?1 AND retracted IS NOT 2 ORDER BY seq DESC LIMIT 1
        """
    static let restore = """
        UPDATE day SET seq = ?2, retracted = ?3, retraction_reason = ?4, retraction_version = ?5, recorded_at = ?6
        WHERE number = ?1
        """
    static let byIdentity =
        "SELECT \(DayColumn.list) FROM day WHERE person = ?1 AND type = ?2 AND series = ?3 AND date = ?4"
    /// Every day below a number, and whether it belongs to a person and is computed from a record.
    ///
    /// A basis has one number per line (`LineListCoding`), so each number is between line feeds.
    static let madeOf = """
        SELECT number, person = ?1 AND retracted IS NULL
            AND instr(char(10) || basis || char(10), char(10) || ?2 || char(10)) > 0
        FROM day WHERE number < ?3 ORDER BY number DESC
        """
}
