import GRDB

/// The table `revision`: the number of superseded versions of each record, including those hidden by manual changes.
enum VersionCount {
    static func of(_ number: Int64, in db: Database) throws -> Int64 {
        try RawStatement.integer("SELECT count FROM revision WHERE number = ?1", number, in: db) ?? 0
    }

    /// Counts another superseded version of a record.
    static func add(_ number: Int64, in db: Database) throws {
        let sql = """
            INSERT INTO revision (number, count) VALUES (?1, 1) ON CONFLICT (number) DO UPDATE SET count = count + 1
            """
        try RawStatement.run(sql, number, in: db)
    }
}
