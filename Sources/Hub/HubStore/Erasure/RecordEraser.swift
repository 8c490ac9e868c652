import GRDB
import HubWire
import Samples

/// Erases chosen records: reduces each to an empty retraction, and removes the values of days that were computed from it.
enum RecordEraser {
    /// Records erased per transaction.
    ///
    /// A transaction should not take longer than others do.
    static let recordsAtOnce = 50

    /// Erases some of the chosen records, then days computed from them.
    ///
    /// Returns no results if only words, the log and copies are left.
    static func eraseNext(in transaction: inout WriteTransaction) throws -> [ManualResult] {
        let db = transaction.db
        guard let stage = try Int64.fetchOne(db, sql: "SELECT stage FROM erasure"), stage == 1 else { return [] }
        let numbers = try Int64.fetchAll(
            db, sql: "SELECT number FROM erasure_record ORDER BY number LIMIT \(recordsAtOnce)")
        if numbers.isEmpty {
            let (results, isOver) = try eraseDays(in: &transaction)
            if isOver { try db.execute(sql: "UPDATE erasure SET stage = 2") }
            return results
        }
        var results: [ManualResult] = []
        for number in numbers {
            let erased = try apart(number, in: &transaction) { transaction in
                try eraseWithDays(number, in: &transaction)
            }
            try RawStatement.run("DELETE FROM erasure_record WHERE number = ?1", number, in: db)
            results += erased ?? [failure(number)]
        }
        return results
    }

    static func failure(_ number: Int64, isDerived: Bool = false) -> ManualResult {
        let reason = "record \(number) could not be erased; hub status says why"
        return ManualResult(
            number: number, result: .rejected(RecordRejection(ErasureFault.code, reason)), isDerived: isDerived)
    }

    /// Processes one record in a savepoint, so that its failure does not roll back the other records.
    ///
    /// - Returns: `nil` if it failed; the reason is stored.
    /// - Throws: errors that would occur with every record, such as a full disk or damage.
    static func apart<Value>(
        _ number: Int64, in transaction: inout WriteTransaction, _ body: (inout WriteTransaction) throws -> Value
    ) throws -> Value? {
        let (db, before) = (transaction.db, transaction)
        try db.execute(sql: "SAVEPOINT record")
        do {
            let value = try body(&transaction)
            try db.execute(sql: "RELEASE record")
            return value
        } catch {
            let fault = StoreError(error, doing: "erase record \(number)")
            guard fault.code == .internalFault, db.isInsideTransaction else { throw error }
            try db.execute(sql: "ROLLBACK TO record; RELEASE record")
            transaction = before
            try db.execute(
                sql: "INSERT OR REPLACE INTO erasure_fault (number, reason) VALUES (?, ?)",
                arguments: [number, fault.message])
            return nil
        }
    }

    private static func eraseWithDays(_ number: Int64, in transaction: inout WriteTransaction) throws -> [ManualResult]
    {
        let spans = try ErasedSpan.all(of: number, in: transaction.db)
        let result = ManualResult(number: number, result: try erase(number, in: &transaction))
        if case .rejected = result.result { return [result] }
        return [result] + (try eraseDays(near: spans, in: &transaction))
    }

    /// Reduces a record to an empty retraction with the same number and sequence numbers.
    ///
    /// A record that was not retracted gets a last version, which notifies all followers and recipients.
    private static func erase(_ number: Int64, in transaction: inout WriteTransaction) throws -> StoreResult {
        if try Tombstones.isErased(number, in: transaction.db) { return Tombstones.refusal(of: number) }
        if let known = try transaction.find(SampleRow.byNumber, number) { return try erase(known, in: &transaction) }
        if let known = try transaction.findDay(DayRow.byNumber, number) { return try erase(known, in: &transaction) }
        return transaction.unknown(number)
    }

    private static func erase(_ known: SampleRow, in transaction: inout WriteTransaction) throws -> StoreResult {
        let identity = transaction.caches.tombstones.identity(of: known)
        var result = known.duplicate
        var facts = known.facts
        if known.retraction == nil {
            var row = known
            row.retract(by: .person, reason: Tombstones.reason, version: nil)
            let placement = try transaction.replace(known, with: row)
            facts = facts.retracted(at: placement.sequence)
            result = .stored(placement)
        }
        try remember(
            words: """
                SELECT unit FROM rows UNION SELECT original_unit FROM rows UNION SELECT zone FROM rows UNION SELECT name FROM rows
                UNION SELECT method FROM rows UNION SELECT method_version FROM rows UNION SELECT origin FROM rows
                UNION SELECT unassigned FROM rows UNION SELECT profile_of FROM rows UNION SELECT shared_metadata FROM rows
                """, of: "sample", known.number, in: transaction.db)
        try empty(known.number, "sample", emptySample, in: &transaction)
        try writeTombstone(known.number, identity, facts, in: &transaction)
        return result
    }

    private static func erase(_ known: DayRow, in transaction: inout WriteTransaction) throws -> StoreResult {
        let identity = transaction.caches.tombstones.identity(of: known)
        var result = known.duplicate
        var facts = known.facts
        if known.retraction == nil {
            result = try transaction.retract(known, .person, reason: Tombstones.reason, version: nil, source: nil)
            if case .stored(let placement) = result { facts = facts.retracted(at: placement.sequence) }
        }
        try rememberWords(ofDay: known.number, in: transaction.db)
        try empty(known.number, "day", emptyDay, in: &transaction)
        try writeTombstone(known.number, identity, facts, in: &transaction)
        return result
    }

    // MARK: - What goes

    /// Sets every column that describes the measurement.
    ///
    /// Columns that accounting and the routing of retractions need are kept.
    private static let emptySample = """
        start = 0, duration = 0, start_offset = NULL, end_offset = NULL, zone = NULL, value = CASE kind WHEN 0 THEN 0.0 END,
        original_value = NULL, original_unit = NULL, name = CASE WHEN name IS NOT NULL THEN ?2 END,
        raw = CASE WHEN raw IS NOT NULL THEN 0 END, content = NULL, subject = NULL, grouping = NULL, provenance = 0,
        method = NULL, method_version = NULL, basis = NULL, metadata = NULL, source_version = NULL, origin = NULL, extra = NULL,
        unassigned = CASE WHEN unassigned IS NOT NULL THEN ?2 END, edited = NULL, profile_of = NULL, implausible = NULL, shared_metadata = NULL,
        retraction_reason = CASE WHEN retracted IS NOT NULL THEN '\(Tombstones.reason)' END, retraction_version = NULL
        """

    static let emptyDay = """
        value = 0.0, original_value = NULL, original_unit = NULL, method = ?2, observed_on = NULL, age = NULL, basis = NULL,
        zone = NULL, metadata = NULL, extra = NULL,
        retraction_reason = CASE WHEN retracted IS NOT NULL THEN '\(Tombstones.reason)' END, retraction_version = NULL
        """

    /// Empties all versions of a record, and removes their payloads, reasons and rulings.
    private static func empty(
        _ number: Int64, _ table: String, _ columns: String, in transaction: inout WriteTransaction
    ) throws {
        let db = transaction.db
        let sequences = """
            (SELECT seq FROM \(table) WHERE number = ?1 UNION ALL SELECT seq FROM \(table)_version WHERE number = ?1)
            """
        try RawStatement.run("DELETE FROM payload WHERE seq IN \(sequences)", number, in: db)
        try RawStatement.run("UPDATE deed SET reason = NULL WHERE seq IN \(sequences)", number, in: db)
        try RawStatement.run(
            "UPDATE ruling SET probability = NULL, odds = NULL WHERE seq IN \(sequences)", number, in: db)
        for table in [table, "\(table)_version"] {
            let statement = try RawStatement(cached: "UPDATE \(table) SET \(columns) WHERE number = ?1", in: db)
            statement.bind(1, number)
            statement.bind(2, try transaction.caches.term(Tombstones.reason, .own, in: db))
            try statement.run()
        }
    }

    static func rememberWords(ofDay number: Int64, in db: Database) throws {
        try remember(
            words: """
                SELECT unit FROM rows UNION SELECT original_unit FROM rows UNION SELECT zone FROM rows
                UNION SELECT method FROM rows
                """, of: "day", number, in: db)
    }

    private static func remember(words: String, of table: String, _ number: Int64, in db: Database) throws {
        let columns = table == "sample" ? SampleColumn.list : DayColumn.list
        try RawStatement.run(
            """
            WITH rows AS (
                SELECT \(columns) FROM \(table) WHERE number = ?1
                UNION ALL SELECT \(columns) FROM \(table)_version WHERE number = ?1
            )
            INSERT OR IGNORE INTO erasure_word (id) SELECT unit FROM (\(words)) WHERE unit IS NOT NULL
            """, number, in: db)
    }

    private static func writeTombstone(
        _ number: Int64, _ identity: [UInt8], _ facts: VersionProperties, in transaction: inout WriteTransaction
    ) throws {
        let db = transaction.db
        try transaction.caches.tombstones.add(number, identity, isNamed: true, at: transaction.recordedAt, in: db)
        if try !transaction.caches.ledger.sinks.areAwaiting(number, facts, in: db) {
            try removeName(number, &transaction.caches.ledger, in: db)
        }
    }

    // MARK: - Names

    /// Removes identities of which all sinks have been notified since.
    static func removeNames(_ numbers: [Int64], in transaction: inout WriteTransaction) throws {
        let db = transaction.db
        var isRemoved = false
        for number in numbers {
            guard let facts = try VersionLookup.current(number, in: db),
                try !transaction.caches.ledger.sinks.areAwaiting(number, facts, in: db)
            else { continue }
            let removed: Void? = try apart(number, in: &transaction) { transaction in
                try removeName(number, &transaction.caches.ledger, in: db)
            }
            if removed != nil { isRemoved = true }
        }
        guard isRemoved else { return }
        // Their copies in the log and in other pages are removed as those of their records were.
        // An erasure that has finished its words searches them again.
        try db.execute(
            sql: """
                INSERT INTO erasure (id, stage, copies, total) VALUES (1, 2, 0, 0)
                ON CONFLICT (id) DO UPDATE SET stage = 2 WHERE stage = 3
                """)
    }

    /// Removes the identity of an erased record, and the names that targets gave it.
    private static func removeName(_ number: Int64, _ ledger: inout LedgerCache, in db: Database) throws {
        func run(_ sql: String) throws { try RawStatement.run(sql, number, in: db) }
        try ledger.forgetReasons(number, in: db)
        try run("UPDATE delivery SET receipt = NULL WHERE sink IN (SELECT id FROM sink) AND number = ?1")
        try Tombstones.giveName(number, in: db) { update in "\(update) sample SET key = ?2 WHERE number = ?1" }
        try run("UPDATE sample_version SET key = (SELECT key FROM sample WHERE number = ?1) WHERE number = ?1")
        // A day needs a date that no other day of its series has. Years before 1000 are free, because no device sends them.
        let free = """
            SELECT ifnull(max(o.date) + 1, -719162) FROM day y
            LEFT JOIN day o ON o.person = y.person AND o.type = y.type AND o.series = y.series AND o.date < -354285
            WHERE y.number = ?1
            """
        try run("UPDATE day SET date = (\(free)) WHERE number = ?1")
        try run("UPDATE day_version SET date = (SELECT date FROM day WHERE number = ?1) WHERE number = ?1")
        try run("UPDATE erased SET named = NULL WHERE number = ?1")
        for table in ["sample", "day"] {
            try run("INSERT OR IGNORE INTO erasure_source (id) SELECT source FROM \(table) WHERE number = ?1")
        }
    }
}
