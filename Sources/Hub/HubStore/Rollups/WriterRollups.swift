import GRDB
import Samples

/// The writer's state of rollups.
///
/// It tracks which days a transaction changes and invalidates their figures.
///
/// Most records are newer than the stored figures, or of a type without any. These cost one comparison.
struct WriterRollups {
    /// Days that are being computed while commits continue.
    struct Building {
        let rollup: Int64
        let key: Rollup.Key
        let days: Range<Int64>
        /// The first of these days changed since the computation began.
        var firstTouched = Int64.max
    }

    /// If a transaction changes more days of one person and type, it invalidates all figures from the first changed day on.
    ///
    /// For an import or a very long sample this costs less than invalidating day by day.
    static let most = 32

    private var rollups: [Rollup.Key: Rollup] = [:]
    private var building: Building?
    private var touched: [Rollup.Key: Set<Int64>] = [:]
    private var ended: Set<Int64> = []
    /// Rollups whose own rows have changed: `hold` or `through`.
    private var altered: Set<Rollup.Key> = []
    /// For the previous record: its key, the start before which it would affect stored figures, and its maximum duration.
    private var last: (key: Rollup.Key, before: Int64, hold: Int64)?

    init(from db: Database) throws {
        for rollup in try Rollup.all(in: db) { rollups[rollup.key] = rollup }
    }

    /// Invalidates the figures for the time of a sample that is new or has changed.
    mutating func touch(_ row: SampleRow, in db: Database) throws {
        guard row.sample.value.kind == .quantity, row.personID != 0 else { return }
        try touch(
            Rollup.Key(person: row.personID, type: row.typeID), start: row.sample.start.microseconds,
            duration: row.sample.end.microseconds - row.sample.start.microseconds, in: db)
    }

    /// The same for a sample of which only the key and time are known.
    mutating func touch(_ key: Rollup.Key, start: Int64, duration: Int64, in db: Database) throws {
        guard !rollups.isEmpty else { return }
        if let last, last.key == key, start >= last.before, duration <= last.hold { return }
        guard var rollup = rollups[key] else {
            last = (key, .min, .max)
            return
        }
        if rollup.terms.style.isWeighed, duration > rollup.hold {
            rollup.hold = min(duration, Tally.longestHold)
            rollups[key] = rollup
            altered.insert(key)
        }
        var days = rollup.days(start: start, duration: duration)
        var limit = rollup.through
        if let building, building.key == key { limit = max(limit, building.days.upperBound) }
        if rollup.terms.style == .cumulative, days.lowerBound < limit {
            days = rollup.days(start: start, duration: max(duration, try Self.longest(key, start: start, in: db)))
        }
        if let building, building.key == key {
            if days.overlaps(building.days) {
                self.building?.firstTouched = min(
                    building.firstTouched, max(days.lowerBound, building.days.lowerBound))
            }
        }
        let isWeighed = rollup.terms.style.isWeighed && rollup.hold < Tally.longestHold
        last = (key, rollup.start(of: limit) + rollup.hold, isWeighed ? rollup.hold : .max)
        guard days.lowerBound < rollup.through else { return }
        let kept = days.lowerBound..<min(days.upperBound + 1, rollup.through)
        if kept.count <= Self.most {
            touched[key, default: []].formUnion(kept)
            guard let days = touched[key], days.count > Self.most else { return }
        }
        rollup.through = min(kept.lowerBound, touched[key]?.min() ?? .max)
        rollups[key] = rollup
        touched[key] = nil
        altered.insert(key)
        // Storing the current computation would leave a gap before it.
        if building?.key == key { building = nil }
        last = nil
    }

    /// The longest duration of the samples with this start, any of which may decide which of them counts.
    private static func longest(_ key: Rollup.Key, start: Int64, in db: Database) throws -> Int64 {
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

    private mutating func end(_ rollup: Rollup) {
        rollups[rollup.key] = nil
        touched[rollup.key] = nil
        altered.remove(rollup.key)
        if building?.key == rollup.key { building = nil }
        ended.insert(rollup.id)
        last = nil
    }

    /// Writes the invalidations, in the transaction that caused them.
    mutating func save(to db: Database) throws {
        for id in ended {
            let end = try RawStatement(cached: "UPDATE rollup SET not_valid = 1 WHERE id = ?1", in: db)
            end.bind(1, id)
            try end.run()
        }
        for (key, days) in touched {
            guard let rollup = rollups[key] else { continue }
            for day in days.sorted() {
                let empty = try RawStatement(
                    cached: """
                        INSERT INTO rollup_day (slot) VALUES (?1)
                        ON CONFLICT (slot) DO UPDATE SET total = NULL, hours = NULL WHERE hours IS NOT NULL
                        """, in: db)
                empty.bind(1, rollup.slot(day))
                try empty.run()
            }
        }
        for key in altered {
            guard let rollup = rollups[key] else { continue }
            let update = try RawStatement(cached: "UPDATE rollup SET hold = ?2, through = ?3 WHERE id = ?1", in: db)
            update.bind(1, rollup.id)
            update.bind(2, rollup.hold)
            update.bind(3, rollup.through)
            try update.run()
        }
        (ended, touched, altered) = ([], [:], [])
    }

    // MARK: - Building

    /// Begins a rollup for a person and type, and ends an earlier one with other terms.
    mutating func begin(_ key: Rollup.Key, _ terms: Rollup.Terms, in db: Database) throws {
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
        let hold = terms.style.isWeighed ? longest : 0
        let through = Rollup(id: 0, key: key, terms: terms, hold: hold, through: 0).day(of: first)
        try db.execute(
            sql: """
                INSERT INTO rollup (person, type, unit, style, priority, phase, hold, through)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                key.person, key.type, terms.unit, terms.style.rawValue, terms.priority, terms.phase, hold, through,
            ])
        if let known = rollups[key] { end(known) }
        rollups[key] = Rollup(id: db.lastInsertedRowID, key: key, terms: terms, hold: hold, through: through)
        last = nil
    }

    /// Starts to track changes of these days.
    ///
    /// - Returns: `false` if the rollup no longer exists.
    mutating func build(_ rollup: Rollup, _ days: Range<Int64>) -> Bool {
        guard rollups[rollup.key]?.id == rollup.id else { return false }
        building = Building(rollup: rollup.id, key: rollup.key, days: days)
        last = nil
        return true
    }

    /// Ends the tracking, and stores the computed figures unless records of those days have changed since it began.
    mutating func keep(_ piece: RollupPiece, in db: Database) throws {
        defer { (building, last) = (nil, nil) }
        guard let building, building.rollup == piece.id, building.firstTouched >= piece.end,
            var rollup = rollups[building.key]
        else { return }
        rollup.through = max(rollup.through, piece.end)
        rollups[building.key] = rollup
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
}
