import GRDB
import Samples

/// What erased records are called, which sinks must be told by.
extension WriteTransaction {
    /// Whether a sink is still to be told of a version.
    func isAwaited(_ number: Int64, _ facts: VersionFacts) throws -> Bool {
        try caches.ledger.sinks.contains { sink in try sink.isAwaiting(number, facts, in: db) }
    }

    /// Takes the identity of an erased record away, and what targets have called it.
    mutating func removeName(_ number: Int64) throws {
        try forgetReasons(number)
        try run("UPDATE delivery SET receipt = NULL WHERE sink IN (SELECT id FROM sink) AND number = ?1", number)
        try giveName(number) { update in "\(update) sample SET key = ?2 WHERE number = ?1" }
        let key = "(SELECT key FROM sample WHERE number = ?1)"
        try run("UPDATE sample_version SET key = \(key) WHERE number = ?1", number)
        // A day has to have some date that no other of its series has: of the years before 1000, which no device tells.
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

    /// Takes away what sinks have said of a record: words that may quote it.
    mutating func forgetReasons(_ number: Int64) throws {
        for index in caches.ledger.sinks.indices {
            let row = try DeliveryRow.find(caches.ledger.sinks[index].id, number, in: db)
            // What went wrong last may have been this record.
            if row?.reason != nil { caches.ledger.change(index) { $0.lastFailure = nil } }
        }
        try run(
            """
            UPDATE delivery SET reason = CASE state WHEN \(DeliveryRow.State.skipped.rawValue) THEN reason END
            WHERE sink IN (SELECT id FROM sink) AND number = ?1
            """, number)
    }

    /// Gives a row the name of what was erased, or where another has that, as in a store of an earlier hub, one with random letters.
    ///
    /// - Parameter sql: the statement that does it: of an update, the row's id and the name.
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

    /// Takes away identities by which sinks have been told since.
    mutating func removeNames(_ numbers: [Int64]) throws {
        var isRemoved = false
        for number in numbers {
            guard let facts = try Facts.current(number, in: db), try !isAwaited(number, facts) else { continue }
            if try apart(number, { transaction in try transaction.removeName(number) }) != nil { isRemoved = true }
        }
        guard isRemoved else { return }
        // What the log and other pages still hold of them goes as it did with their records.
        // An erasure that is past its words looks for them again.
        try db.execute(
            sql: """
                INSERT INTO erasure (id, stage, copies, total) VALUES (1, 2, 0, 0)
                ON CONFLICT (id) DO UPDATE SET stage = 2 WHERE stage = 3
                """)
    }
}

extension SinkRecord {
    /// Whether it may still be to be told of something.
    var isBehind: Bool { account.pending + account.retrying > 0 || isCounting }

    /// Whether it is still to be told of a version.
    func isAwaiting(_ number: Int64, _ facts: VersionFacts, in db: Database) throws -> Bool {
        let row = try DeliveryRow.find(id, number, in: db)
        if let row, row.isOpen { return true }
        return row?.sequence != facts.sequence && facts.sequence > cursor && (implied > 0 || isCounting)
            && match.matches(facts)
    }
}
