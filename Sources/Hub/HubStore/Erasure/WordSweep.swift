import GRDB
import Samples

/// Searches, in pieces, which words and sources of erased records are also used by other records.
///
/// No index lists the records that use a word. Nearly every word is found in the first rows; for the others, all rows are read once.
struct WordSweep {
    private(set) var words: Set<Int64>
    private(set) var sources: Set<Int64>
    private var table = 0
    private var place: (number: Int64, sequence: Int64) = (0, 0)

    /// The number of rows in a piece.
    private static let piece = 10_000

    private struct Table {
        let name: String
        /// The first column is the source.
        let columns: [String]
    }
    private static let sampleWords = [
        "source", "type", "unit", "original_unit", "zone", "name", "method", "method_version", "origin", "unassigned",
        "profile_of", "shared_metadata",
    ]
    private static let dayWords = ["source", "type", "series", "unit", "original_unit", "method", "zone"]
    private static let tables = [
        Table(name: "sample", columns: sampleWords), Table(name: "sample_version", columns: sampleWords),
        Table(name: "day", columns: dayWords), Table(name: "day_version", columns: dayWords),
    ]

    init(from db: Database) throws {
        words = Set(try Int64.fetchAll(db, sql: "SELECT id FROM erasure_word"))
        sources = Set(try Int64.fetchAll(db, sql: "SELECT id FROM erasure_source"))
        try keepTopics(in: db)
    }

    /// Keeps words that name topics: types, series and plugins, and the hub's own word.
    private mutating func keepTopics(in db: Database) throws {
        words.subtract(
            try Int64.fetchAll(
                db,
                sql: """
                    SELECT type FROM stream WHERE type IS NOT NULL UNION SELECT label FROM stream WHERE label IS NOT NULL
                    UNION SELECT type FROM departure UNION SELECT id FROM term WHERE text = '\(Tombstones.reason)'
                    """))
        let filters = try SinkRecord.all(in: db).flatMap { $0.eras.map(\.filter) }
        for type in filters.flatMap({ ($0.types ?? []).union($0.exceptTypes) }) {
            if let id = try Filter.term(type.rawValue, in: db) { words.remove(id) }
        }
    }

    /// Whether all rows have been read, or all words and sources were found.
    var isOver: Bool { table == WordSweep.tables.count || words.isEmpty && sources.isEmpty }

    /// Reads the next piece.
    mutating func look(in db: Database) throws {
        let current = WordSweep.tables[table]
        let statement = try RawStatement(
            cached: """
                SELECT number, seq, \(current.columns.joined(separator: ", ")) FROM \(current.name)
                WHERE \(current.name.hasSuffix("_version") ? "(number, seq) > (?1, ?2)" : "number > ?1")
                ORDER BY number\(current.name.hasSuffix("_version") ? ", seq" : "") LIMIT \(WordSweep.piece)
                """, in: db)
        defer { statement.clear() }
        statement.bind(1, place.number)
        if current.name.hasSuffix("_version") { statement.bind(2, place.sequence) }
        var count = 0
        while try statement.step() {
            count += 1
            place = (statement.integer(0), statement.integer(1))
            try take(statement, current, db)
        }
        if count < WordSweep.piece { (table, place) = (table + 1, (0, 0)) }
    }

    /// Reads rows stored after a sequence number: records, their versions, and new topics.
    mutating func look(after head: Int64, in db: Database) throws {
        try keepTopics(in: db)
        for table in WordSweep.tables {
            let columns = "number, seq, \(table.columns.joined(separator: ", "))"
            var ranges = ["number > ?1", "seq <> number AND seq > ?1"]
            if table.name.hasSuffix("_version") {
                // Versions that a record got and lost since then.
                let current = table.name.dropLast("_version".count)
                let changed = ranges.map { "SELECT number FROM \(current) WHERE \($0)" }.joined(
                    separator: " UNION ALL ")
                ranges = ["seq > ?1 AND number IN (\(changed))"]
                if table.name == "sample_version" { ranges.append("covered IS NOT NULL AND seq > ?1") }
            }
            for range in ranges {
                let statement = try RawStatement(
                    cached: "SELECT \(columns) FROM \(table.name) WHERE \(range)", in: db)
                defer { statement.clear() }
                statement.bind(1, head)
                while try statement.step() { try take(statement, table, db) }
            }
        }
    }

    private mutating func take(_ row: RawStatement, _ table: Table, _ db: Database) throws {
        for index in 1..<table.columns.count {
            if let word = row.optionalInteger(Int32(index + 2)) { words.remove(word) }
        }
        let source = row.integer(2)
        guard sources.contains(source) else { return }
        let erased = "SELECT 1 FROM erased WHERE number = ?1 AND named IS NULL"
        if try RawStatement.integer(erased, row.integer(0), in: db) == nil { sources.remove(source) }
    }

    // MARK: - Removing

    /// Removes some words and sources that no record uses; returns whether there are more.
    ///
    /// - Parameter head: the sequence number up to which the sweep has read.
    func removeUnused(after head: Int64, in transaction: inout WriteTransaction) throws -> Bool {
        let db = transaction.db
        guard try Int64.fetchOne(db, sql: "SELECT stage FROM erasure") == 2 else { return false }
        // The stored priority of sources contains their names.
        try db.execute(
            sql:
                "UPDATE rollup SET not_valid = 1 WHERE instr(priority, char(10)) > 0 AND EXISTS (SELECT 1 FROM erasure_source)"
        )
        var sweep = self
        try sweep.look(after: head, in: db)
        var isMore = false
        for (table, unused) in [("erasure_word", sweep.words), ("erasure_source", sweep.sources)] {
            let ids = try Int64.fetchAll(db, sql: "SELECT id FROM \(table) LIMIT 1000")
            isMore = isMore || ids.count == 1_000
            for id in ids {
                if unused.contains(id) { try Self.forget(id, table, in: db) }
                try RawStatement.run("DELETE FROM \(table) WHERE id = ?1", id, in: db)
            }
        }
        transaction.forgetsWords = true
        if isMore { return true }
        let named = "SELECT number FROM erased WHERE named = 1"
        let kept = "person = p.id AND number NOT IN (SELECT number FROM erased)"
        for person in try Int64.fetchAll(
            db,
            sql: """
                SELECT id FROM person p WHERE erased = 1 AND name NOT LIKE '\(Tombstones.prefix)%'
                    AND NOT EXISTS (SELECT 1 FROM sample WHERE number IN (\(named)) AND person = p.id)
                    AND NOT EXISTS (SELECT 1 FROM day WHERE number IN (\(named)) AND person = p.id)
                    AND NOT EXISTS (SELECT 1 FROM sample WHERE \(kept)) AND NOT EXISTS (SELECT 1 FROM day WHERE \(kept))
                """)
        {
            try Tombstones.giveName(person, in: db) { update in "\(update) person SET name = ?2 WHERE id = ?1" }
            try db.execute(sql: "UPDATE person SET uid = ? WHERE id = ?", arguments: [RandomName.uid(), person])
        }
        try db.execute(sql: "UPDATE erasure SET stage = 3")
        return false
    }

    /// Keeps the row without its text.
    ///
    /// If the id were reused for another word, caches would still map it to this one.
    private static func forget(_ id: Int64, _ table: String, in db: Database) throws {
        try Tombstones.giveName(id, in: db) { update in
            table == "erasure_word"
                ? "\(update) term SET text = ?2 WHERE id = ?1"
                : """
                \(update) source SET device = CASE WHEN device IS NOT NULL THEN ?2 END,
                    account = CASE WHEN account IS NOT NULL THEN ?2 END WHERE id = ?1
                """
        }
    }
}
