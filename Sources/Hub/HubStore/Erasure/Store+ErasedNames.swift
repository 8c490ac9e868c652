import GRDB
import Samples

/// Erased records whose identities are kept until sinks have been notified, and records that sources may send again.
extension Store {
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
        guard beginFinishing() else { return false }
        defer { endFinishing() }
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

    /// Allows sources to send erased records again.
    public func allowAgain(_ numbers: [Int64]) async throws(StoreError) -> [ManualResult] {
        try await write("allow again", 0) { transaction in try transaction.allowAgain(numbers) }
    }
}
