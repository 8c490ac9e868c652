import GRDB
import Samples

/// Reading the history of a record, page by page.
extension SnapshotReader {
    /// - Parameters:
    ///   - place: the end of the previous page.
    ///   - limit: the maximum number of versions on this page; 0 for none.
    func trace(_ number: Int64, from place: RecordTrace.Place, versions limit: Int, within size: PageTimeLimit) throws
        -> RecordTrace?
    {
        let slice = size.begun()
        if try Tombstones.isErased(number, in: db) { return try erasedStory(number, place, slice) }
        if let row = try current(SampleRow.byNumber, number, SampleRow.init) {
            let columns = "\(SampleColumn.list), covered"
            let covered = Int32(SampleColumn.allCases.count)
            let versions = try versions(
                of: number, "sample_version", columns, place, limit, current: version(row.stored, row.recordedAt)
            ) { statement in
                let version = try SampleRow(statement, termCache, db)
                return self.version(version.stored, version.recordedAt, isCovered: !statement.isNull(covered))
            }
            let key =
                row.personID == 0
                ? StreamKey.inbox
                : StreamKey(
                    kind: row.retraction == nil ? .sample : .retraction, type: row.typeID, person: row.personID,
                    label: try term(row.sample.source.plugin))
            var live = row
            live.retraction = nil
            return try story(
                versions, row.stored, retracted: row.retraction == nil ? nil : live.stored, key, place, slice)
        }
        guard let row = try current(DayRow.byNumber, number, DayRow.init) else { return nil }
        let versions = try versions(
            of: number, "day_version", DayColumn.list, place, limit, current: version(row.stored, row.recordedAt)
        ) { statement in
            let version = try DayRow(statement, termCache, db)
            return self.version(version.stored, version.recordedAt)
        }
        let key = StreamKey(
            kind: row.retraction == nil ? .day : .retraction, type: row.typeID, person: row.personID,
            label: try term(row.day.series))
        var live = row
        live.retraction = nil
        return try story(
            versions, row.stored, retracted: row.retraction == nil || row.isErased ? nil : live.stored, key, place,
            slice)
    }

    /// For an erased record: its retraction, and which sinks have been notified.
    private func erasedStory(_ number: Int64, _ place: RecordTrace.Place, _ slice: PageTimeLimit.Begun) throws
        -> RecordTrace?
    {
        let sample = try current(SampleRow.byNumber, number, SampleRow.init)
        let day = try sample == nil ? current(DayRow.byNumber, number, DayRow.init) : nil
        guard let current = sample?.stored ?? day?.stored, let recordedAt = sample?.recordedAt ?? day?.recordedAt else {
            return nil
        }
        let told = place.sequence == .max ? [version(current, recordedAt)] : []
        let key = StreamKey(
            kind: .retraction, type: sample?.typeID ?? day?.typeID ?? 0,
            person: sample?.personID ?? day?.personID ?? 0,
            label: try term(sample?.sample.source.plugin ?? day?.day.series ?? ""))
        var story = try story((told, 0), current, retracted: nil, key, place, slice)
        story.versionCount = 1
        return story
    }

    // MARK: - Versions

    /// The versions on a page, and the sequence number below which others remain; 0 for none.
    private typealias Versions = (told: [RecordTrace.Version], next: Int64)

    private func version(_ record: StoredRecord, _ recordedAt: Int64, isCovered: Bool = false) -> RecordTrace.Version {
        RecordTrace.Version(
            record: record, recordedAt: recordedAt, deed: nil, reason: nil, ruling: nil, isCovered: isCovered)
    }

    /// The current version on the first page, and the newest of the versions not returned yet.
    private func versions(
        of number: Int64, _ table: String, _ columns: String, _ place: RecordTrace.Place, _ limit: Int,
        current: RecordTrace.Version, _ make: (RawStatement) throws -> RecordTrace.Version
    ) throws -> Versions {
        guard limit > 0, place.sequence > 0 else { return ([], place.sequence) }
        var told = place.sequence == .max ? [current] : []
        var bytes = told.reduce(0) { $0 + $1.record.estimatedBytes }
        let statement = try RawStatement(
            cached: "SELECT \(columns) FROM \(table) WHERE number = ?1 AND seq < ?2 ORDER BY seq DESC", in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        statement.bind(2, place.sequence)
        // The next page is not the first page, even if this one had room only for the current version.
        var last = min(place.sequence, .max - 1)
        while try statement.step() {
            if told.count >= limit || bytes >= RecordQuery.pageBytes { return (told, last) }
            let version = try make(statement)
            bytes += version.record.estimatedBytes
            last = version.record.sequence
            told.append(version)
        }
        return (told, 0)
    }

    private func story(
        _ versions: Versions, _ current: StoredRecord, retracted: StoredRecord?, _ key: StreamKey,
        _ place: RecordTrace.Place, _ slice: PageTimeLimit.Begun
    ) throws -> RecordTrace {
        let sql = """
            SELECT last_seq, count FROM stream
            WHERE kind = ? AND ifnull(type, 0) = ? AND ifnull(person, 0) = ? AND ifnull(label, 0) = ?
            """
        let row = try Row.fetchOne(db, sql: sql, arguments: [key.kind.rawValue, key.type, key.person, key.label])
        let sinks = try SinkRecord.all(at: SequenceHead.read(in: db), in: db)
        let days = try days(madeOf: current.number, of: key.person, below: place.day, sinks, slice)
        let next = RecordTrace.Place(sequence: versions.next, day: days.next)
        return RecordTrace(
            versions: try explained(versions.told), versionCount: try VersionCount.of(current.number, in: db) + 1,
            current: current, retracted: retracted, topicHead: row?[0] ?? 0, topicCount: row?[1] ?? 0,
            deliveries: try SinkDelivery.all(of: current.number, sinks, in: db), days: days.found,
            next: next == .end ? nil : next)
    }

    /// The versions, oldest first, with manual changes and rulings.
    private func explained(_ told: [RecordTrace.Version]) throws -> [RecordTrace.Version] {
        var versions = told.sorted { $0.record.sequence < $1.record.sequence }
        let sequences = versions.map { "\($0.record.sequence)" }.joined(separator: ", ")
        let places = Dictionary(
            uniqueKeysWithValues: versions.enumerated().map { ($0.element.record.sequence, $0.offset) })
        for deed in try Row.fetchAll(db, sql: "SELECT seq, kind, reason FROM deed WHERE seq IN (\(sequences))") {
            guard let index = places[deed[0]] else { continue }
            versions[index].deed = ManualChangeKind(rawValue: deed[1])
            versions[index].reason = deed[2]
        }
        let rulings = "SELECT seq, rule, probability, odds FROM ruling WHERE seq IN (\(sequences))"
        for ruling in try Row.fetchAll(db, sql: rulings) {
            guard let index = places[ruling[0]] else { continue }
            versions[index].ruling = Ruling.Rule(rawValue: ruling[1]).map {
                Ruling($0, probability: ruling[2], odds: ruling[3])
            }
        }
        return versions
    }

    // MARK: - Days

    /// The days of a person whose basis contains a record's number, below a day number, newest first; also the number at which to continue.
    private func days(
        madeOf number: Int64, of person: Int64, below end: Int64, _ sinks: [SinkRecord], _ slice: PageTimeLimit.Begun
    ) throws -> (found: [RecordTrace.BuiltDay], next: Int64) {
        guard person != 0, end > 0 else { return ([], 0) }
        let statement = try RawStatement(cached: DayRow.madeOf, in: db)
        defer { statement.clear() }
        statement.bind(1, person)
        statement.bind(2, String(number))
        statement.bind(3, end)
        var (rows, bytes, looked): ([DayRow], Int, Int) = ([], 0, 0)
        var next: Int64 = 0
        while try statement.step() {
            looked += 1
            let day = statement.integer(0)
            if statement.integer(1) != 0, let row = try current(DayRow.byNumber, day, DayRow.init) {
                rows.append(row)
                bytes += row.stored.estimatedBytes
            }
            if rows.count == RecordQuery.maximumPage || bytes >= RecordQuery.pageBytes || slice.isOver(looked) {
                next = day
                break
            }
        }
        let found = try rows.sorted { ($0.day.date, $0.day.series) < ($1.day.date, $1.day.series) }.map { row in
            RecordTrace.BuiltDay(
                record: row.stored, deliveries: try SinkDelivery.all(of: row.number, sinks, in: db))
        }
        return (found, next)
    }

    private func term(_ text: String) throws -> Int64 {
        try Filter.term(text, in: db) ?? 0
    }
}
