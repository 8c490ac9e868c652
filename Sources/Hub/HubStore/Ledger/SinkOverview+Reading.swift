import GRDB
import Samples

extension SinkOverview {
    static func all(in db: Database) throws -> [SinkOverview] {
        let head = try SequenceHead.read(in: db)
        let epoch = try StoreOpener.meta(db).epoch
        return try SinkRecord.all(at: head, in: db).map { sink in
            SinkOverview(
                state: sink.state(epoch: epoch), terms: sink.terms, openedAt: sink.openedAt,
                isCounting: sink.isCounting, lag: head - sink.cursor,
                oldestPending: try oldest(sink, head, db),
                nextRetry: try Int64.fetchOne(
                    db, sql: "SELECT min(due) FROM delivery WHERE sink = ? AND due > ?",
                    arguments: [sink.id, DeliveryRow.atOnce]),
                lastDelivered: sink.lastDelivered, lastFailure: sink.lastFailure, skips: sink.skips)
        }
    }

    /// When the oldest open version was stored.
    ///
    /// The first waiting version is near the cursor, because without waiting versions the cursor is at the head. If a narrow filter excludes very
    /// many
    /// versions before it, the search gives up and ignores it.
    private static func oldest(_ sink: SinkRecord, _ head: Int64, _ db: Database) throws -> Int64? {
        var times: [Int64] = []
        if sink.marked + sink.account.retrying > 0 {
            let sql = """
                SELECT min(ifnull((SELECT recorded_at FROM sample s WHERE s.number = d.number),
                    (SELECT recorded_at FROM day y WHERE y.number = d.number)))
                FROM (SELECT number FROM delivery WHERE sink = ? AND due IS NOT NULL ORDER BY due LIMIT 1000) d
                """
            if let time = try Int64.fetchOne(db, sql: sql, arguments: [sink.id]) { times.append(time) }
        }
        var after = sink.cursor
        while sink.implied > 0, after < min(head, sink.cursor + 4 * SinkReader.window) {
            let end = min(after + SinkReader.window, head)
            let found = try sink.match.runs(after: after, through: end).compactMap { run in
                try Int64.fetchOne(
                    db,
                    sql: """
                        SELECT recorded_at FROM \(run.table.name) r \(run.index)
                        WHERE \(run.conditions.joined(separator: " AND "))
                            AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.sink = \(sink.id) AND d.number = r.number AND d.seq = r.seq)
                        ORDER BY \(run.sort ?? "seq") LIMIT 1
                        """)
            }
            if !found.isEmpty {
                times += found
                break
            }
            after = end
        }
        return times.min()
    }
}

extension SinkDelivery {
    /// The state of a record at every sink that it concerns, sorted by the sink's name.
    ///
    /// - Parameter sinks: all sinks with their cursors at the head.
    static func all(of number: Int64, _ sinks: [SinkRecord], in db: Database) throws -> [SinkDelivery] {
        guard let current = try VersionLookup.current(number, in: db) else { return [] }
        return try sinks.compactMap { sink in
            SinkDelivery(sink, current, try DeliveryRow.find(sink.id, number, in: db))
        }
    }

    private init?(_ sink: SinkRecord, _ current: VersionProperties, _ row: DeliveryRow?) {
        self.init(sink: sink.name, state: .pending, sequence: current.sequence, attempts: 0)
        if let delivered = row?.delivered {
            receipt = Receipt(sequence: delivered, receipt: row?.receipt, at: row?.deliveredAt)
        }
        if row?.sequence != current.sequence {
            if current.sequence > sink.cursor, sink.match.matches(current) { return }
            if row == nil {
                guard sink.hasPassed(current) else { return nil }
                state = .delivered
                receipt = Receipt(sequence: current.sequence)
                return
            }
        }
        // The row has the last state: of this version or, if the sink does not want this version, of an older one.
        guard let row else { return nil }
        (sequence, at, attempts) = (row.sequence, row.at, row.attempts)
        let reason = row.reason ?? ""
        state =
            switch row.state {
            case .pending: .pending
            case .retry: .retrying(at: row.due ?? 0, reason: reason)
            case .unauthorized: .unauthorized(reason: reason)
            case .delivered, .early: .delivered
            case .refused: .refused(reason: reason)
            case .skipped: .skipped(Int64(reason).flatMap(SkipReason.init) ?? .filter)
            case .superseded: .superseded
            }
    }
}
