import GRDB
import Samples

/// Removes records silently: no version, no retraction, on no topic.
///
/// Their identities are kept like those of erased records.
enum RecordRemoval {
    /// Removes records.
    ///
    /// Each record is checked again. It is kept if it has changed since it was chosen, or if a sink waits for it again.
    /// - Returns: the number of removed records.
    static func remove(_ numbers: [Int64], in transaction: inout WriteTransaction) throws -> Int64 {
        var count: Int64 = 0
        for number in numbers where try remove(number, in: &transaction) { count += 1 }
        return count
    }

    /// Removes some of the thinned samples, in the order of their numbers.
    ///
    /// A sample that has to wait for a sink, or that holds the head, stays in the list, because its day already includes it.
    /// - Returns: the last number that was checked; `nil` if there are no more in the range.
    static func removeThinned(
        _ range: ClosedRange<Int64>, in transaction: inout WriteTransaction
    ) throws -> Int64? {
        let db = transaction.db
        let rows = try Row.fetchAll(
            db, sql: "SELECT number, seq FROM removal WHERE number BETWEEN ? AND ? ORDER BY number LIMIT ?",
            arguments: [range.lowerBound, range.upperBound, RecordEraser.recordsAtOnce])
        for row in rows {
            let (number, sequence) = (row[0] as Int64, row[1] as Int64)
            if try !remove(number, asOf: sequence, in: &transaction),
                try VersionLookup.current(number, in: db)?.sequence == sequence,
                try !Tombstones.isErased(number, in: db)
            {
                continue
            }
            try RawStatement.run("DELETE FROM removal WHERE number = ?1", number, in: db)
        }
        return rows.last?[0]
    }

    /// - Parameter sequence: the version that may be removed; `nil` for any.
    private static func remove(
        _ number: Int64, asOf sequence: Int64? = nil, in transaction: inout WriteTransaction
    ) throws -> Bool {
        let (db, head) = (transaction.db, transaction.caches.head)
        guard let facts = try VersionLookup.current(number, in: db), sequence.map({ $0 == facts.sequence }) ?? true,
            try facts.sequence < head && newestVersion(of: number, in: db) < head,
            try !Tombstones.isErased(number, in: db),
            try !transaction.caches.ledger.sinks.areAwaiting(number, facts, in: db)
        else { return false }
        let identity: [UInt8]
        if let known = try transaction.find(SampleRow.byNumber, number) {
            identity = transaction.caches.tombstones.identity(of: known)
            transaction.caches.tallies.remove(known)
            try transaction.caches.rollups.touch(known, in: db)
            transaction.caches.trends.forget(known.personID)
            try deleteRows(of: number, "sample", in: db)
        } else if let known = try transaction.findDay(DayRow.byNumber, number) {
            identity = transaction.caches.tombstones.identity(of: known)
            try deleteRows(of: number, "day", in: db)
        } else {
            return false
        }
        try transaction.caches.tombstones.add(number, identity, isNamed: false, at: transaction.recordedAt, in: db)
        return true
    }

    /// The newest version other than the current one.
    ///
    /// The source may have sent it while a manual change hid the record.
    private static func newestVersion(of number: Int64, in db: Database) throws -> Int64 {
        let sql = """
            SELECT max(ifnull((SELECT max(seq) FROM sample_version WHERE number = ?1), 0),
                ifnull((SELECT max(seq) FROM departure WHERE number = ?1), 0))
            """
        return try RawStatement.integer(sql, number, in: db) ?? 0
    }

    /// Deletes the rows of a record and adds them to the counters of removed rows.
    private static func deleteRows(of number: Int64, _ table: String, in db: Database) throws {
        func run(_ sql: String) throws { try RawStatement.run(sql, number, in: db) }
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
        try run(
            """
            \(carried)
            UPDATE stream SET removed = removed + n.count
            FROM (SELECT kind, type, person, label, count(*) AS count FROM c GROUP BY 1, 2, 3, 4) n
            WHERE stream.kind = n.kind AND ifnull(stream.type, 0) = n.type AND ifnull(stream.person, 0) = n.person
                AND ifnull(stream.label, 0) = n.label
            """)
        let departed = isSample ? "(SELECT count(*) FROM departure WHERE number = ?1)" : "0"
        let left = isSample ? "(SELECT ifnull(max(seq), 0) FROM departure WHERE number = ?1)" : "0"
        try run(
            """
            UPDATE removed SET records = records + 1,
                versions = versions + (SELECT count(*) FROM \(table)_version WHERE number = ?1),
                retractions = retractions + (SELECT count(*) FROM \(table) WHERE number = ?1 AND retracted IS NOT NULL)
                    + (SELECT count(*) FROM \(table)_version WHERE number = ?1 AND retracted IS NOT NULL),
                departures = departures + \(departed)
            """)
        let elsewhere =
            isSample
            ? "UNION SELECT d.type, d.person, s.source FROM departure d JOIN sample s USING (number) WHERE number = ?1"
            : ""
        let end = isSample ? "start + duration" : "(date + 1) * \(Filter.dayLength) - 1"
        try run(
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
            """)
        let sequences = """
            (SELECT seq FROM \(table) WHERE number = ?1 UNION ALL SELECT seq FROM \(table)_version WHERE number = ?1)
            """
        for beside in ["payload", "deed", "ruling"] {
            try run("DELETE FROM \(beside) WHERE seq IN \(sequences)")
        }
        if isSample { try run("DELETE FROM departure WHERE number = ?1") }
        try run("DELETE FROM \(table)_version WHERE number = ?1")
        try run("DELETE FROM revision WHERE number = ?1")
        try run("DELETE FROM delivery WHERE sink IN (SELECT id FROM sink) AND number = ?1")
        try run("DELETE FROM \(table) WHERE number = ?1")
    }
}
