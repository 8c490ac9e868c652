import GRDB
import Samples

extension WriteTransaction {
    /// Begins a rollup for a person and type, and invalidates an earlier one with other terms.
    mutating func begin(_ key: Rollup.Key, _ terms: Rollup.Terms) throws {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT (SELECT min(start) FROM sample INDEXED BY sample_history WHERE person = ?1 AND type = ?2),
                    (SELECT max(longest) FROM stream WHERE kind = 0 AND person = ?1 AND type = ?2)
                """, arguments: [key.person, key.type])
        guard let first = row?[0] as Int64? else { return }
        let longest = min(max(row?[1] ?? 0, Tally.holdTime), Tally.longestHold)
        try db.execute(
            sql: "UPDATE rollup SET not_valid = 1 WHERE person = ? AND type = ? AND not_valid IS NULL",
            arguments: [key.person, key.type])
        var rollup = Rollup(
            id: 0, key: key, terms: terms, hold: terms.style.isWeighed ? longest : 0, through: 0)
        rollup.through = rollup.day(of: first)
        try db.execute(
            sql: """
                INSERT INTO rollup (person, type, unit, style, priority, phase, hold, through)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                key.person, key.type, terms.unit, terms.style.rawValue, terms.priority, terms.phase, rollup.hold,
                rollup.through,
            ])
        caches.rollups.begin(
            Rollup(id: db.lastInsertedRowID, key: key, terms: terms, hold: rollup.hold, through: rollup.through))
    }

    /// Stores computed figures, unless records of those days have changed since the computation began.
    mutating func keep(_ piece: RollupPiece) throws {
        guard let rollup = caches.rollups.finish(piece.id, through: piece.end) else { return }
        try db.execute(
            sql: "DELETE FROM rollup_day WHERE slot >= ? AND slot < ?",
            arguments: [rollup.slot(piece.begin), rollup.slot(piece.end)])
        for (day, figures) in piece.days {
            let put = try RawStatement(
                cached: "INSERT INTO rollup_day (slot, total, hours) VALUES (?1, ?2, ?3)", in: db)
            put.bind(1, rollup.slot(day))
            put.bind(2, figures.total)
            put.bind(3, figures.hours)
            try put.run()
        }
        let update = try RawStatement(cached: "UPDATE rollup SET through = ?2 WHERE id = ?1", in: db)
        update.bind(1, rollup.id)
        update.bind(2, rollup.through)
        try update.run()
    }

    /// Number of days removed in one transaction.
    private static let daysRemovedAtOnce = 200

    func removeEnded() throws {
        guard let (id, slots) = try Rollup.ended(in: db) else { return }
        try db.execute(
            sql: """
                DELETE FROM rollup_day WHERE slot IN (
                    SELECT slot FROM rollup_day WHERE slot BETWEEN ? AND ? LIMIT \(Self.daysRemovedAtOnce))
                """, arguments: [slots.lowerBound, slots.upperBound])
        guard db.changesCount == 0 else { return }
        try db.execute(sql: "DELETE FROM rollup WHERE id = ? AND not_valid IS NOT NULL", arguments: [id])
    }

    /// Invalidates the figures for the time of a sample that is new or has changed.
    mutating func touchRollups(of row: SampleRow) throws {
        guard row.sample.value.kind == .quantity, row.personID != 0 else { return }
        try touchRollups(
            Rollup.Key(person: row.personID, type: row.typeID), start: row.sample.start.microseconds,
            duration: row.sample.end.microseconds - row.sample.start.microseconds)
    }

    /// The same for a sample of which only the key and time are known.
    mutating func touchRollups(_ key: Rollup.Key, start: Int64, duration: Int64) throws {
        let db = self.db
        try caches.rollups.touch(key, start: start, duration: duration) {
            // This sample may decide which of the samples with the same start counts.
            let longest = try RawStatement(
                cached: """
                    SELECT max(duration) FROM sample INDEXED BY sample_history WHERE person = ?1 AND type = ?2 AND start = ?3
                    """, in: db)
            defer { longest.clear() }
            longest.bind(1, key.person)
            longest.bind(2, key.type)
            longest.bind(3, start)
            return try longest.step() ? longest.integer(0) : 0
        }
    }
}
