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
