import GRDB

/// Corrects the counters of a salvaged store: removes rows that refer to lost ones, and accounts for lost records.
///
/// Lost sequence numbers become gaps. The instances of lost records are unknown, so a separate account, ``lost``, subtracts them from the sums.
struct SalvageCorrections {
    let db: Database
    /// The last assigned sequence number, if known; otherwise 0.
    let head: Int64
    let now: Int64

    /// The account that subtracts lost records from the sums of the others.
    ///
    /// No instance can have this name.
    static let lost = "~lost"

    func balance(_ report: inout SalvageReport) throws {
        guard try Int64.fetchOne(db, sql: "SELECT count(*) FROM meta") == 1 else {
            throw StoreError(.corrupt, "the page with the hub's name is damaged: restore a backup")
        }
        let head = max(head, try claimedHead())
        try dropOrphans()
        try dropSinks(&report)
        let removed = try takeRemoved()
        try countVersions()
        try countStreams(&report)
        try markGaps(to: head, &report)
        try countAccounts(&report)
        report.lostRecords = max(0, report.lostRecords - removed.records)
        report.lostVersions = max(0, report.lostVersions - removed.versions)
        try countSinks(&report)
        try restoreTombstones()
        report.hasLostErasures = report.unreadable["erased"] != nil
    }

    /// Marks empty records as erased again if their row in `erased` is lost.
    ///
    /// Their identity at the source is no longer known.
    private func restoreTombstones() throws {
        for table in ["sample", "day"] {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO erased (number, identity, at, named)
                    SELECT number, NULL, recorded_at, 1 FROM \(table) WHERE retracted = 2 AND retraction_reason = ?
                    """, arguments: [Tombstones.reason])
        }
    }

    private func count(_ sql: String) throws -> Int64 { try Int64.fetchOne(db, sql: sql) ?? 0 }

    /// The last sequence number assigned according to all data in the store, because clients may have seen it.
    private func claimedHead() throws -> Int64 {
        try count(
            """
            SELECT max((\(SequenceHead.sql)), (SELECT ifnull(max(last_seq), 0) FROM stream), (SELECT ifnull(max(seq), 0) FROM departure),
                (SELECT ifnull(max(max("cursor", counted, counting_to, offered)), 0) FROM sink),
                (SELECT ifnull(max(seq), 0) FROM delivery))
            """)
    }

    /// Removes rows that refer to lost rows, until none is left.
    private func dropOrphans() throws {
        let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
        var references: [(table: String, column: String, parent: String, key: String)] = []
        for table in tables {
            for row in try Row.fetchAll(
                db, sql: #"SELECT "from", "table", ifnull("to", 'id') FROM pragma_foreign_key_list(?)"#,
                arguments: [table])
            {
                references.append((table, row[0], row[1], row[2]))
            }
        }
        var removed: Int
        repeat {
            removed = 0
            for (table, column, parent, key) in references {
                try db.execute(
                    sql: """
                        DELETE FROM \(table) WHERE \(column) IS NOT NULL
                            AND \(column) NOT IN (SELECT \(key) FROM \(parent))
                        """)
                removed += db.changesCount
            }
        } while removed > 0
        for table in ["payload", "ruling", "deed", "delivery"] {
            try db.execute(
                sql: """
                    DELETE FROM \(table) WHERE number NOT IN (SELECT number FROM sample)
                        AND number NOT IN (SELECT number FROM day)
                    """)
        }
        // The person and type of a record that a sink has to remove are only in the version that it left.
        try db.execute(
            sql: """
                DELETE FROM delivery WHERE due IS NOT NULL AND departed IS NOT NULL AND NOT EXISTS
                    (SELECT 1 FROM sample_version v WHERE v.number = delivery.number AND v.seq = delivery.departed)
                """)
    }

    /// Without its filter, a sink's cursor has no meaning, so the sink is removed.
    private func dropSinks(_ report: inout SalvageReport) throws {
        let names = try Row.fetchAll(
            db, sql: "SELECT id, instance, want FROM sink WHERE id NOT IN (SELECT sink FROM sink_era)")
        for row in names {
            for table in ["delivery", "sink_skip"] {
                try db.execute(sql: "DELETE FROM \(table) WHERE sink = ?", arguments: [row[0] as Int64])
            }
            try db.execute(sql: "DELETE FROM sink WHERE id = ?", arguments: [row[0] as Int64])
            report.lostSinks.append("\(SinkID(instance: row[1], want: row[2]))")
        }
    }

    /// The sequence numbers removed by retention are unknown.
    ///
    /// They become gaps like lost ones and are no longer counted.
    private func takeRemoved() throws -> (records: Int64, versions: Int64) {
        let removed = try Row.fetchOne(
            db, sql: "SELECT records, records + versions + departures FROM removed")
        try db.execute(sql: "DELETE FROM removed; INSERT INTO removed (id) VALUES (1)")
        return (removed?[0] ?? 0, removed?[1] ?? 0)
    }

    private func countVersions() throws {
        try db.execute(
            sql: """
                DELETE FROM revision;
                INSERT INTO revision (number, count) SELECT number, count(*) FROM sample_version GROUP BY number;
                INSERT INTO revision (number, count) SELECT number, count(*) FROM day_version GROUP BY number;
                UPDATE meta SET inbox = (\(StoreCounters.countedInbox)),
                    implausible = (\(StoreCounters.countedImplausible))
                """)
    }

    /// Recreates the streams from their versions, numbered from 1 without a gap as the hub numbers them, and reports the lost versions.
    private func countStreams(_ report: inout SalvageReport) throws {
        try db.execute(sql: "CREATE TEMP TABLE counted AS \(AccountCheck.countedStreams)")
        let lost = try Row.fetchAll(
            db,
            sql: """
                SELECT s.kind, (SELECT text FROM term WHERE id = s.type), (SELECT name FROM person WHERE id = s.person),
                    (SELECT text FROM term WHERE id = s.label), s.count - s.removed - ifnull(c.count, 0)
                FROM stream s LEFT JOIN counted c ON c.kind = s.kind AND c.type = ifnull(s.type, 0)
                    AND c.person = ifnull(s.person, 0) AND c.label = ifnull(s.label, 0)
                WHERE s.count - s.removed > ifnull(c.count, 0) ORDER BY 5 DESC LIMIT \(SalvageReport.most)
                """)
        let kinds = ["sample", "day", "retraction", "inbox"]
        report.topics = lost.map { row in
            SalvageReport.Topic(kind: kinds[row[0] as Int], type: row[1], person: row[2], label: row[3], lost: row[4])
        }
        try db.execute(
            sql: """
                CREATE TEMP TABLE known AS SELECT * FROM stream;
                DELETE FROM stream;
                INSERT INTO stream (kind, type, person, label, last_seq, count, longest)
                    SELECT c.kind, nullif(c.type, 0), nullif(c.person, 0), nullif(c.label, 0), c.last_seq, c.count,
                        ifnull((SELECT k.longest FROM known k WHERE k.kind = c.kind AND ifnull(k.type, 0) = c.type
                            AND ifnull(k.person, 0) = c.person AND ifnull(k.label, 0) = c.label),
                            (SELECT ifnull(max(duration), 0) FROM sample))
                    FROM counted c;
                DROP TABLE known; DROP TABLE counted
                """)
    }

    /// Marks every sequence number up to `head` that no row has as a gap.
    private func markGaps(to head: Int64, _ report: inout SalvageReport) throws {
        // One bit per sequence number: sorting the numbers would need a hundred times as much memory.
        var present = [UInt64](repeating: 0, count: Int(head / 64) + 1)
        func mark(_ sequences: ClosedRange<Int64>) {
            for sequence in sequences.clamped(to: 0...head) {
                present[Int(sequence / 64)] |= 1 << UInt64(sequence % 64)
            }
        }
        for table in ["sample", "sample_version", "day", "day_version", "departure"] {
            let rows = try Row.fetchCursor(db, sql: "SELECT seq FROM \(table)")
            while let row = try rows.next() { mark((row[0] as Int64)...(row[0] as Int64)) }
        }
        for row in try Row.fetchAll(db, sql: "SELECT first, last FROM gap WHERE last >= first") {
            mark(row[0]...row[1])
        }
        let epoch = try String.fetchOne(db, sql: "SELECT epoch FROM meta") ?? ""
        let reason = "pages of the store were damaged, and the undamaged records were salvaged"
        var first: Int64?
        for sequence in 1...head + 1 {
            let isThere = sequence > head || present[Int(sequence / 64)] & 1 << UInt64(sequence % 64) != 0
            if !isThere {
                first = first ?? sequence
            } else if let begin = first {
                try db.execute(
                    sql: "INSERT INTO gap (first, last, cause, epoch, at, reason) VALUES (?, ?, 'lost', ?, ?, ?)",
                    arguments: [begin, sequence - 1, epoch, now, reason])
                report.lostVersions += sequence - begin
                if report.lostSequences.count < SalvageReport.most { report.lostSequences.append(begin...sequence - 1) }
                first = nil
            }
        }
    }

    private func countAccounts(_ report: inout SalvageReport) throws {
        let claimed = try Row.fetchOne(
            db, sql: "SELECT ifnull(sum(stored), 0), ifnull(sum(versions), 0), ifnull(sum(retractions), 0) FROM account"
        )
        let counted = try AccountCheck.counted(in: db)
        let stored = counted.stored - (claimed?[0] ?? 0)
        let versions = counted.versions - (claimed?[1] ?? 0)
        let retractions = counted.retractions - (claimed?[2] ?? 0)
        report.lostRecords = max(0, -stored)
        guard stored != 0 || versions != 0 || retractions != 0 else { return }
        try db.execute(
            sql: """
                INSERT INTO account (instance, received, stored, versions, retractions, duplicates, rejected)
                VALUES (?1, ?2 + ?3 + ?4, ?2, ?3, ?4, 0, 0)
                ON CONFLICT (instance) DO UPDATE SET received = received + ?2 + ?3 + ?4, stored = stored + ?2,
                    versions = versions + ?3, retractions = retractions + ?4
                """, arguments: [SalvageCorrections.lost, stored, versions, retractions])
    }

    private func countSinks(_ report: inout SalvageReport) throws {
        let head = try count(SequenceHead.sql)
        for var sink in try SinkRecord.all(in: db) {
            func rows(_ states: String) throws -> Int64 {
                try count("SELECT count(*) FROM delivery WHERE sink = \(sink.id) AND state IN (\(states))")
            }
            let open = sink.marked + sink.account.retrying
            sink.marked = try rows("0")
            sink.account.pending = sink.marked + (try sink.pending(through: head, in: db))
            sink.account.retrying = try rows("1, 2")
            let lost = open - sink.marked - sink.account.retrying
            if lost > 0 { report.lostDeliveries["\(sink.name)"] = lost }
            sink.account.skipped = sink.skips.values.reduce(0, +)
            sink.account.wanted =
                sink.account.delivered + sink.account.pending + sink.account.retrying + sink.account.refused
                + sink.account.superseded + sink.account.skipped
            try sink.save(to: db)
        }
    }
}
