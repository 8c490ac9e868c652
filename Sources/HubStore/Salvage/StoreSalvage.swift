import Files
import GRDB

/// Takes what is whole of a damaged store into a new file, and says what is not.
///
/// The damaged store is only read. The new file is one that `hub restore` takes, with all its counters right. The calls block.
public struct StoreSalvage: Sendable {
    public let path: String

    /// - Parameter path: of the damaged store.
    public init(_ path: String) { self.path = path }

    /// Writes the new file `target`, durably.
    ///
    /// - Parameters:
    ///   - target: must not exist; `nil` to write none, and only say what there is.
    ///   - now: microseconds since 1970.
    ///   - progress: in rows; `false` ends it with `interrupted`.
    /// - Throws: `locked` while a hub has the store; `corrupt` where so much is damaged that nothing can be told from it: the file's first pages, or the name of the hub.
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
                // No transaction: one ends with the first page that cannot be read.
                try source.unsafeRead { db in
                    report.damage = try PageSums.look(db, most: SalvageReport.most, isInUse: false).damage.map(
                        \.description)
                    let salvage = RowSalvage(source: db, head: head, progress: progress)
                    try copy.write { try $0.execute(sql: "PRAGMA application_id = \(Schema.applicationID)") }
                    try Schema.migrator.migrate(copy)
                    try copy.writeWithoutTransaction { target in
                        try target.execute(sql: "PRAGMA foreign_keys = OFF")
                        try target.inTransaction(.immediate) {
                            let total = try salvage.copyAll(into: target)
                            (report.rows, report.unreadable) = (total.rows, total.breaks)
                            try SalvageBooks(db: target, head: head, now: now).balance(&report)
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
                    .corrupt, "\(verb): what is left of it does not add up (\(faults[0])); restore a backup")
            }
            report.store = try StoreFile(draft.path).summary()
            if let target { try draft.publish(as: target) }
            return report
        } catch {
            throw StoreError(error, doing: verb, path)
        }
    }

    /// The last sequence of this store, and not of one that a restore has replaced; 0 where nothing but the rows tell it.
    private func knownHead(_ source: DatabaseQueue) -> Int64 {
        guard let record = try? SequenceReserve.read(of: path),
            let (hub, epoch) = try? source.read({ try Opening.meta($0) })
        else { return 0 }
        return record.places.first { $0.hub == hub && $0.epoch == epoch }?.head ?? 0
    }

    private func open() throws -> DatabaseQueue {
        let queue = try StoreFile(path).open()
        try queue.read { db in
            guard try Schema.migrator.hasCompletedMigrations(db) else {
                throw StoreError(
                    .foreign,
                    "open \(path): it is of an older hub; salvage it with the hub that wrote it, and update then")
            }
        }
        return queue
    }
}

/// What was taken out of a damaged store, and what was lost.
public struct SalvageReport: Codable, Hashable, Sendable {
    /// Versions on one feed topic that are lost.
    public struct Topic: Codable, Hashable, Sendable {
        /// `sample`, `day`, `retraction` or `inbox`.
        public var kind: String
        public var type: String?
        public var person: String?
        /// The plugin; of days the series.
        public var label: String?
        public var lost: Int64
    }

    /// The pages that are damaged, the first of them; a sentence each.
    public var damage: [String] = []
    /// Rows of all tables that were taken over.
    public var rows: Int64 = 0
    /// The tables of which runs of rows could not be read, and how often.
    public var unreadable: [String: Int] = [:]
    /// Records of which nothing is left, as far as the accounts of the damaged store could be read.
    public var lostRecords: Int64 = 0
    /// Versions of records that are lost, whatever they were; what retention rules had removed is not among them.
    public var lostVersions: Int64 = 0
    /// Sequences that nothing has any more, the first of them, as `first...last`; of what was removed, too.
    public var lostSequences: [ClosedRange<Int64>] = []
    /// Which they were, as far as that is known.
    public var topics: [Topic] = []
    /// Subscriptions that are lost: what their targets have is not known any more, and they begin again.
    public var lostSinks: [String] = []
    /// Deliveries that were still to be made and are not known any more, by subscription.
    public var lostDeliveries: [String: Int64] = [:]
    /// Whether sources may bring back what was erased, or removed by a rule: part of what is remembered of it is lost.
    public var hasLostErasures = false
    /// What the new file holds.
    public var store: StoreSummary?

    /// So many of each list are told.
    static let most = 1_000
}

/// Copies the rows of all tables.
private struct RowSalvage {
    let source: Database
    /// The last sequence that was given out; 0 where it is not known.
    let head: Int64
    let progress: (CopyProgress) -> Bool

    func copyAll(into target: Database) throws -> (rows: Int64, breaks: [String: Int]) {
        let tables = try String.fetchAll(
            target,
            sql: """
                SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                    -- What is computed from the samples is computed again from those that are left.
                    AND name NOT IN ('grdb_migrations', 'rollup', 'rollup_day') ORDER BY name
                """)
        let expected = try expectedRows()
        var (rows, breaks) = (0 as Int64, [String: Int]())
        for table in tables {
            // What an empty store has.
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

    private func copy(_ reader: TableReader, into target: Database, _ counting: () throws -> Void) throws -> Int {
        var insert: Statement?
        return try reader.read { row in
            let columns = Array(row.columnNames.dropFirst())
            let statement: Statement
            if let insert {
                statement = insert
            } else {
                let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
                let values = columns.map { _ in "?" }.joined(separator: ", ")
                // Rows that are read twice are the same.
                statement = try target.makeStatement(
                    sql: "INSERT OR IGNORE INTO \(reader.table) (\(names)) VALUES (\(values))")
                insert = statement
            }
            try statement.execute(arguments: StatementArguments(row.databaseValues.dropFirst()))
            if target.changesCount > 0 { try counting() }
        }
    }

    /// How a table lies in order.
    ///
    /// What a sink has of records is one order for each sink.
    private func readers(of table: String) throws -> [TableReader] {
        let keys = try Row.fetchAll(
            source, sql: "SELECT name, type FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [table]
        ).map { (name: $0[0] as String, isInteger: $0[1] as String == "INTEGER") }
        if keys.isEmpty { return [TableReader(db: source, table: table, key: "rowid")] }
        let order = keys.map { "\"\($0.name)\"" }
        if keys.count > 1, keys.allSatisfy(\.isInteger), keys[0].name == "sink" {
            var sinks: [Int64] = []
            _ = try TableReader(db: source, table: "sink", key: "id").read { sinks.append($0["id"]) }
            return sinks.map {
                TableReader(
                    db: source, table: table, key: order[1], bound: head > 0 ? head : 1 << 52,
                    scope: "\(order[0]) = \($0)")
            }
        }
        let isSequence = ["number", "seq"].contains(keys[0].name) && head > 0
        guard keys[0].isInteger else { return [TableReader(db: source, table: table, key: nil, order: order)] }
        return [
            TableReader(
                db: source, table: table, key: order[0], bound: isSequence ? head : 1 << 52,
                order: keys.count > 1 ? order : [])
        ]
    }

    /// About how many rows there are, as the accounts say.
    private func expectedRows() throws -> Int64 {
        do {
            return try Int64.fetchOne(
                source, sql: "SELECT ifnull(sum(stored + versions + retractions), 0) FROM account") ?? 0
        } catch let error as DatabaseError where TableReader.isDamage(error) { return 0 }
    }
}
