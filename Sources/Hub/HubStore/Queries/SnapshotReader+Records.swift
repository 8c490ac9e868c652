import GRDB
import Samples

/// Reading single records.
extension SnapshotReader {
    func records(numbers: [Int64]) throws -> [StoredRecord] {
        try numbers.compactMap { number in
            if let row = try current(SampleRow.byNumber, number, SampleRow.init) { return row.stored }
            return try current(DayRow.byNumber, number, DayRow.init)?.stored
        }
    }

    func record(_ identity: RecordIdentity) throws -> StoredRecord? {
        switch identity {
        case .sample(let source, let key):
            let sql = """
                SELECT number FROM sample WHERE key = ?4 AND source =
                    (SELECT id FROM source WHERE plugin = ?1 AND ifnull(device, 0) = ifnull(?2, 0) AND ifnull(account, 0) = ifnull(?3, 0))
                """
            let statement = try RawStatement(cached: sql, in: db)
            defer { statement.clear() }
            statement.bind(1, source.plugin)
            statement.bind(2, source.device)
            statement.bind(3, source.account)
            statement.bind(4, key.text)
            return try statement.step() ? try records(numbers: [statement.integer(0)]).first : nil
        case .day(let person, let type, let series, let date):
            guard let person = try Filter.person(person, in: db) else { return nil }
            let sql = """
                SELECT number FROM day WHERE person = ?1 AND date = ?2
                    AND type = (SELECT id FROM term WHERE text = ?3) AND series = (SELECT id FROM term WHERE text = ?4)
                """
            let statement = try RawStatement(cached: sql, in: db)
            defer { statement.clear() }
            statement.bind(1, person)
            statement.bind(2, Int64(date.daysSinceEpoch))
            statement.bind(3, type.rawValue)
            statement.bind(4, series)
            return try statement.step() ? try records(numbers: [statement.integer(0)]).first : nil
        }
    }

    func current<Row>(
        _ sql: String, _ number: Int64, _ make: (RawStatement, TermCache, Database) throws -> Row
    ) throws -> Row? {
        let statement = try RawStatement(cached: sql, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step() ? try make(statement, termCache, db) : nil
    }
}
