import GRDB
import Samples

extension WriteTransaction {
    /// Removes records silently: no version, no retraction, on no topic.
    ///
    /// Their identities are kept like those of erased records.
    ///
    /// Each record is checked again. It is kept if it has changed since it was chosen, or if a sink waits for it again.
    /// - Returns: the number of removed records.
    mutating func remove(_ numbers: [Int64]) throws -> Int64 {
        var count: Int64 = 0
        for number in numbers where try remove(number, asOf: nil) { count += 1 }
        return count
    }

    /// Removes some of the thinned samples, in the order of their numbers.
    ///
    /// A sample that has to wait for a sink, or that holds the head, stays in the list, because its day already includes it.
    /// - Returns: the last number that was checked; `nil` if there are no more in the range.
    mutating func removeThinned(in range: ClosedRange<Int64>) throws -> Int64? {
        let rows = try Row.fetchAll(
            db, sql: "SELECT number, seq FROM removal WHERE number BETWEEN ? AND ? ORDER BY number LIMIT ?",
            arguments: [range.lowerBound, range.upperBound, RecordEraser.recordsAtOnce])
        for row in rows {
            let (number, sequence) = (row[0] as Int64, row[1] as Int64)
            if try !remove(number, asOf: sequence), try VersionLookup.current(number, in: db)?.sequence == sequence,
                try !Tombstones.isErased(number, in: db)
            {
                continue
            }
            try RawStatement.run("DELETE FROM removal WHERE number = ?1", number, in: db)
        }
        return rows.last?[0]
    }

    /// - Parameter sequence: the version that may be removed; `nil` for any.
    private mutating func remove(_ number: Int64, asOf sequence: Int64?) throws -> Bool {
        guard let facts = try VersionLookup.current(number, in: db), sequence.map({ $0 == facts.sequence }) ?? true,
            try facts.sequence < caches.head && newestVersion(of: number) < caches.head,
            try !Tombstones.isErased(number, in: db),
            try !caches.ledger.sinks.areAwaiting(number, facts, in: db)
        else { return false }
        let identity: [UInt8]
        if let known = try find(SampleRow.byNumber, number) {
            identity = caches.tombstones.identity(known.sample.source, known.sample.key)
            caches.tallies.remove(known)
            try caches.rollups.touch(known, in: db)
            caches.trends.forget(known.personID)
            try correctCounters("sample", number)
        } else if let known = try findDay(DayRow.byNumber, number) {
            identity = caches.tombstones.identity(
                day: known.day.date, known.day.series, known.day.type, person: known.person.uid)
            try correctCounters("day", number)
        } else {
            return false
        }
        let insert = try RawStatement(cached: "INSERT INTO erased (number, identity, at) VALUES (?1, ?2, ?3)", in: db)
        insert.bind(1, number)
        insert.bind(2, identity)
        insert.bind(3, recordedAt)
        try insert.run()
        caches.tombstones.areThere = true
        return true
    }

    /// The newest version other than the current one.
    ///
    /// The source may have sent it while a manual change hid the record.
    private func newestVersion(of number: Int64) throws -> Int64 {
        let statement = try RawStatement(
            cached: """
                SELECT max(ifnull((SELECT max(seq) FROM sample_version WHERE number = ?1), 0),
                    ifnull((SELECT max(seq) FROM departure WHERE number = ?1), 0))
                """, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Deletes the rows of a record and adds them to the counters of removed rows.
    private mutating func correctCounters(_ table: String, _ number: Int64) throws {
        let isSample = table == "sample"
        // The same label as in `AccountCheck`.
        let label =
            isSample ? "(SELECT t.id FROM term t JOIN source s ON s.plugin = t.text WHERE s.id = v.source)" : "v.series"
        let covered = isSample ? "covered IS NULL" : "1"
        let who = isSample ? "type, person, source" : "type, person, series"
        let departures =
            isSample
            ? """
            UNION ALL SELECT 1, d.type, d.person, s.source FROM departure d JOIN sample s ON s.number = d.number
            WHERE d.number = ?1
            """ : ""
        let carried = """
            WITH v AS (
                SELECT retracted IS NOT NULL AS gone, \(who) FROM \(table) WHERE number = ?1
                UNION ALL SELECT retracted IS NOT NULL, \(who) FROM \(table)_version WHERE number = ?1 AND \(covered)
                \(departures)
            ), c (kind, type, person, label) AS (
                SELECT CASE gone WHEN 1 THEN 2 ELSE \(isSample ? 0 : 1) END, type, ifnull(person, 0), \(label) FROM v
                WHERE gone = 0 OR person IS NOT NULL
                UNION ALL SELECT 3, 0, 0, 0 FROM v WHERE person IS NULL
            )
            """
        try RawStatement.run(
            """
            \(carried)
            UPDATE stream SET removed = removed + n.count
            FROM (SELECT kind, type, person, label, count(*) AS count FROM c GROUP BY 1, 2, 3, 4) n
            WHERE stream.kind = n.kind AND ifnull(stream.type, 0) = n.type AND ifnull(stream.person, 0) = n.person
                AND ifnull(stream.label, 0) = n.label
            """, number, in: db)
        let departed = isSample ? "(SELECT count(*) FROM departure WHERE number = ?1)" : "0"
        let left = isSample ? "(SELECT ifnull(max(seq), 0) FROM departure WHERE number = ?1)" : "0"
        try RawStatement.run(
            """
            UPDATE removed SET records = records + 1,
                versions = versions + (SELECT count(*) FROM \(table)_version WHERE number = ?1),
                retractions = retractions + (SELECT count(*) FROM \(table) WHERE number = ?1 AND retracted IS NOT NULL)
                    + (SELECT count(*) FROM \(table)_version WHERE number = ?1 AND retracted IS NOT NULL),
                departures = departures + \(departed)
            """, number, in: db)
        let elsewhere =
            isSample
            ? "UNION SELECT d.type, d.person, s.source FROM departure d JOIN sample s USING (number) WHERE number = ?1"
            : ""
        let end = isSample ? "start + duration" : "(date + 1) * \(Filter.dayLength) - 1"
        try RawStatement.run(
            """
            WITH had (type, person, source) AS (
                SELECT type, person, source FROM \(table) WHERE number = ?1
                UNION SELECT type, person, source FROM \(table)_version WHERE number = ?1 \(elsewhere)
            ), gone (taken, changed, ended) AS (
                SELECT max(\(left), CASE WHEN retracted IS NULL THEN 0 ELSE seq END),
                    max(\(left), CASE seq WHEN number THEN 0 ELSE seq END), \(end)
                FROM \(table) WHERE number = ?1
            )
            INSERT INTO removed_of (type, person, source, last_taken, last_changed, ended)
            SELECT type, ifnull(person, 0), source, taken, changed, ended FROM had, gone WHERE changed > 0
            ON CONFLICT (type, person, source) DO UPDATE SET last_taken = max(last_taken, excluded.last_taken),
                last_changed = max(last_changed, excluded.last_changed), ended = max(ended, excluded.ended)
            """, number, in: db)
        let sequences = """
            (SELECT seq FROM \(table) WHERE number = ?1 UNION ALL SELECT seq FROM \(table)_version WHERE number = ?1)
            """
        for beside in ["payload", "deed", "ruling"] {
            try RawStatement.run("DELETE FROM \(beside) WHERE seq IN \(sequences)", number, in: db)
        }
        if isSample { try RawStatement.run("DELETE FROM departure WHERE number = ?1", number, in: db) }
        try RawStatement.run("DELETE FROM \(table)_version WHERE number = ?1", number, in: db)
        try RawStatement.run("DELETE FROM revision WHERE number = ?1", number, in: db)
        try RawStatement.run("DELETE FROM delivery WHERE sink IN (SELECT id FROM sink) AND number = ?1", number, in: db)
        try RawStatement.run("DELETE FROM \(table) WHERE number = ?1", number, in: db)
    }

    // MARK: - Thinning

    /// Stores statistics of a day's samples as a day value of the hub, and schedules the samples for removal.
    ///
    /// - Returns: `nil` if nothing was done: all samples have changed, or an erasure is under way.
    mutating func thin(_ thinned: ThinnedDay, isCumulative: Bool) throws -> ManualResult? {
        // Records chosen for erasure must not remain in the statistics of their day.
        guard try Int64.fetchOne(db, sql: "SELECT 1 FROM erasure") == nil else { return nil }
        var statistics = try ThinnedStatistics.stored(for: thinned, in: self)
        var numbers: [ThinnedDay.Version] = []
        var unit: String?
        for version in thinned.samples {
            guard let row = try find(SampleRow.byNumber, version.number), row.sequence == version.sequence,
                case .quantity(let value, let given) = row.sample.value
            else { continue }
            statistics.take(row.canonical?.value ?? value, at: row.sample.start.microseconds)
            unit = row.canonical?.unit ?? given
            numbers.append(version)
        }
        guard let unit, !numbers.isEmpty else { return nil }
        let day = DayValue(
            source: Source(plugin: IntakeCounts.hand), person: thinned.person.name, type: thinned.type,
            series: ThinnedStatistics.series(of: thinned.plugin), date: thinned.date,
            value: isCumulative ? statistics.sum : statistics.mean, unit: unit, method: "retention", basis: [],
            metadata: statistics.metadata)
        let intake = IntakeRecord(record: .day(day), assignment: .person(thinned.person))
        let result = try store(IntakeBatch(instance: IntakeCounts.hand, records: [intake]))[0]
        guard case .stored(let placement) = result else { return ManualResult(number: 0, result: result) }
        for version in numbers {
            let insert = try RawStatement(
                cached: "INSERT OR REPLACE INTO removal (number, seq) VALUES (?1, ?2)", in: db)
            insert.bind(1, version.number)
            insert.bind(2, version.sequence)
            try insert.run()
        }
        let told = Placement(
            number: placement.number, sequence: placement.sequence, previous: placement.previous,
            record: placement.record ?? StoredRecord(intake, placement))
        return ManualResult(number: told.number, result: .stored(told))
    }
}

/// The statistics that remain of thinned samples.
struct ThinnedStatistics {
    private var count: Int64 = 0
    private(set) var sum = 0.0
    private var least = Double.infinity
    private var most = -Double.infinity
    private var first: Moment?
    private var last: Moment?

    /// A value and the start of its sample.
    private struct Moment {
        var value: Double
        var start: Int64
        var text: String { Timestamp(microseconds: start).text }
    }

    var mean: Double { count == 0 ? 0 : sum / Double(count) }

    /// The series of the statistics of one plugin's samples.
    static func series(of plugin: String) -> String { "kept.\(plugin)" }

    /// Adds a value, in any order: samples of a day may arrive later than others that began after them.
    mutating func take(_ value: Double, at start: Int64) {
        count += 1
        sum += value
        (least, most) = (min(least, value), max(most, value))
        let moment = Moment(value: value, start: start)
        if first.map({ start < $0.start }) ?? true { first = moment }
        if last.map({ start >= $0.start }) ?? true { last = moment }
    }

    var metadata: JSONObject? {
        guard let first, let last else { return nil }
        return JSONObject(
            #"{"count":\#(count),"min":\#(least),"max":\#(most),"mean":\#(mean),"sum":\#(sum),"first":\#(first.value),"last":\#(last.value),"firstStart":"\#(first.text)","lastStart":"\#(last.text)"}"#
        )
    }

    /// The statistics of samples of the same day that were thinned earlier.
    static func stored(for thinned: ThinnedDay, in transaction: borrowing WriteTransaction) throws -> ThinnedStatistics
    {
        var statistics = ThinnedStatistics()
        let db = transaction.db
        guard let type = try Filter.id("SELECT id FROM term WHERE text = ?", thinned.type.rawValue, db),
            let series = try Filter.id("SELECT id FROM term WHERE text = ?", series(of: thinned.plugin), db),
            let known = try transaction.findDay(thinned.personID, type, series, thinned.date), known.retraction == nil,
            let text = known.day.metadata?.text,
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT json_extract(?1, '$.count'), json_extract(?1, '$.sum'), json_extract(?1, '$.min'),
                        json_extract(?1, '$.max'), json_extract(?1, '$.first'), json_extract(?1, '$.last'),
                        json_extract(?1, '$.firstStart'), json_extract(?1, '$.lastStart')
                    """, arguments: [text]),
            let count = row[0] as Int64?
        else { return statistics }
        statistics.count = count
        statistics.sum = row[1] ?? 0
        (statistics.least, statistics.most) = (row[2] ?? .infinity, row[3] ?? -.infinity)
        // Older hubs did not store the times. Their samples count as samples at midnight UTC.
        func moment(_ value: Int, _ start: Int) -> Moment? {
            guard let number = row[value] as Double? else { return nil }
            let time = (row[start] as String?).flatMap { try? Timestamp(parsing: $0) }
            let midnight = Int64(thinned.date.daysSinceEpoch) * Filter.dayLength
            return Moment(value: number, start: time?.microseconds ?? midnight)
        }
        (statistics.first, statistics.last) = (moment(4, 6), moment(5, 7))
        return statistics
    }
}
