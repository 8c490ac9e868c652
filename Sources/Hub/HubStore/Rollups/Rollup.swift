import GRDB
import Samples

/// The stored figures of one person and type, and how they were computed.
struct Rollup: Hashable {
    /// The person and the type.
    struct Key: Hashable {
        var person: Int64
        var type: Int64
    }

    /// The terms by which a rollup was computed.
    ///
    /// It can answer only queries with the same terms.
    struct Terms: Hashable {
        var unit: Int64
        var style: AggregationStyle
        /// The version of the computation rules, then the order of the sources, one per line.
        var priority: String
        /// The offset of hours from whole hours of UTC, in minutes.
        var phase: Int64

        init(unit: Int64, _ style: AggregationStyle, _ priority: [String], phase: Int64) {
            (self.unit, self.style, self.phase) = (unit, style, phase)
            self.priority = ([Terms.rules] + priority).joined(separator: "\n")
        }

        /// Changes if the same samples give other figures.
        ///
        /// Rollups of earlier hubs have another text here, or none.
        private static let rules = "mirrors"

        /// The order of the sources; `nil` if the figures were computed by other rules.
        var sources: [String]? {
            let lines = priority.split(separator: "\n").map(String.init)
            return lines.first == Terms.rules ? Array(lines.dropFirst()) : nil
        }
    }

    let id: Int64
    let key: Key
    let terms: Terms
    /// For styles weighed by time: the maximum time after its start for which a sample counts, in microseconds.
    var hold: Int64
    /// The first day without stored figures.
    var through: Int64

    static let hour: Int64 = 3_600_000_000
    static let day = 24 * hour

    /// The day that contains an instant.
    func day(of time: Int64) -> Int64 { (time - phase).flooredDivision(by: Rollup.day) }

    /// The beginning of a day, in microseconds since 1970.
    func start(of day: Int64) -> Int64 { day * Rollup.day + phase }

    private var phase: Int64 { terms.phase * 60_000_000 }

    /// The row id of a day.
    ///
    /// Rows of one rollup are adjacent.
    func slot(_ day: Int64) -> Int64 { id << 24 + (day + 1 << 23) }

    /// The day of a row of this rollup.
    func day(ofSlot slot: Int64) -> Int64 { slot - id << 24 - 1 << 23 }

    /// The row ids that a rollup may have.
    static func slots(of id: Int64) -> ClosedRange<Int64> { (id << 24)...(id << 24 + 1 << 24 - 1) }

    /// The row ids of stored days.
    ///
    /// Rows after them are left from earlier and have to be removed.
    var keptSlots: Range<Int64> { Rollup.slots(of: id).lowerBound..<slot(through) }

    /// The days whose figures a sample may affect.
    func days(start: Int64, duration: Int64) -> ClosedRange<Int64> {
        let (first, last) = (day(of: start - hold), day(of: terms.style == .cumulative ? start + duration : start))
        return first...max(first, last)
    }
}

extension Rollup {
    private static let columns = "id, person, type, unit, style, priority, phase, hold, through"

    static func all(in db: Database) throws -> [Rollup] {
        try rows(RawStatement(new: "SELECT \(columns) FROM rollup WHERE not_valid IS NULL", in: db))
    }

    static func find(_ key: Key, in db: Database) throws -> Rollup? {
        let statement = try RawStatement(
            cached: "SELECT \(columns) FROM rollup WHERE person = ?1 AND type = ?2 AND not_valid IS NULL", in: db)
        statement.bind(1, key.person)
        statement.bind(2, key.type)
        return try rows(statement).first
    }

    /// A rollup that is no longer valid, or that has rows after its stored days, with the rows to remove.
    static func ended(in db: Database) throws -> (id: Int64, slots: ClosedRange<Int64>)? {
        if let id = try Int64.fetchOne(db, sql: "SELECT id FROM rollup WHERE not_valid IS NOT NULL LIMIT 1") {
            return (id, slots(of: id))
        }
        let behind = try RawStatement(cached: "SELECT 1 FROM rollup_day WHERE slot BETWEEN ?1 AND ?2", in: db)
        for rollup in try all(in: db) {
            defer { behind.clear() }
            let slots = rollup.keptSlots.upperBound...slots(of: rollup.id).upperBound
            behind.bind(1, slots.lowerBound)
            behind.bind(2, slots.upperBound)
            if try behind.step() { return (rollup.id, slots) }
        }
        return nil
    }

    /// Number of days removed in one transaction.
    private static let daysRemovedAtOnce = 200

    /// Removes some of the rows that are no longer valid.
    static func removeEnded(in db: Database) throws {
        guard let (id, slots) = try ended(in: db) else { return }
        try db.execute(
            sql: """
                DELETE FROM rollup_day WHERE slot IN (
                    SELECT slot FROM rollup_day WHERE slot BETWEEN ? AND ? LIMIT \(daysRemovedAtOnce))
                """, arguments: [slots.lowerBound, slots.upperBound])
        guard db.changesCount == 0 else { return }
        try db.execute(sql: "DELETE FROM rollup WHERE id = ? AND not_valid IS NOT NULL", arguments: [id])
    }

    private static func rows(_ statement: RawStatement) throws -> [Rollup] {
        defer { statement.clear() }
        var found: [Rollup] = []
        while try statement.step() {
            // A later hub may have written a style that this hub does not know.
            guard let style = statement.text(4).flatMap(AggregationStyle.init) else { continue }
            var terms = Terms(unit: statement.integer(3), style, [], phase: statement.integer(6))
            terms.priority = statement.text(5) ?? ""
            found.append(
                Rollup(
                    id: statement.integer(0), key: Key(person: statement.integer(1), type: statement.integer(2)),
                    terms: terms, hold: statement.integer(7), through: statement.integer(8)))
        }
        return found
    }
}
