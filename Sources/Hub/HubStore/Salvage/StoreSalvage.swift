import GRDB
import Platform

/// Copies the undamaged part of a store into a new file, and reports the rest.
///
/// The damaged store is only read. `hub restore` accepts the new file, and all its counters are correct. The calls block.
public struct StoreSalvage: Sendable {
    public let path: String

    /// - Parameter path: the path of the damaged store.
    public init(_ path: String) { self.path = path }

    /// Writes the new file `target`, durably.
    ///
    /// - Parameters:
    ///   - target: must not exist; `nil` to only report, without a new file.
    ///   - now: microseconds since 1970.
    ///   - progress: the progress in rows; return `false` to end with `interrupted`.
    /// - Throws: `locked` while a hub has the store; `corrupt` if the file's first pages or the name of the hub are damaged, so that nothing can be
    ///   read.
    public func carryOut(
        to target: String?, now: Int64, progress: (CopyProgress) -> Bool = { _ in true }
    ) throws(StoreError) -> SalvageReport {
        let verb = "salvage \(path)"
        let lock = try StoreFiles.lock(path)
        defer { lock.release() }
        let draft = try DraftFile((target ?? path) + ".salvaging")
        do {
            let source = try open()
            defer { try? source.close() }
            let head = knownHead(source)
            let copy = try draft.openForCopy(withSums: true)
            var report = SalvageReport()
            try withoutActuallyEscaping(progress) { progress in
                // Do not use a transaction, because it would end at the first unreadable page.
                try source.unsafeRead { db in
                    report.damage = try PageChecksums.look(db, most: SalvageReport.most, isInUse: false).damage.map(
                        \.description)
                    let salvage = RowSalvage(source: db, head: head, progress: progress)
                    try copy.write { try $0.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)") }
                    try StoreSchema.migrator.migrate(copy)
                    try copy.writeWithoutTransaction { target in
                        try target.execute(sql: "PRAGMA foreign_keys = OFF")
                        try target.inTransaction(.immediate) {
                            let total = try salvage.copyAll(into: target)
                            (report.rows, report.unreadable) = (total.rows, total.breaks)
                            try SalvageCorrections(db: target, head: head, now: now).balance(&report)
                            return .commit
                        }
                    }
                }
            }
            try copy.close()
            try draft.makePlain()
            let faults = try StoreFile(draft.path).faults(.counters)
            guard faults.isEmpty else {
                throw StoreError(
                    .corrupt, "\(verb): the salvaged records do not add up (\(faults[0])); restore a backup")
            }
            report.store = try StoreFile(draft.path).summary()
            if let target { try draft.publish(as: target) }
            return report
        } catch {
            throw StoreError(error, doing: verb, path)
        }
    }

    /// The last sequence number of this store, not of one replaced by a restore; 0 if only the rows show it.
    private func knownHead(_ source: DatabaseQueue) -> Int64 {
        guard let record = try? SequenceReserve.read(of: path),
            let (hub, epoch) = try? source.read({ try StoreOpener.meta($0) })
        else { return 0 }
        return record.places.first { $0.hub == hub && $0.epoch == epoch }?.head ?? 0
    }

    private func open() throws -> DatabaseQueue {
        let queue = try StoreFile(path).open()
        try queue.read { db in
            guard try StoreSchema.migrator.hasCompletedMigrations(db) else {
                throw StoreError(
                    .foreign,
                    "open \(path): it is of an older hub; salvage it with the hub that wrote it, and update then")
            }
        }
        return queue
    }
}

/// The salvaged and the lost parts of a damaged store.
public struct SalvageReport: Codable, Hashable, Sendable {
    /// Lost versions of one feed topic.
    public struct Topic: Codable, Hashable, Sendable {
        /// `sample`, `day`, `retraction` or `inbox`.
        public var kind: String
        public var type: String?
        public var person: String?
        /// The plugin; for days the series.
        public var label: String?
        public var lost: Int64
    }

    /// The first damaged pages, one sentence each.
    public var damage: [String] = []
    /// The number of rows copied, of all tables.
    public var rows: Int64 = 0
    /// The tables with unreadable runs of rows, and the number of these runs.
    public var unreadable: [String: Int] = [:]
    /// The number of records lost completely, as far as the accounts of the damaged store are readable.
    public var lostRecords: Int64 = 0
    /// The number of lost record versions of all kinds, without those removed by retention.
    public var lostVersions: Int64 = 0
    /// The first lost sequence numbers, as `first...last`, including those removed by retention.
    public var lostSequences: [ClosedRange<Int64>] = []
    /// The topics of the lost versions, as far as they are known.
    public var topics: [Topic] = []
    /// Lost subscriptions.
    ///
    /// The state of their targets is no longer known, and they begin again.
    public var lostSinks: [String] = []
    /// The number of pending deliveries that were lost, by subscription.
    public var lostDeliveries: [String: Int64] = [:]
    /// Whether sources may send erased or removed records again, because part of the erasure list is lost.
    public var hasLostErasures = false
    /// A summary of the new file.
    public var store: StoreSummary?

    /// Maximum length of each list.
    static let most = 1_000
}

/// Copies the rows of all tables.
private struct RowSalvage {
    let source: Database
    /// The last assigned sequence number; 0 if unknown.
    let head: Int64
    let progress: (CopyProgress) -> Bool

    func copyAll(into target: Database) throws -> (rows: Int64, breaks: [String: Int]) {
        let tables = try String.fetchAll(
            target,
            sql: """
                SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                    -- Rollups are computed again from the remaining samples.
                    AND name NOT IN ('grdb_migrations', 'rollup', 'rollup_day') ORDER BY name
                """)
        let expected = try expectedRows()
        var (rows, breaks) = (0 as Int64, [String: Int]())
        for table in tables {
            // Remove the rows of an empty store.
            try target.execute(sql: "DELETE FROM \(table)")
            for reader in try readers(of: table) {
                let found = try copy(reader, into: target) {
                    rows += 1
                    if rows % 1_000 == 0, !progress(CopyProgress(done: min(rows, expected), total: expected)) {
                        throw StoreError(.interrupted, "salvage: ended before it was whole; nothing was changed")
                    }
                }
                if found > 0 { breaks[table, default: 0] += found }
            }
        }
        _ = progress(CopyProgress(done: expected, total: expected))
        return (rows, breaks)
    }

    private func copy(_ reader: SalvageTableReader, into target: Database, _ counting: () throws -> Void) throws -> Int
    {
        var insert: Statement?
        return try reader.read { row in
            let columns = Array(row.columnNames.dropFirst())
            let statement: Statement
            if let insert {
                statement = insert
            } else {
                let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
                let values = columns.map { _ in "?" }.joined(separator: ", ")
                // Rows that are read twice are equal.
                statement = try target.makeStatement(
                    sql: "INSERT OR IGNORE INTO \(reader.table) (\(names)) VALUES (\(values))")
                insert = statement
            }
            try statement.execute(arguments: StatementArguments(row.databaseValues.dropFirst()))
            if target.changesCount > 0 { try counting() }
        }
    }

    /// The readers for a table, by the order of its rows.
    ///
    /// For rows of sinks there is one reader per sink.
    private func readers(of table: String) throws -> [SalvageTableReader] {
        let keys = try Row.fetchAll(
            source, sql: "SELECT name, type FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [table]
        ).map { (name: $0[0] as String, isInteger: $0[1] as String == "INTEGER") }
        if keys.isEmpty { return [SalvageTableReader(db: source, table: table, key: "rowid")] }
        let order = keys.map { "\"\($0.name)\"" }
        if keys.count > 1, keys.allSatisfy(\.isInteger), keys[0].name == "sink" {
            var sinks: [Int64] = []
            _ = try SalvageTableReader(db: source, table: "sink", key: "id").read { sinks.append($0["id"]) }
            return sinks.map {
                SalvageTableReader(
                    db: source, table: table, key: order[1], bound: head > 0 ? head : 1 << 52,
                    scope: "\(order[0]) = \($0)")
            }
        }
        let isSequence = ["number", "seq"].contains(keys[0].name) && head > 0
        guard keys[0].isInteger else { return [SalvageTableReader(db: source, table: table, key: nil, order: order)] }
        return [
            SalvageTableReader(
                db: source, table: table, key: order[0], bound: isSequence ? head : 1 << 52,
                order: keys.count > 1 ? order : [])
        ]
    }

    /// The approximate number of rows, according to the accounts.
    private func expectedRows() throws -> Int64 {
        do {
            return try Int64.fetchOne(
                source, sql: "SELECT ifnull(sum(stored + versions + retractions), 0) FROM account") ?? 0
        } catch let error as DatabaseError where SalvageTableReader.isDamage(error) { return 0 }
    }
}
