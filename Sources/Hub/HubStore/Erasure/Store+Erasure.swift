import GRDB
import GRDBSQLite
import Samples
import Synchronization

/// Erasure: afterwards no file of the store contains a byte of an erased value (Docs/Storage.md, the section on erasure).
extension Store {
    /// The effect of an erasure, without carrying it out.
    public func planErasure(
        of selection: ErasureSelection, progress: @Sendable (Int64) -> Void = { _ in }
    ) async throws(StoreError) -> ErasurePlan {
        var plan = ErasurePlan()
        try await selection.pages(in: self) { numbers throws(StoreError) in
            let before = plan
            plan = try await read("plan an erasure") { [marks] db in
                var plan = before
                let sinks = try SinkRecord.all(at: SequenceHead.read(in: db), in: db)
                for number in numbers {
                    try plan.add(number, sinks.map { ($0, marks.offered($0.name)) }, in: db)
                }
                // A filter also finds the remains of records that were erased before.
                if case .matching = selection { plan.unknown = [] }
                return plan
            }
            progress(plan.records)
        }
        // If a source was allowed to resend a record, the record was first stored under its former number.
        let allowed = try await read("plan an erasure") { db in
            try Int64.fetchOne(db, sql: "SELECT min(number) FROM erased WHERE identity IS NULL")
        }
        if plan.records > 0 { plan.first = min(plan.first, allowed ?? .max) }
        return plan
    }

    /// Chooses the records to erase.
    ///
    /// Once this returns, the erasure will be carried out, also after a restart.
    ///
    /// - Parameters:
    ///   - person: the name of a person to forget as well.
    ///   - removingCopies: whether to remove older copies of the store beside it too.
    /// - Returns: the number of records; 0 if there is nothing to do.
    public func beginErasure(
        of selection: ErasureSelection, forgetting person: String? = nil, removingCopies: Bool
    ) async throws(StoreError) -> Int64 {
        guard !isChoosingErasure.exchange(true, ordering: .acquiring) else { throw Self.underWay }
        defer { isChoosingErasure.store(false, ordering: .releasing) }
        try await write("erase", 0) { transaction in
            let db = transaction.db
            // Drop the choice of a hub that was killed.
            try Self.dropErasure(in: db)
            guard try Int64.fetchOne(db, sql: "SELECT 1 FROM erasure") == nil else { throw Self.underWay }
            try db.execute(
                sql: "INSERT INTO erasure (id, stage, copies, total) VALUES (1, 0, ?, 0)", arguments: [removingCopies])
        }
        do throws(StoreError) {
            try await choose(selection)
            try ErasureSelection.refuseIfCancelled()
            return try await endChoice(forgetting: person)
        } catch {
            // If this call fails, no erasure may be left under way.
            try? await write("erase", 0) { transaction in try Self.dropErasure(in: transaction.db) }
            throw error
        }
    }

    private static let underWay = StoreError(.query, "erase: an erasure is under way; hub status shows its progress")

    private func choose(_ selection: ErasureSelection) async throws(StoreError) {
        try await selection.pages(in: self) { numbers throws(StoreError) in
            try await write("erase", 0) { transaction in
                let db = transaction.db
                for number in numbers where try VersionLookup.current(number, in: db) != nil {
                    guard try !Tombstones.isErased(number, in: db) else { continue }
                    try RawStatement.run("INSERT OR IGNORE INTO erasure_record (number) VALUES (?1)", number, in: db)
                }
            }
        }
    }

    private func endChoice(forgetting person: String?) async throws(StoreError) -> Int64 {
        try await write("erase", 0) { transaction in
            let db = transaction.db
            guard try Int64.fetchOne(db, sql: "SELECT 1 FROM erasure WHERE stage = 0") != nil else {
                throw StoreError(
                    .changed, "erase: the selection is gone, and nothing was erased; run it again")
            }
            let total = try Int64.fetchOne(db, sql: "SELECT count(*) FROM erasure_record") ?? 0
            let person = try person.flatMap { try Filter.person($0, in: db) }
            if let person { try RawStatement.run("UPDATE person SET erased = 1 WHERE id = ?1", person, in: db) }
            if total == 0 && person == nil {
                try Self.dropErasure(in: db)
            } else {
                try db.execute(
                    sql: """
                        DELETE FROM erasure_fault WHERE number IN (SELECT number FROM erasure_record);
                        UPDATE erasure SET stage = 1, total = \(total)
                        """)
            }
            return total
        }
    }

    /// Drops an interrupted choice.
    ///
    /// A choice in progress is kept.
    public func dropErasure() async throws(StoreError) {
        try await write("erase", 0) { [self] transaction in
            guard !isChoosingErasure.load(ordering: .acquiring) else { return }
            try Self.dropErasure(in: transaction.db)
        }
    }

    /// Drops an erasure that is being chosen.
    ///
    /// If names were removed meanwhile, their words are still searched.
    private static func dropErasure(in db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM erasure_record WHERE EXISTS (SELECT 1 FROM erasure WHERE stage = 0);
                UPDATE erasure SET stage = 2, copies = 0 WHERE stage = 0 AND EXISTS (SELECT 1 FROM erasure_source);
                DELETE FROM erasure WHERE stage = 0
                """)
    }

    /// The current erasure; `nil` if there is none.
    public func erasure() async throws(StoreError) -> ErasureState? {
        try await read("erasure") { db in
            guard let row = try Row.fetchOne(db, sql: "SELECT stage, total FROM erasure") else { return nil }
            return ErasureState(
                stage: ErasureState.Stage(rawValue: row[0]) ?? .records, total: row[1],
                left: try Int64.fetchOne(db, sql: "SELECT count(*) FROM erasure_record") ?? 0)
        }
    }

    /// The records that could not be erased so far: their number, and the first of them.
    public func erasureFaults(most: Int = 20) async throws(StoreError) -> (count: Int64, first: [ErasureFault]) {
        try await read("erasure") { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT number, reason FROM erasure_fault ORDER BY number LIMIT ?", arguments: [most])
            return (
                try Int64.fetchOne(db, sql: "SELECT count(*) FROM erasure_fault") ?? 0,
                rows.map { ErasureFault(number: $0[0], reason: $0[1]) }
            )
        }
    }

    /// Tries again to erase the records that failed.
    ///
    /// - Returns: `false` while an erasure is under way. The caller has to try again later.
    @discardableResult
    public func retryErasure() async throws(StoreError) -> Bool {
        guard try await erasureFaults(most: 0).count > 0 else { return true }
        return try await write("erase", 0) { transaction in
            guard try Int64.fetchOne(transaction.db, sql: "SELECT 1 FROM erasure") == nil else { return false }
            try transaction.db.execute(
                sql: """
                    DELETE FROM erasure_fault WHERE number IN (SELECT number FROM erased);
                    INSERT OR IGNORE INTO erasure_record (number) SELECT number FROM erasure_fault;
                    DELETE FROM erasure_fault;
                    INSERT INTO erasure (id, stage, copies, total)
                        SELECT 1, 1, 0, count(*) FROM erasure_record HAVING count(*) > 0
                    """)
            return true
        }
    }

    /// Continues an erasure whose records are empty: words, then files.
    ///
    /// - Returns: whether it is finished. `false` if a reader still needs the log or another call is finishing it; then try again later.
    public func finishErasure() async throws(StoreError) -> Bool {
        guard !isFinishingErasure.exchange(true, ordering: .acquiring) else { return false }
        defer { isFinishingErasure.store(false, ordering: .releasing) }
        guard let state = try await erasure(), state.stage.rawValue >= ErasureState.Stage.words.rawValue else {
            return true
        }
        if state.stage == .words { try await forgetWords() }
        // Ended rollups may contain sums of erased values.
        while try await removeEndedRollups() {}
        guard try await emptyLog() else { return false }
        let removes = try await read("erasure") { db in
            try Bool.fetchOne(db, sql: "SELECT copies FROM erasure") ?? false
        }
        StoreCopies.removeDrafts(of: path)
        if removes { StoreCopies.remove(of: path) }
        try await write("erase", 0) { transaction in
            try transaction.db.execute(sql: "DELETE FROM erasure WHERE stage = 3")
        }
        return true
    }

    // MARK: - Names

    /// Erased records that still have their identity because sinks must be notified: how many, and which sinks.
    public func namedErasures() async throws(StoreError) -> (records: Int64, sinks: [SinkID]) {
        var (waiting, after): (Set<SinkID>, Int64) = ([], 0)
        while true {
            let (known, last) = (waiting, after)
            let page = try await read("erased records") { db in
                let numbers = try Int64.fetchAll(
                    db, sql: "SELECT number FROM erased WHERE named = 1 AND number > ? ORDER BY number LIMIT 1000",
                    arguments: [last])
                // Skip sinks that have nothing pending.
                let others = try SinkRecord.all(in: db).filter { $0.isBehind && !known.contains($0.name) }
                let found = try others.filter { sink in
                    try numbers.contains { number in
                        guard let facts = try VersionLookup.current(number, in: db) else { return false }
                        return try sink.isAwaiting(number, facts, in: db)
                    }
                }
                return (found: found.map(\.name), isLast: found.count == others.count, last: numbers.last)
            }
            waiting.formUnion(page.found)
            guard let reached = page.last, !page.isLast else { break }
            after = reached
        }
        let count = try await read("erased records") { db in
            try Int64.fetchOne(db, sql: "SELECT count(*) FROM erased WHERE named = 1") ?? 0
        }
        return (count, waiting.sorted { $0.description < $1.description })
    }

    /// Removes the identities of erased records once all sinks have been notified, except those that failed before.
    ///
    /// - Returns: `false` if an erasure is being finished; then nothing is removed.
    @discardableResult
    public func removeErasedNames() async throws(StoreError) -> Bool {
        guard !isFinishingErasure.exchange(true, ordering: .acquiring) else { return false }
        defer { isFinishingErasure.store(false, ordering: .releasing) }
        var after: Int64 = 0
        while true {
            let last = after
            let page = try await read("erased records") { db in
                let numbers = try Int64.fetchAll(
                    db,
                    sql: """
                        SELECT number FROM erased WHERE named = 1 AND number > ?
                            AND number NOT IN (SELECT number FROM erasure_fault) ORDER BY number LIMIT 100
                        """, arguments: [last])
                let sinks = try SinkRecord.all(in: db)
                return (
                    told: try numbers.filter { number in
                        guard let facts = try VersionLookup.current(number, in: db) else { return false }
                        return try !sinks.areAwaiting(number, facts, in: db)
                    }, last: numbers.last
                )
            }
            guard let reached = page.last else { return true }
            after = reached
            guard !page.told.isEmpty else { continue }
            try await write("erase", 0) { transaction in try RecordEraser.removeNames(page.told, in: &transaction) }
        }
    }

    /// Allows sources to send erased records again.
    public func allowAgain(_ numbers: [Int64]) async throws(StoreError) -> [ManualResult] {
        try await write("allow again", 0) { transaction in try Tombstones.allowAgain(numbers, in: transaction.db) }
    }

    // MARK: - Parts

    private func forgetWords() async throws(StoreError) {
        let head = head
        var sweep = try await read("erase") { db in try WordSweep(from: db) }
        while !sweep.isOver {
            let before = sweep
            sweep = try await read("erase") { db in
                var sweep = before
                try sweep.look(in: db)
                return sweep
            }
        }
        let found = sweep
        while try await write("erase", 0, { transaction in try found.removeUnused(after: head, in: &transaction) }) {}
        readerTerms.forget()
    }

    /// Moves the whole log into the file, truncates it, and makes all connections drop their cached pages.
    ///
    /// - Returns: `false` if a reader still needs the log.
    private func emptyLog() async throws(StoreError) -> Bool {
        let isEmpty = try await onWriter("empty the log") { db in
            guard let connection = db.sqliteConnection else { return false }
            // Commits wait while this call waits for readers.
            sqlite3_busy_timeout(connection, 20)
            defer { sqlite3_busy_timeout(connection, StoreOpener.busyMilliseconds) }
            let code = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
            if code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED { return false }
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
            // A cached page may hold, in its unused bytes, data that the file no longer has.
            sqlite3_db_release_memory(connection)
            return true
        }
        // No reader sees the earlier state any more.
        if isEmpty { readerTerms.forget() }
        return isEmpty
    }
}
