import GRDB
import Samples

extension IntakeCounts {
    /// Counts one record's result.
    mutating func count(_ result: StoreResult) {
        received += 1
        switch result {
        case .stored(let placement) where placement.isRetraction: retractions += 1
        case .stored(let placement) where placement.number == placement.sequence: stored += 1
        case .stored: versions += 1
        case .duplicate: duplicates += 1
        case .rejected: rejected += 1
        }
    }

    static func all(in db: Database) throws -> [IntakeCounts] {
        let sql = """
            SELECT instance, received, stored, versions, retractions, duplicates, rejected, streams, sources, words,
                extra_bytes
            FROM account ORDER BY instance
            """
        return try Row.fetchAll(db, sql: sql).map { row in
            var account = IntakeCounts(instance: row[0])
            account.received = row[1]
            account.stored = row[2]
            account.versions = row[3]
            account.retractions = row[4]
            account.duplicates = row[5]
            account.rejected = row[6]
            account.usage = InstanceUsage(streams: row[7], sources: row[8], words: row[9], extraBytes: row[10])
            return account
        }
    }

    func save(to db: Database) throws {
        let sql = """
            INSERT INTO account (instance, received, stored, versions, retractions, duplicates, rejected, streams, sources,
                words, extra_bytes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            ON CONFLICT (instance) DO UPDATE
            SET received = ?2, stored = ?3, versions = ?4, retractions = ?5, duplicates = ?6, rejected = ?7,
                streams = ?8, sources = ?9, words = ?10, extra_bytes = ?11
            """
        let statement = try RawStatement(cached: sql, in: db)
        statement.bind(1, instance)
        let counts = [
            received, stored, versions, retractions, duplicates, rejected, usage.streams, usage.sources, usage.words,
            usage.extraBytes,
        ]
        statement.bind(counts, from: 2)
        try statement.run()
    }
}

/// Compares the counters with the records.
///
/// Reads every row; used by tests and `hub doctor`.
enum AccountCheck {
    static func discrepancies(in db: Database) throws -> [String] {
        var found: [String] = []
        func expect(_ what: String, _ claimed: Int64, _ counted: Int64) {
            if claimed != counted { found.append("\(what): the counters say \(claimed), the records \(counted)") }
        }
        func count(_ sql: String) throws -> Int64 { try Int64.fetchOne(db, sql: sql) ?? 0 }

        let accounts = try IntakeCounts.all(in: db)
        for account in accounts {
            let results =
                account.stored + account.versions + account.retractions + account.duplicates + account.rejected
            expect("account of \(account.instance)", account.received, results)
        }
        let counted = try counted(in: db)
        expect("records", accounts.reduce(0) { $0 + $1.stored }, counted.stored)
        expect("retractions", accounts.reduce(0) { $0 + $1.retractions }, counted.retractions)
        expect("new versions", accounts.reduce(0) { $0 + $1.versions }, counted.versions)
        let leftOut = try count("SELECT ifnull(sum(last - first + 1), 0) FROM gap")
        expect(
            "sequences", try count(SequenceHead.sql), counted.stored + counted.versions + counted.retractions + leftOut)
        let tallies = try StoreCounters(from: db)
        expect("inbox", tallies.inbox, try count(StoreCounters.countedInbox))
        expect("implausible", tallies.implausible, try count(StoreCounters.countedImplausible))
        for number in try Int64.fetchAll(db, sql: revisions) {
            found.append("record \(number): its count of versions is not that of the versions that are kept")
        }
        let dangling = #"SELECT DISTINCT "table", parent FROM pragma_foreign_key_check"#
        for row in try Row.fetchAll(db, sql: dangling) {
            found.append("\(row[0] as String): has a row that points to one of \(row[1] as String) that is not there")
        }
        found += try open(in: db)
        for row in try Row.fetchAll(db, sql: streams) {
            found.append("stream \(row[0] as Int64): its last sequence or count is not that of its records")
        }
        return found
    }

    /// The sums that the accounts must have, computed from the rows.
    static func counted(in db: Database) throws -> (stored: Int64, versions: Int64, retractions: Int64) {
        func count(_ sql: String) throws -> Int64 { try Int64.fetchOne(db, sql: sql) ?? 0 }
        // Records removed by retention are counted as if they were still stored.
        let superseded = try count(
            """
            SELECT (SELECT count(*) FROM sample_version) + (SELECT count(*) FROM day_version)
                + (SELECT versions FROM removed)
            """)
        let retractions = try count(
            """
            SELECT (SELECT count(*) FROM sample WHERE retracted IS NOT NULL)
                + (SELECT count(*) FROM sample_version WHERE retracted IS NOT NULL)
                + (SELECT count(*) FROM day WHERE retracted IS NOT NULL)
                + (SELECT count(*) FROM day_version WHERE retracted IS NOT NULL) + (SELECT retractions FROM removed)
            """)
        return (
            stored: try count(
                "SELECT (SELECT count(*) FROM sample) + (SELECT count(*) FROM day) + (SELECT records FROM removed)"),
            versions: superseded - retractions,
            retractions: retractions + (try count("SELECT count(*) + (SELECT departures FROM removed) FROM departure"))
        )
    }

    /// Open departures although the record has that person and type again.
    private static func open(in db: Database) throws -> [String] {
        let sql = """
            SELECT d.seq FROM departure d JOIN sample s ON s.number = d.number
            WHERE d.ended IS NULL AND ifnull(d.person, 0) = ifnull(s.person, 0) AND d.type = s.type
            """
        return try Int64.fetchAll(db, sql: sql).map { "departure \($0): the record is that person's, and of that type" }
    }

    private static let revisions = """
        WITH counted (number, count) AS (
            SELECT number, count(*) FROM sample_version GROUP BY number
            UNION ALL SELECT number, count(*) FROM day_version GROUP BY number
        )
        SELECT number FROM (SELECT * FROM counted EXCEPT SELECT number, count FROM revision)
        UNION SELECT number FROM (SELECT number, count FROM revision EXCEPT SELECT * FROM counted)
        """

    /// The streams that result from the versions they carried; 0 if a column is empty.
    static let countedStreams = """
        WITH version (kind, type, person, label, seq) AS (
            SELECT CASE WHEN retracted IS NULL THEN 0 ELSE 2 END, type, person, source, seq FROM sample
            UNION ALL SELECT CASE WHEN retracted IS NULL THEN 0 ELSE 2 END, type, person, source, seq FROM sample_version
                WHERE covered IS NULL
            UNION ALL SELECT 2, d.type, d.person, s.source, d.seq FROM departure d JOIN sample s ON s.number = d.number
        ), carried (kind, type, person, label, seq) AS (
            SELECT kind, type, ifnull(person, 0), (SELECT t.id FROM term t JOIN source s ON s.plugin = t.text WHERE s.id = label), seq
            FROM version WHERE kind = 0 OR person IS NOT NULL
            UNION ALL SELECT 3, 0, 0, 0, seq FROM version WHERE person IS NULL
            UNION ALL SELECT 1, type, person, series, seq FROM day WHERE retracted IS NULL
            UNION ALL SELECT 1, type, person, series, seq FROM day_version WHERE retracted IS NULL
            UNION ALL SELECT 2, type, person, series, seq
            FROM (SELECT * FROM day UNION ALL SELECT * FROM day_version) WHERE retracted IS NOT NULL
        )
        SELECT kind, type, person, label, max(seq) AS last_seq, count(*) AS count FROM carried GROUP BY 1, 2, 3, 4
        """

    /// Streams whose end or count differs from the computed one, and versions without a stream.
    private static let streams = """
        WITH claim (kind, type, person, label, last_seq, count, removed) AS (
            SELECT kind, ifnull(type, 0), ifnull(person, 0), ifnull(label, 0), last_seq, count - removed, removed FROM stream
        ), counted (kind, type, person, label, last_seq, count) AS (
            -- The record with the last sequence may have been removed.
            SELECT c.kind, c.type, c.person, c.label, CASE WHEN m.removed > 0 THEN 0 ELSE c.last_seq END, c.count
            FROM (\(countedStreams)) c LEFT JOIN claim m
                ON m.kind = c.kind AND m.type = c.type AND m.person = c.person AND m.label = c.label
        ), claimed (kind, type, person, label, last_seq, count) AS (
            SELECT kind, type, person, label, CASE WHEN removed > 0 THEN 0 ELSE last_seq END, count FROM claim WHERE count > 0
        )
        SELECT kind FROM (SELECT * FROM counted EXCEPT SELECT * FROM claimed)
        UNION ALL SELECT kind FROM (SELECT * FROM claimed EXCEPT SELECT * FROM counted)
        """
}

/// Counters that are read often, stored in the row of the store's name.
///
/// Counting rows would read an index that grows with the data.
struct StoreCounters: Hashable {
    /// Samples that wait to be assigned to a person, except those of guests.
    private(set) var inbox: Int64
    /// Implausible samples, except those of guests.
    private(set) var implausible: Int64
    /// The number of transactions of the store.
    private(set) var commits: Int64

    /// SQL that counts unretracted samples that are not a guest's and meet a condition.
    private static func counted(_ condition: String) -> String {
        """
        SELECT count(*) FROM sample WHERE \(condition) AND retracted IS NULL
            AND unassigned IS NOT ifnull((SELECT id FROM term WHERE text = 'guest'), 0)
        """
    }

    /// Counts ``inbox`` from the samples.
    static let countedInbox = counted("person IS NULL")
    /// Counts ``implausible`` from the samples.
    static let countedImplausible = counted("implausible IS NOT NULL")

    init(from db: Database) throws {
        let row = try Row.fetchOne(db, sql: "SELECT inbox, implausible, commits FROM meta")
        (inbox, implausible, commits) = (row?[0] ?? 0, row?[1] ?? 0, row?[2] ?? 0)
    }

    /// Counts a first version that was stored.
    mutating func add(_ assignment: Assignment, isImplausible: Bool) {
        if assignment.isInInbox { inbox += 1 }
        if isImplausible, !assignment.isGuest { implausible += 1 }
    }

    /// Counts a version that replaced another.
    mutating func replace(_ old: SampleRow, with new: SampleRow) {
        count(old, -1)
        count(new, 1)
    }

    /// Counts a removed record.
    mutating func remove(_ row: SampleRow) { count(row, -1) }

    private mutating func count(_ row: SampleRow, _ change: Int64) {
        guard row.retraction == nil else { return }
        if row.assignment.isInInbox { inbox += change }
        if !row.implausible.isEmpty, !row.assignment.isGuest { implausible += change }
    }

    /// Writes the counters at the end of a transaction, and counts the transaction.
    mutating func save(to db: Database) throws {
        commits += 1
        let update = try RawStatement(
            cached: "UPDATE meta SET inbox = ?1, implausible = ?2, commits = ?3", in: db)
        update.bind(1, inbox)
        update.bind(2, implausible)
        update.bind(3, commits)
        try update.run()
    }
}
