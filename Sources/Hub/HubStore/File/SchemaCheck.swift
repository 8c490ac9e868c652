import GRDB

/// Checks that a store has exactly the tables, indices, triggers and views that this program creates.
///
/// Added parts would take effect when the store is used. For example, a trigger added to a backup could keep copies of erased records.
enum SchemaCheck {
    private struct Part: Hashable {
        var kind: String
        var name: String
        var table: String
        /// The SQL without comments and line breaks.
        var sql: String
    }

    /// The differences, one sentence each.
    static func discrepancies(in db: Database) throws -> [String] {
        let applied = try StoreSchema.migrator.appliedIdentifiers(db)
        // A file that is not upgraded yet is compared with a store of the same older format.
        guard let last = StoreSchema.migrator.migrations.last(where: applied.contains) else {
            return ["schema: no step of the store's format was applied"]
        }
        let model = try DatabaseQueue()
        defer { try? model.close() }
        try StoreSchema.migrator.migrate(model, upTo: last)
        let (found, expected) = (try parts(in: db), try model.read(parts))
        let known = Dictionary(expected.map { ($0.name, $0) }) { first, _ in first }
        let names = Set(found.map(\.name))
        return found.filter { !expected.contains($0) }.map { part in
            known[part.name] == nil
                ? "schema: the \(part.kind) \(part.name) is not of this program"
                : "schema: the \(part.kind) \(part.name) differs from that of this program"
        }.sorted()
            + expected.filter { !names.contains($0.name) }.map { "schema: the \($0.kind) \($0.name) is missing" }
            .sorted()
    }

    private static func parts(in db: Database) throws -> Set<Part> {
        let rows = try Row.fetchAll(db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema")
        return Set(
            rows.compactMap { row in
                let (kind, name): (String, String) = (row[0], row[1])
                // SQLite's own: indices of keys, counters of AUTOINCREMENT, and statistics of ANALYZE.
                let isOwn =
                    name.hasPrefix("sqlite_") && (kind == "index" && row[3] == nil as String? || kind == "table")
                return isOwn ? nil : Part(kind: kind, name: name, table: row[2], sql: plain(row[3] ?? ""))
            })
    }

    private static func plain(_ sql: String) -> String {
        sql.split(separator: "\n", omittingEmptySubsequences: true).map { line in
            line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line
        }.joined(separator: " ").split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
}
