import GRDB

/// The state that the only writer keeps between transactions.
///
/// It is unchecked because the compiler cannot verify that everything here runs on the pool's serial writer queue.
final class WriterState: @unchecked Sendable {
    /// `nil` after a failure.
    ///
    /// The caches are then read from the file again.
    private var caches: WriterCaches?
    private let marks: OfferMarks
    private let reserve: SequenceReserve
    private let latch: DamageLatch

    init(_ caches: WriterCaches, _ marks: OfferMarks, _ reserve: SequenceReserve, _ latch: DamageLatch) {
        (self.caches, self.marks, self.reserve, self.latch) = (caches, marks, reserve, latch)
    }

    /// Runs `body` in one transaction; calls `committed` with the new head once the transaction is durable.
    func transaction<Value>(
        _ db: Database, recordedAt: Int64, _ body: (inout WriteTransaction) throws -> Value, committed: (Int64) -> Void
    ) throws -> Value {
        try latch.refuse("commit")
        let known = caches.take()
        var outcome: (value: Value, caches: WriterCaches)?
        try db.inTransaction(.immediate) {
            var transaction = try WriteTransaction(
                db, known ?? WriterCaches(from: db, marks), recordedAt: recordedAt)
            let value = try body(&transaction)
            let finished = try transaction.finish()
            try reserve.admit(finished.head)
            outcome = (value, finished)
            return .commit
        }
        guard let outcome else { throw StoreError(.internalFault, "a transaction without an outcome") }
        reserve.reached(head: outcome.caches.head, commits: outcome.caches.tallies.commits)
        committed(outcome.caches.head)
        caches = outcome.caches
        return outcome.value
    }

    /// Starts to track whether stored records concern these days.
    ///
    /// - Returns: `false` if that is unknown or the rollup no longer exists.
    func build(_ rollup: Rollup, _ days: Range<Int64>) -> Bool { caches?.rollups.build(rollup, days) ?? false }

    /// Runs `body` in a transaction that is rolled back, so that its outcome is that of a real one.
    ///
    /// The writer's caches stay unchanged: the rehearsal uses its own caches, which are dropped afterwards.
    func rehearsal<Value>(
        _ db: Database, recordedAt: Int64, _ body: (inout WriteTransaction) throws -> Value
    ) throws -> Value {
        var value: Value?
        try db.inTransaction(.immediate) {
            var transaction = try WriteTransaction(db, WriterCaches(from: db, marks), recordedAt: recordedAt)
            value = try body(&transaction)
            return .rollback
        }
        guard let value else { throw StoreError(.internalFault, "a rehearsal without an outcome") }
        return value
    }
}
