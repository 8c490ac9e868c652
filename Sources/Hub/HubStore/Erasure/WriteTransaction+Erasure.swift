import GRDB
import HubWire
import Samples

extension WriteTransaction {
    /// Records erased per transaction.
    ///
    /// A transaction should not take longer than others do.
    static let erasedAtOnce = 50

    /// Erases some of the chosen records, then days computed from them.
    ///
    /// Returns no results if only words, the log and copies are left.
    mutating func eraseNext() throws -> [ManualResult] {
        guard let stage = try Int64.fetchOne(db, sql: "SELECT stage FROM erasure"), stage == 1 else { return [] }
        let numbers = try Int64.fetchAll(
            db, sql: "SELECT number FROM erasure_record ORDER BY number LIMIT \(Self.erasedAtOnce)")
        if numbers.isEmpty {
            let (results, isOver) = try eraseDays()
            if isOver { try db.execute(sql: "UPDATE erasure SET stage = 2") }
            return results
        }
        return try numbers.flatMap { number in
            let results = try apart(number) { transaction in
                let spans = try transaction.spans(of: number)
                let result = ManualResult(number: number, result: try transaction.erase(number))
                if case .rejected = result.result { return [result] }
                return [result] + (try transaction.eraseDays(near: spans))
            }
            try run("DELETE FROM erasure_record WHERE number = ?1", number)
            return results ?? [ManualResult(number: number, result: .rejected(Self.failed(number)))]
        }
    }

    static func failed(_ number: Int64) -> RecordRejection {
        RecordRejection(ErasureFault.code, "record \(number) could not be erased; hub status says why")
    }

    /// Processes one record in a savepoint, so that its failure does not roll back the other records.
    ///
    /// - Returns: `nil` if it failed; the reason is stored.
    /// - Throws: errors that would occur with every record, such as a full disk or damage.
    mutating func apart<Value>(
        _ number: Int64, _ body: (inout WriteTransaction) throws -> Value
    ) throws -> Value? {
        let before = self
        try db.execute(sql: "SAVEPOINT record")
        do {
            let value = try body(&self)
            try db.execute(sql: "RELEASE record")
            return value
        } catch {
            let fault = StoreError(error, doing: "erase record \(number)")
            guard fault.code == .internalFault, db.isInsideTransaction else { throw error }
            try db.execute(sql: "ROLLBACK TO record; RELEASE record")
            self = before
            try db.execute(
                sql: "INSERT OR REPLACE INTO erasure_fault (number, reason) VALUES (?, ?)",
                arguments: [number, fault.message])
            return nil
        }
    }

    /// Adds the records that failed before to a new erasure.
    ///
    /// - Returns: `false` while another erasure is under way.
    func retryErasure() throws -> Bool {
        guard try Int64.fetchOne(db, sql: "SELECT 1 FROM erasure") == nil else { return false }
        try db.execute(
            sql: """
                DELETE FROM erasure_fault WHERE number IN (SELECT number FROM erased);
                INSERT OR IGNORE INTO erasure_record (number) SELECT number FROM erasure_fault;
                DELETE FROM erasure_fault;
                INSERT INTO erasure (id, stage, copies, total)
                    SELECT 1, 1, 0, count(*) FROM erasure_record HAVING count(*) > 0
                """)
        return true
    }

    /// Drops an erasure that is being chosen.
    ///
    /// If names were removed meanwhile, their words are still searched.
    func dropErasure() throws {
        try db.execute(
            sql: """
                DELETE FROM erasure_record WHERE EXISTS (SELECT 1 FROM erasure WHERE stage = 0);
                UPDATE erasure SET stage = 2, copies = 0 WHERE stage = 0 AND EXISTS (SELECT 1 FROM erasure_source);
                DELETE FROM erasure WHERE stage = 0
                """)
    }

    /// Reduces a record to an empty retraction with the same number and sequence numbers.
    ///
    /// A record that was not retracted gets a last version, which notifies all followers and recipients.
    private mutating func erase(_ number: Int64) throws -> StoreResult {
        if try Tombstones.isErased(number, in: db) { return .rejected(Self.erased(number)) }
        if let known = try find(SampleRow.byNumber, number) { return try erase(known) }
        if let known = try findDay(DayRow.byNumber, number) { return try erase(known) }
        return .rejected(RecordRejection(.unknown, "no record has the number \(number)"))
    }

    static func erased(_ number: Int64) -> RecordRejection {
        RecordRejection(.init(received: "erased"), "record \(number) was erased: nothing is left of it")
    }

    private mutating func erase(_ known: SampleRow) throws -> StoreResult {
        let identity = caches.tombstones.identity(known.sample.source, known.sample.key)
        var result = StoreResult.duplicate(number: known.number, sequence: known.sequence)
        var facts = known.facts
        if known.retraction == nil {
            var row = known
            row.retract(by: .person, reason: Tombstones.reason, version: nil)
            let placement = try replace(known, with: row)
            facts = facts.retracted(at: placement.sequence)
            result = .stored(placement)
        }
        try remember(
            words: """
                SELECT unit FROM rows UNION SELECT original_unit FROM rows UNION SELECT zone FROM rows UNION SELECT name FROM rows
                UNION SELECT method FROM rows UNION SELECT method_version FROM rows UNION SELECT origin FROM rows
                UNION SELECT unassigned FROM rows UNION SELECT profile_of FROM rows UNION SELECT shared_metadata FROM rows
                """, of: "sample", known.number)
        try removeBeside(known.number, "sample")
        for table in ["sample", "sample_version"] { try empty(table, Self.emptySample, known.number) }
        try writeTombstone(known.number, identity, facts)
        return result
    }

    private mutating func erase(_ known: DayRow) throws -> StoreResult {
        let identity = caches.tombstones.identity(
            day: known.day.date, known.day.series, known.day.type, person: known.person.uid)
        var result = StoreResult.duplicate(number: known.number, sequence: known.sequence)
        var facts = known.facts
        if known.retraction == nil {
            result = try retract(known, .person, reason: Tombstones.reason, version: nil, source: nil)
            if case .stored(let placement) = result { facts = facts.retracted(at: placement.sequence) }
        }
        try rememberWords(ofDay: known.number)
        try removeBeside(known.number, "day")
        for table in ["day", "day_version"] { try empty(table, Self.emptyDay, known.number) }
        try writeTombstone(known.number, identity, facts)
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

    private mutating func empty(_ table: String, _ columns: String, _ number: Int64) throws {
        let statement = try RawStatement(cached: "UPDATE \(table) SET \(columns) WHERE number = ?1", in: db)
        statement.bind(1, number)
        statement.bind(2, try caches.term(Tombstones.reason, .own, in: db))
        try statement.run()
    }

    func rememberWords(ofDay number: Int64) throws {
        try remember(
            words: """
                SELECT unit FROM rows UNION SELECT original_unit FROM rows UNION SELECT zone FROM rows
                UNION SELECT method FROM rows
                """, of: "day", number)
    }

    private func remember(words: String, of table: String, _ number: Int64) throws {
        let columns = table == "sample" ? SampleColumn.list : DayColumn.list
        try run(
            """
            WITH rows AS (
                SELECT \(columns) FROM \(table) WHERE number = ?1
                UNION ALL SELECT \(columns) FROM \(table)_version WHERE number = ?1
            )
            INSERT OR IGNORE INTO erasure_word (id) SELECT unit FROM (\(words)) WHERE unit IS NOT NULL
            """, number)
    }

    /// Removes payloads, reasons and rulings of all versions of a record.
    private func removeBeside(_ number: Int64, _ table: String) throws {
        let sequences = """
            (SELECT seq FROM \(table) WHERE number = ?1 UNION ALL SELECT seq FROM \(table)_version WHERE number = ?1)
            """
        try run("DELETE FROM payload WHERE seq IN \(sequences)", number)
        try run("UPDATE deed SET reason = NULL WHERE seq IN \(sequences)", number)
        try run("UPDATE ruling SET probability = NULL, odds = NULL WHERE seq IN \(sequences)", number)
    }

    private mutating func writeTombstone(_ number: Int64, _ identity: [UInt8], _ facts: VersionProperties) throws {
        let insert = try RawStatement(
            cached: "INSERT INTO erased (number, identity, at, named) VALUES (?1, ?2, ?3, 1)", in: db)
        insert.bind(1, number)
        insert.bind(2, identity)
        insert.bind(3, recordedAt)
        try insert.run()
        caches.tombstones.areThere = true
        if try !isAwaited(number, facts) { try removeName(number) }
    }

    func run(_ sql: String, _ number: Int64) throws {
        let statement = try RawStatement(cached: sql, in: db)
        statement.bind(1, number)
        try statement.run()
    }
}
