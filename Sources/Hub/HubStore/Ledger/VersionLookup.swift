import GRDB

/// Look-ups of record versions for the ledger.
enum VersionLookup {
    /// The current version of a record; `nil` if no record has this number.
    static func current(_ number: Int64, in db: Database) throws -> VersionProperties? {
        try one(
            "SELECT seq, type, ifnull(person, 0), kind, retracted IS NOT NULL FROM sample WHERE number = ?1", number,
            in: db)
            ?? one(
                "SELECT seq, type, person, \(VersionProperties.day), retracted IS NOT NULL FROM day WHERE number = ?1",
                number, in: db)
    }

    /// A superseded version.
    static func superseded(_ number: Int64, _ sequence: Int64, in db: Database) throws -> VersionProperties? {
        try one(
            "SELECT seq, type, ifnull(person, 0), kind, retracted IS NOT NULL FROM sample_version WHERE number = ?1 AND seq = ?2",
            number, sequence, in: db)
            ?? one(
                "SELECT seq, type, person, \(VersionProperties.day), retracted IS NOT NULL FROM day_version WHERE number = ?1 AND seq = ?2",
                number, sequence, in: db)
    }

    private static func one(_ sql: String, _ number: Int64, _ sequence: Int64? = nil, in db: Database) throws
        -> VersionProperties?
    {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        statement.bind(2, sequence)
        guard try statement.step() else { return nil }
        return VersionProperties(
            sequence: statement.integer(0), type: statement.integer(1), person: statement.integer(2),
            kind: Int(statement.integer(3)), isRetraction: statement.integer(4) != 0)
    }

    /// Whether the target may have an unconfirmed record, because a version of it was handed out and never answered.
    ///
    /// The ledger does not store which versions were handed out: any version up to `offered` may have been. Retracting a record that the target
    /// never received is harmless. Leaving a retracted record at the target is not.
    /// - Parameter offered: versions up to this sequence number may have been handed out.
    static func mayHold(_ number: Int64, _ row: DeliveryRow?, _ sink: SinkRecord, offered: Int64, in db: Database)
        throws -> Bool
    {
        if let row, row.isOffered || row.mayHold { return true }
        var floor = sink.start
        if let row {
            // While a page is being read, a version that waited in its row may be handed out again.
            floor = max(floor, row.settled, row.attempts > 0 && offered != .max ? row.sequence : 0)
        }
        guard floor < offered else { return false }
        // Versions that a source sent beneath a person's edit or retraction were not handed out.
        for versions in ["sample_version WHERE covered IS NULL AND person IS NOT NULL", "day_version WHERE true"] {
            let statement = try RawStatement(
                cached: """
                    SELECT 1 FROM \(versions) AND number = ?1 AND seq > ?2 AND seq <= ?3 AND retracted IS NULL LIMIT 1
                    """, in: db)
            defer { statement.clear() }
            statement.bind(1, number)
            statement.bind(2, floor)
            statement.bind(3, offered)
            if try statement.step() { return true }
        }
        return false
    }
}
