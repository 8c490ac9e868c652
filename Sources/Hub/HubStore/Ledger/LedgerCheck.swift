import GRDB

/// Recomputes the accounts of the sinks from the rows.
///
/// It reads every row after the cursors.
enum LedgerCheck {
    static func discrepancies(in db: Database) throws -> [String] {
        var found: [String] = []
        let head = try SequenceHead.read(in: db)
        for sink in try SinkRecord.all(in: db) {
            func expect(_ what: String, _ claimed: Int64, _ counted: Int64) {
                if claimed != counted {
                    found.append("sink \(sink.name), \(what): the account says \(claimed), the records \(counted)")
                }
            }
            func rows(_ condition: String) throws -> Int64 {
                let sql = "SELECT count(*) FROM delivery WHERE sink = ? AND \(condition)"
                return try Int64.fetchOne(db, sql: sql, arguments: [sink.id]) ?? 0
            }
            let account = sink.account
            expect(
                "wanted", account.wanted,
                account.delivered + account.pending + account.retrying + account.refused + account.superseded
                    + account.skipped)
            expect("pending after the cursor", sink.implied, try sink.pending(through: head, in: db))
            expect("pending with a row", sink.marked, try rows("state = 0"))
            expect("retrying", account.retrying, try rows("state IN (1, 2)"))
            expect("skipped by reason", account.skipped, sink.skips.values.reduce(0, +))
            // Rows hold only the last state of each record.
            let (refused, skipped) = (try rows("state = 5"), try rows("state = 6"))
            if account.refused < refused || account.skipped < skipped {
                found.append("sink \(sink.name): more records are refused or skipped than the account says")
            }
            let stray = try rows(
                """
                due IS NOT NULL AND seq <> ifnull((SELECT seq FROM sample s WHERE s.number = delivery.number),
                    (SELECT seq FROM day y WHERE y.number = delivery.number))
                """)
            if stray > 0 { found.append("sink \(sink.name): \(stray) rows wait for versions that are not current") }
        }
        return found
    }
}
