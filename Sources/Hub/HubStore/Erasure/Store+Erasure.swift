import GRDB
import GRDBSQLite
import Samples
import Synchronization

/// Erasure: afterwards no file of the store contains a byte of an erased value (Docs/Storage.md, the section on erasure).
extension Store {
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
        guard beginChoosing() else { throw Self.underWay }
        defer { endChoosing() }
        try await write("erase", 0) { transaction in
            // Drop the choice of a hub that was killed.
            try transaction.dropErasure()
            guard try Int64.fetchOne(transaction.db, sql: "SELECT 1 FROM erasure") == nil else { throw Self.underWay }
            try transaction.db.execute(
                sql: "INSERT INTO erasure (id, stage, copies, total) VALUES (1, 0, ?, 0)", arguments: [removingCopies])
        }
        do throws(StoreError) {
            try await choose(selection)
            try Self.refuseIfCancelled()
            return try await endChoice(forgetting: person)
        } catch {
            // If this call fails, no erasure may be left under way.
            try? await write("erase", 0) { transaction in try transaction.dropErasure() }
            throw error
        }
    }

    private static let underWay = StoreError(.query, "erase: an erasure is under way; hub status shows its progress")

    static func refuseIfCancelled() throws(StoreError) {
        guard !Task.isCancelled else { throw StoreError(.interrupted, "erase: ended before any record was erased") }
    }

    private func choose(_ selection: ErasureSelection) async throws(StoreError) {
        try await pages(of: selection) { numbers throws(StoreError) in
            try await write("erase", 0) { transaction in
                for number in numbers where try VersionLookup.current(number, in: transaction.db) != nil {
                    guard try !Tombstones.isErased(number, in: transaction.db) else { continue }
                    try transaction.run("INSERT OR IGNORE INTO erasure_record (number) VALUES (?1)", number)
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
            if let person { try transaction.run("UPDATE person SET erased = 1 WHERE id = ?1", person) }
            if total == 0 && person == nil {
                try transaction.dropErasure()
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
            guard !isChoosingErasure.withLock({ $0 }) else { return }
            try transaction.dropErasure()
        }
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
        return try await write("erase", 0) { transaction in try transaction.retryErasure() }
    }

    /// Continues an erasure whose records are empty: words, then files.
    ///
    /// - Returns: whether it is finished. `false` if a reader still needs the log or another call is finishing it; then try again later.
    public func finishErasure() async throws(StoreError) -> Bool {
        guard beginFinishing() else { return false }
        defer { endFinishing() }
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

    // MARK: - Parts

    /// Locks the choosing of records; `false` if another call holds the lock.
    private func beginChoosing() -> Bool {
        isChoosingErasure.withLock { isChoosing in
            defer { isChoosing = true }
            return !isChoosing
        }
    }

    private func endChoosing() { isChoosingErasure.withLock { $0 = false } }

    /// Locks finishing an erasure and removing names; `false` if another call holds the lock.
    func beginFinishing() -> Bool {
        isFinishingErasure.withLock { isFinishing in
            defer { isFinishing = true }
            return !isFinishing
        }
    }

    func endFinishing() { isFinishingErasure.withLock { $0 = false } }

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
        while try await write("erase", 0, { transaction in try transaction.forgetWords(found, after: head) }) {}
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
