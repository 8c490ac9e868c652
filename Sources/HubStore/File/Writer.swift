import GRDB

/// The one writer's memory between transactions.
///
/// Unchecked because the compiler cannot see it: everything here happens on the pool's writer queue, one at a time.
final class Writer: @unchecked Sendable {
    /// `nil` after a failure: what is true then stands in the file alone, and is read from there.
    private var caches: WriterCaches?
    private let marks: OfferMarks
    private let reserve: SequenceReserve
    private let latch: DamageLatch

    init(_ caches: WriterCaches, _ marks: OfferMarks, _ reserve: SequenceReserve, _ latch: DamageLatch) {
        (self.caches, self.marks, self.reserve, self.latch) = (caches, marks, reserve, latch)
    }

    /// Runs `body` in one transaction; `committed` gets the new head once the transaction is durable.
    func transaction<Value>(
        _ db: Database, recordedAt: Int64, _ body: (inout WriteTransaction) throws -> Value, committed: (Int64) -> Void
    ) throws -> Value {
        try latch.refuse("commit")
        let known = caches.take()
        var outcome: (value: Value, caches: WriterCaches)?
        try db.inTransaction(.immediate) {
            var transaction = try WriteTransaction(db, known ?? WriterCaches(from: db), marks, recordedAt: recordedAt)
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

    /// From now on it is noted whether what is stored concerns these days.
    ///
    /// - Returns: `false` where that is not known, or the rollup is not any more.
    func build(_ rollup: Rollup, _ days: Range<Int64>) -> Bool { caches?.rollups.build(rollup, days) ?? false }

    /// Runs `body` in a transaction that is taken back, so that its outcome is what a real one would have had.
    ///
    /// What the writer knows stays as it is: the rehearsal has a memory of its own, which goes with it.
    func rehearsal<Value>(
        _ db: Database, recordedAt: Int64, _ body: (inout WriteTransaction) throws -> Value
    ) throws -> Value {
        var value: Value?
        try db.inTransaction(.immediate) {
            var transaction = try WriteTransaction(db, WriterCaches(from: db), marks, recordedAt: recordedAt)
            value = try body(&transaction)
            return .rollback
        }
        guard let value else { throw StoreError(.internalFault, "a rehearsal without an outcome") }
        return value
    }
}
