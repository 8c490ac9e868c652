import GRDB
import GRDBSQLite
import Samples
import Synchronization

/// Erasure: after it no byte of a value is in any file of the store (Docs/Storage.md, *What is erased is gone*).
extension Store {
    /// What an erasure would take away.
    public func planErasure(
        of selection: ErasureSelection, progress: @Sendable (Int64) -> Void = { _ in }
    ) async throws(StoreError) -> ErasurePlan {
        var plan = ErasurePlan()
        try await pages(of: selection) { numbers throws(StoreError) in
            let before = plan
            plan = try await read("plan an erasure") { [marks] db in
                var plan = before
                let sinks = try SinkRecord.all(in: db)
                for number in numbers {
                    try plan.add(number, sinks.map { ($0, marks.offered($0.name)) }, in: db)
                }
                // A filter also finds what is left of records that were erased before.
                if case .matching = selection { plan.unknown = [] }
                return plan
            }
            progress(plan.records)
        }
        return plan
    }

    /// Chooses what is to be erased; from its return on the erasure is carried out, also by the next hub.
    ///
    /// - Parameters:
    ///   - person: who is to be forgotten with it, by name.
    ///   - removingCopies: whether older copies of the store beside it go too.
    /// - Returns: how many records; 0 where there is nothing to do.
    public func beginErasure(
        of selection: ErasureSelection, forgetting person: String? = nil, removingCopies: Bool
    ) async throws(StoreError) -> Int64 {
        try await dropErasure()
        try await write("erase", 0) { transaction in
            guard try Int64.fetchOne(transaction.db, sql: "SELECT 1 FROM erasure") == nil else {
                throw StoreError(.query, "erase: an erasure is under way; hub status says how far it is")
            }
            try transaction.db.execute(
                sql: "INSERT INTO erasure (id, stage, copies, total) VALUES (1, 0, ?, 0)", arguments: [removingCopies])
        }
        try await pages(of: selection) { numbers throws(StoreError) in
            try await write("erase", 0) { transaction in
                for number in numbers where try Facts.current(number, in: transaction.db) != nil {
                    guard try !Tombstones.isErased(number, in: transaction.db) else { continue }
                    try transaction.run("INSERT OR IGNORE INTO erasure_record (number) VALUES (?1)", number)
                }
            }
        }
        return try await write("erase", 0) { transaction in
            let db = transaction.db
            let total = try Int64.fetchOne(db, sql: "SELECT count(*) FROM erasure_record") ?? 0
            let person = try person.flatMap { try Filter.person($0, in: db) }
            if let person { try transaction.run("UPDATE person SET erased = 1 WHERE id = ?1", person) }
            if total == 0 && person == nil {
                try transaction.dropErasure()
            } else {
                try db.execute(sql: "UPDATE erasure SET stage = 1, total = \(total)")
            }
            return total
        }
    }

    /// Forgets a choice that was cut short.
    public func dropErasure() async throws(StoreError) {
        guard try await erasure()?.stage == .choosing else { return }
        try await write("erase", 0) { transaction in try transaction.dropErasure() }
    }

    /// The erasure under way; `nil` where there is none.
    public func erasure() async throws(StoreError) -> ErasureState? {
        try await read("erasure") { db in
            guard let row = try Row.fetchOne(db, sql: "SELECT stage, total FROM erasure") else { return nil }
            return ErasureState(
                stage: ErasureState.Stage(rawValue: row[0]) ?? .records, total: row[1],
                left: try Int64.fetchOne(db, sql: "SELECT count(*) FROM erasure_record") ?? 0)
        }
    }

    /// Erased records that still have their identity, because sinks are to be told: how many, and which sinks.
    public func namedErasures() async throws(StoreError) -> (records: Int64, sinks: [SinkID]) {
        try await read("erased records") { db in
            let numbers = try Int64.fetchAll(db, sql: "SELECT number FROM erased WHERE named = 1 LIMIT 1000")
            let sinks = try SinkRecord.all(in: db).filter { sink in
                try numbers.contains { number in
                    guard let facts = try Facts.current(number, in: db) else { return false }
                    return try sink.isAwaiting(number, facts, in: db)
                }
            }
            let count = try Int64.fetchOne(db, sql: "SELECT count(*) FROM erased WHERE named = 1") ?? 0
            return (count, sinks.map(\.name))
        }
    }

    /// Takes away the identities of erased records that sinks have been told of since; none while an erasure is being finished.
    ///
    /// - Returns: whether it has looked; `false` where an erasure is being finished.
    @discardableResult
    public func removeErasedNames() async throws(StoreError) -> Bool {
        guard beginFinishing() else { return false }
        defer { endFinishing() }
        var after: Int64 = 0
        while true {
            let last = after
            let page = try await read("erased records") { db in
                let numbers = try Int64.fetchAll(
                    db, sql: "SELECT number FROM erased WHERE named = 1 AND number > ? ORDER BY number LIMIT 100",
                    arguments: [last])
                let sinks = try SinkRecord.all(in: db)
                return (
                    told: try numbers.filter { number in
                        guard let facts = try Facts.current(number, in: db) else { return false }
                        return try !sinks.contains { sink in try sink.isAwaiting(number, facts, in: db) }
                    }, last: numbers.last
                )
            }
            guard let reached = page.last else { return true }
            after = reached
            guard !page.told.isEmpty else { continue }
            try await write("erase", 0) { transaction in try transaction.removeNames(page.told) }
        }
    }

    /// Lets sources send again what was erased.
    public func allowAgain(_ numbers: [Int64]) async throws(StoreError) -> [ManualResult] {
        try await write("allow again", 0) { transaction in try transaction.allowAgain(numbers) }
    }

    /// Goes on with an erasure whose records are empty: words, then files.
    ///
    /// - Returns: whether it is finished; `false` where a reader still needs the log, or another call is at it, and it has to be tried again.
    public func finishErasure() async throws(StoreError) -> Bool {
        guard beginFinishing() else { return false }
        defer { endFinishing() }
        guard let state = try await erasure(), state.stage.rawValue >= ErasureState.Stage.words.rawValue else {
            return true
        }
        if state.stage == .words { try await forgetWords() }
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

    /// The numbers of what is chosen, in pages.
    private func pages(
        of selection: ErasureSelection, _ body: ([Int64]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        switch selection {
        case .numbers(let numbers):
            // A number that is given twice is one record.
            var met: Set<Int64> = []
            var rest = numbers.filter { met.insert($0).inserted }[...]
            while !rest.isEmpty {
                try await body(Array(rest.prefix(RecordQuery.maximumPage)))
                rest = rest.dropFirst(RecordQuery.maximumPage)
            }
        case .matching(var query):
            query.kinds = KindSelection(Set(RecordKind.allCases), followsChanges: false)
            (query.order, query.limit, query.next) = (.time, RecordQuery.maximumPage, nil)
            repeat {
                let page = try await page(query)
                try await body(page.records.map(\.number))
                query.next = page.next
            } while query.next != nil
        }
    }

    /// Takes the turn to finish an erasure or to take names away; `false` where another has it.
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

    /// Brings the whole log into the file and cuts it to nothing, and has all connections forget the pages that they had read.
    ///
    /// - Returns: `false` where a reader still needs it.
    private func emptyLog() async throws(StoreError) -> Bool {
        let isEmpty = try await onWriter("empty the log") { db in
            guard let connection = db.sqliteConnection else { return false }
            // Commits wait for as long as this waits for readers.
            sqlite3_busy_timeout(connection, 20)
            defer { sqlite3_busy_timeout(connection, Opening.busyMilliseconds) }
            let code = sqlite3_wal_checkpoint_v2(connection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
            if code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED { return false }
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
            // A page in memory may hold beside its cells what the file no longer has.
            sqlite3_db_release_memory(connection)
            return true
        }
        // No reader is left that sees what was before.
        if isEmpty { readerTerms.forget() }
        return isEmpty
    }
}

extension ErasurePlan {
    fileprivate mutating func add(_ number: Int64, _ sinks: [(sink: SinkRecord, offered: Int64)], in db: Database)
        throws
    {
        guard let facts = try Facts.current(number, in: db), try !Tombstones.isErased(number, in: db) else {
            unknown.append(number)
            return
        }
        records += 1
        first = min(first, number)
        versions += 1 + (try VersionCount.of(number, in: db))
        bytes += try ErasurePlan.bytes(of: number, in: db)
        for (sink, offered) in sinks {
            var sink = sink
            sink.advance(to: try Int64.fetchOne(db, sql: Head.sql) ?? 0)
            let row = try DeliveryRow.find(sink.id, number, in: db)
            let holds =
                try row.map { $0.holds } ?? (sink.hasPassed(facts) && !facts.isRetraction)
                || Facts.mayHold(number, row, sink, offered: offered, in: db)
                || facts.sequence > sink.cursor && facts.sequence <= offered && sink.match.matches(facts)
            if holds { self.sinks[sink.name, default: 0] += 1 }
        }
    }

    /// Of all versions: texts by their length, and 100 bytes for the rest of a row.
    private static func bytes(of number: Int64, in db: Database) throws -> Int64 {
        let texts = "100 + ifnull(length(metadata), 0) + ifnull(length(extra), 0) + ifnull(length(basis), 0)"
        let parts = ["sample", "sample_version", "day", "day_version"].map { table in
            let more = table.hasPrefix("sample") ? " + length(key) + ifnull(length(content), 0)" : ""
            return """
                SELECT \(texts)\(more) + ifnull((SELECT length(bytes) FROM payload p WHERE p.seq = r.seq), 0) AS size
                FROM \(table) r WHERE number = ?1
                """
        }
        let statement = try RawStatement(
            cached: "SELECT sum(size) FROM (\(parts.joined(separator: " UNION ALL ")))", in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step() ? statement.integer(0) : 0
    }
}
