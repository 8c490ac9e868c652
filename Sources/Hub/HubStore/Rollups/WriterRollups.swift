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
    private(set) var building: Building?
    private var touched: [Rollup.Key: Set<Int64>] = [:]
    private var ended: Set<Int64> = []
    /// Rollups whose own rows have changed: `hold` or `through`.
    private var altered: Set<Rollup.Key> = []
    /// For the previous record: its key, the start before which it would affect stored figures, and its maximum duration.
    private var last: (key: Rollup.Key, before: Int64, hold: Int64)?

    init() {}

    init(from db: Database) throws {
        for rollup in try Rollup.all(in: db) { rollups[rollup.key] = rollup }
    }

    /// Records that a sample was added or removed.
    ///
    /// - Parameter longest: the longest duration of the samples with the same start.
    mutating func touch(
        _ key: Rollup.Key, start: Int64, duration: Int64, longest: () throws -> Int64
    ) rethrows {
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
            days = rollup.days(start: start, duration: max(duration, try longest()))
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

    /// Begins a rollup and ends an earlier one of the same person and type.
    mutating func begin(_ rollup: Rollup) {
        if let known = rollups[rollup.key] { end(known) }
        rollups[rollup.key] = rollup
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

    /// Ends the tracking.
    ///
    /// - Parameter through: the first day that was not computed.
    /// - Returns: the rollup, if the computed figures are still valid.
    mutating func finish(_ id: Int64, through: Int64) -> Rollup? {
        defer { (building, last) = (nil, nil) }
        guard let building, building.rollup == id, building.firstTouched >= through, var rollup = rollups[building.key]
        else { return nil }
        rollup.through = max(rollup.through, through)
        rollups[building.key] = rollup
        return rollup
    }
}
