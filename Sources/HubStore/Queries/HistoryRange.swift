import GRDB
import Samples

/// A part of a history index that holds rows: samples of one person and type, or days of one person, type and series.
struct HistoryRange {
    /// The SQL that chooses it.
    let condition: String
    /// The longest sample in it, in microseconds.
    let longest: Int64

    /// The ranges of `sample_history` that a query concerns, by type, then person.
    static func samples(_ filter: Filter, in db: Database) throws -> [HistoryRange] {
        if filter.wantsRetractions { return try indexed(filter, in: db) }
        let sql = """
            SELECT ifnull(person, 0), type, max(longest) FROM stream WHERE kind = 0 GROUP BY 1, 2 ORDER BY type, person
            """
        return try Row.fetchAll(db, sql: sql).compactMap { row in
            let (person, type): (Int64, Int64) = (row[0], row[1])
            guard filter.types?.contains(type) ?? true, filter.persons?.contains(person) ?? true else { return nil }
            let whose = person == 0 ? "person IS NULL" : "person = \(person)"
            return HistoryRange(condition: "\(whose) AND type = \(type)", longest: row[2])
        }
    }

    /// The same, looked up in the index itself: no stream tells of a sample that was assigned again while it was retracted.
    private static func indexed(_ filter: Filter, in db: Database) throws -> [HistoryRange] {
        let lengths = try Row.fetchAll(db, sql: "SELECT type, max(longest) FROM stream WHERE kind = 0 GROUP BY type")
        let longest = Dictionary(lengths.map { ($0[0] as Int64, $0[1] as Int64) }, uniquingKeysWith: max)
        let everyone = [0] + (try Int64.fetchAll(db, sql: "SELECT id FROM person"))
        let next = try db.makeStatement(
            sql: "SELECT min(type) FROM sample INDEXED BY sample_history WHERE person IS ? AND type > ?")
        var ranges: [(person: Int64, type: Int64)] = []
        for person in everyone where filter.persons?.contains(person) ?? true {
            var last: Int64 = 0
            while let type = try Int64.fetchOne(next, arguments: [person == 0 ? nil : person, last]) {
                if filter.types?.contains(type) ?? true { ranges.append((person, type)) }
                last = type
            }
        }
        return ranges.sorted { ($0.type, $0.person) < ($1.type, $1.person) }.map { person, type in
            let whose = person == 0 ? "person IS NULL" : "person = \(person)"
            return HistoryRange(condition: "\(whose) AND type = \(type)", longest: longest[type] ?? 0)
        }
    }

    /// The ranges of `day_identity` that a query concerns.
    static func days(_ filter: Filter, in db: Database) throws -> [HistoryRange] {
        let sql = "SELECT person, type, label FROM stream WHERE kind = 1 ORDER BY type, person, label"
        return try Row.fetchAll(db, sql: sql).compactMap { row in
            let (person, type, series): (Int64, Int64, Int64) = (row[0], row[1], row[2])
            guard filter.types?.contains(type) ?? true, filter.persons?.contains(person) ?? true else { return nil }
            return HistoryRange(condition: "person = \(person) AND type = \(type) AND series = \(series)", longest: 0)
        }
    }
}
