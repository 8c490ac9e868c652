import GRDB
import Samples

/// The identities of erased records, which sinks need to remove them.
extension WriteTransaction {
    /// Whether a sink still has to be notified of a version.
    func isAwaited(_ number: Int64, _ facts: VersionProperties) throws -> Bool {
        try caches.ledger.sinks.contains { sink in try sink.isAwaiting(number, facts, in: db) }
    }

    /// Removes the identity of an erased record, and the names that targets gave it.
    mutating func removeName(_ number: Int64) throws {
        try forgetReasons(number)
        try run("UPDATE delivery SET receipt = NULL WHERE sink IN (SELECT id FROM sink) AND number = ?1", number)
        try giveName(number) { update in "\(update) sample SET key = ?2 WHERE number = ?1" }
        let key = "(SELECT key FROM sample WHERE number = ?1)"
        try run("UPDATE sample_version SET key = \(key) WHERE number = ?1", number)
        // A day needs a date that no other day of its series has. Years before 1000 are free, because no device sends them.
        let free = """
            SELECT ifnull(max(o.date) + 1, -719162) FROM day y
            LEFT JOIN day o ON o.person = y.person AND o.type = y.type AND o.series = y.series AND o.date < -354285
            WHERE y.number = ?1
            """
        try run("UPDATE day SET date = (\(free)) WHERE number = ?1", number)
        try run("UPDATE day_version SET date = (SELECT date FROM day WHERE number = ?1) WHERE number = ?1", number)
        try run("UPDATE erased SET named = NULL WHERE number = ?1", number)
        for table in ["sample", "day"] {
            try run(
                "INSERT OR IGNORE INTO erasure_source (id) SELECT source FROM \(table) WHERE number = ?1", number)
        }
    }

    /// Removes the messages of sinks about a record, because they may quote it.
    mutating func forgetReasons(_ number: Int64) throws {
        for index in caches.ledger.sinks.indices {
            let row = try DeliveryRow.find(caches.ledger.sinks[index].id, number, in: db)
            // This record may have caused the last failure.
            if row?.reason != nil { caches.ledger.change(index) { $0.lastFailure = nil } }
        }
        try run(
            """
            UPDATE delivery SET reason = CASE state WHEN \(DeliveryRow.State.skipped.rawValue) THEN reason END
            WHERE sink IN (SELECT id FROM sink) AND number = ?1
            """, number)
    }

    /// Gives a row the name of an erased record.
    ///
    /// If another row has that name, as in stores of earlier hubs, random letters are added.
    ///
    /// - Parameter sql: makes the statement from an update command; the statement is bound to the row's id and the name.
    func giveName(_ id: Int64, _ sql: (String) -> String) throws {
        let name = "\(Tombstones.prefix)\(id)"
        for (update, name) in [("UPDATE OR IGNORE", name), ("UPDATE", "\(name)-\(RandomName.uid())")] {
            let statement = try RawStatement(cached: sql(update), in: db)
            statement.bind(1, id)
            statement.bind(2, name)
            try statement.run()
            if db.changesCount > 0 { return }
        }
    }

    /// Removes identities of which all sinks have been notified since.
    mutating func removeNames(_ numbers: [Int64]) throws {
        var isRemoved = false
        for number in numbers {
            guard let facts = try VersionLookup.current(number, in: db), try !isAwaited(number, facts) else { continue }
            if try apart(number, { transaction in try transaction.removeName(number) }) != nil { isRemoved = true }
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
}

extension SinkRecord {
    /// Whether any notification of the sink may be pending.
    var isBehind: Bool { account.pending + account.retrying > 0 || isCounting }

    /// Whether the sink still has to be notified of a version.
    func isAwaiting(_ number: Int64, _ facts: VersionProperties, in db: Database) throws -> Bool {
        let row = try DeliveryRow.find(id, number, in: db)
        if let row, row.isOpen { return true }
        return row?.sequence != facts.sequence && facts.sequence > cursor && (implied > 0 || isCounting)
            && match.matches(facts)
    }
}
