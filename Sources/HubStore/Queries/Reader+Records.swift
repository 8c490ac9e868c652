import GRDB
import Samples

/// Single records and their stories.
extension Reader {
    func records(numbers: [Int64]) throws -> [StoredRecord] {
        try numbers.compactMap { number in
            if let row = try current(SampleRow.byNumber, number, SampleRow.init) { return row.stored }
            return try current(DayRow.byNumber, number, DayRow.init)?.stored
        }
    }

    func record(_ identity: RecordIdentity) throws -> StoredRecord? {
        switch identity {
        case .sample(let source, let key):
            let sql = """
                SELECT number FROM sample WHERE key = ?4 AND source =
                    (SELECT id FROM source WHERE plugin = ?1 AND ifnull(device, 0) = ifnull(?2, 0) AND ifnull(account, 0) = ifnull(?3, 0))
                """
            let statement = try RawStatement(cached: sql, in: db)
            defer { statement.clear() }
            statement.bind(1, source.plugin)
            statement.bind(2, source.device)
            statement.bind(3, source.account)
            statement.bind(4, key.text)
            return try statement.step() ? try records(numbers: [statement.integer(0)]).first : nil
        case .day(let person, let type, let series, let date):
            guard let person = try Filter.person(person, in: db) else { return nil }
            let sql = """
                SELECT number FROM day WHERE person = ?1 AND date = ?2
                    AND type = (SELECT id FROM term WHERE text = ?3) AND series = (SELECT id FROM term WHERE text = ?4)
                """
            let statement = try RawStatement(cached: sql, in: db)
            defer { statement.clear() }
            statement.bind(1, person)
            statement.bind(2, Int64(date.daysSinceEpoch))
            statement.bind(3, type.rawValue)
            statement.bind(4, series)
            return try statement.step() ? try records(numbers: [statement.integer(0)]).first : nil
        }
    }

    func mostRecent(types: Set<TypeID>?, persons: Set<RecordQuery.Owner>?, limit: Int) throws -> [StoredRecord] {
        guard (1...100).contains(limit) else {
            throw StoreError(.query, "most recent: limit is 1 to 100 for each type and person")
        }
        var query = RecordQuery()
        query.types = types
        query.persons = persons
        query.order = .newestFirst
        let filter = try Filter(query, in: db)
        if filter.isEmpty { return [] }
        var records: [StoredRecord] = []
        for range in try HistoryRange.samples(filter, in: db) {
            var lane = try RowCursor(
                .sample, "INDEXED BY sample_history", [range.condition, "retracted IS NULL"], by: .newestFirst, in: db)
            var count = 0
            while count < limit, lane.head != nil {
                records.append(try lane.take(termCache, db))
                count += 1
            }
            guard records.count <= RecordQuery.maximumPage else {
                throw StoreError(.query, "most recent: more than 1,000 records; name fewer types or a lower limit")
            }
        }
        return records
    }

    private func current<Row>(
        _ sql: String, _ number: Int64, _ make: (RawStatement, TermCache, Database) throws -> Row
    ) throws -> Row? {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step() ? try make(statement, termCache, db) : nil
    }

    // MARK: - The story of a record

    func trace(_ number: Int64) throws -> RecordTrace? {
        if let row = try current(SampleRow.byNumber, number, SampleRow.init) {
            let sql = "SELECT \(SampleColumn.list), covered FROM sample_version WHERE number = ?1"
            let covered = Int32(SampleColumn.allCases.count)
            var versions = try superseded(sql, number) { statement, termCache, db in
                let version = try SampleRow(statement, termCache, db)
                return self.version(version.stored, version.recordedAt, isCovered: !statement.isNull(covered))
            }
            versions.append(version(row.stored, row.recordedAt))
            let key =
                row.personID == 0
                ? StreamKey.inbox
                : StreamKey(
                    kind: row.retraction == nil ? .sample : .retraction, type: row.typeID, person: row.personID,
                    label: try term(row.sample.source.plugin))
            var live = row
            live.retraction = nil
            return try story(versions, row.stored, retracted: row.retraction == nil ? nil : live.stored, key)
        }
        guard let row = try current(DayRow.byNumber, number, DayRow.init) else { return nil }
        let sql = "SELECT \(DayColumn.list) FROM day_version WHERE number = ?1"
        var versions = try superseded(sql, number) { statement, termCache, db in
            let version = try DayRow(statement, termCache, db)
            return self.version(version.stored, version.recordedAt)
        }
        versions.append(version(row.stored, row.recordedAt))
        let key = StreamKey(
            kind: row.retraction == nil ? .day : .retraction, type: row.typeID, person: row.personID,
            label: try term(row.day.series))
        var live = row
        live.retraction = nil
        return try story(versions, row.stored, retracted: row.retraction == nil ? nil : live.stored, key)
    }

    private func version(_ record: StoredRecord, _ recordedAt: Int64, isCovered: Bool = false) -> RecordTrace.Version {
        RecordTrace.Version(
            record: record, recordedAt: recordedAt, deed: nil, reason: nil, ruling: nil, isCovered: isCovered)
    }

    private func story(
        _ versions: [RecordTrace.Version], _ current: StoredRecord, retracted: StoredRecord?, _ key: StreamKey
    ) throws -> RecordTrace {
        var versions = versions.sorted { $0.record.sequence < $1.record.sequence }
        let sequences = versions.map { "\($0.record.sequence)" }.joined(separator: ", ")
        let deeds = try Row.fetchAll(db, sql: "SELECT seq, kind, reason FROM deed WHERE seq IN (\(sequences))")
        for deed in deeds {
            guard let index = versions.firstIndex(where: { $0.record.sequence == deed[0] }) else { continue }
            versions[index].deed = ManualChangeKind(rawValue: deed[1])
            versions[index].reason = deed[2]
        }
        let rulings = try Row.fetchAll(
            db, sql: "SELECT seq, rule, probability, odds FROM ruling WHERE seq IN (\(sequences))")
        for ruling in rulings {
            guard let index = versions.firstIndex(where: { $0.record.sequence == ruling[0] }) else { continue }
            versions[index].ruling = Ruling.Rule(rawValue: ruling[1]).map {
                Ruling($0, probability: ruling[2], odds: ruling[3])
            }
        }
        let sql = """
            SELECT last_seq, count FROM stream
            WHERE kind = ? AND ifnull(type, 0) = ? AND ifnull(person, 0) = ? AND ifnull(label, 0) = ?
            """
        let row = try Row.fetchOne(db, sql: sql, arguments: [key.kind.rawValue, key.type, key.person, key.label])
        return RecordTrace(
            versions: versions, current: current, retracted: retracted, topicHead: row?[0] ?? 0,
            topicCount: row?[1] ?? 0, deliveries: try SinkDelivery.all(of: current.number, in: db),
            days: try days(madeOf: current.number, of: key.person))
    }

    /// The days of a person whose basis has the number of a record.
    private func days(madeOf number: Int64, of person: Int64) throws -> [RecordTrace.BuiltDay] {
        let statement = try RawStatement(cached: DayRow.madeOf, in: db)
        defer { statement.clear() }
        statement.bind(1, person)
        statement.bind(2, String(number))
        var rows: [DayRow] = []
        while try statement.step() { rows.append(try DayRow(statement, termCache, db)) }
        return try rows.map { row in
            RecordTrace.BuiltDay(record: row.stored, deliveries: try SinkDelivery.all(of: row.number, in: db))
        }
    }

    private func superseded(
        _ sql: String, _ number: Int64, _ make: (RawStatement, TermCache, Database) throws -> RecordTrace.Version
    ) throws -> [RecordTrace.Version] {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        var versions: [RecordTrace.Version] = []
        while try statement.step() { versions.append(try make(statement, termCache, db)) }
        return versions
    }

    private func term(_ text: String) throws -> Int64 {
        try Filter.id("SELECT id FROM term WHERE text = ?", text, db) ?? 0
    }
}
