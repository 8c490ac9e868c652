import GRDB
import Samples

/// The ledger: which sink has received which records.
///
/// A sink is a durable subscription with a cursor. Receipts, retries, refusals, skips and deliveries ahead of the cursor have their own rows.
/// `Docs/Storage.md` describes the rules.
extension Store {
    /// Creates a sink, or reopens the one of this name.
    ///
    /// It may then request `deliveries` and is no longer paused.
    ///
    /// New terms apply to every undelivered version. With another filter, the versions after the cursor are counted again: `wanted` and `pending`
    /// lose versions that no longer match and gain those that match now. A retry or replay that no longer matches is skipped when it is due. A new
    /// filter retracts nothing that the sink has, and it offers nothing before the cursor; `replay` does that. With an earlier start or a new filter,
    /// this call counts the waiting versions, 100,000 sequence numbers per transaction.
    /// - Parameters:
    ///   - start: used only if the name is new. A cursor must be of this epoch and not beyond the head.
    ///   - recordedAt: microseconds since 1970, by the hub's clock.
    @discardableResult
    public func openSink(
        _ id: SinkID, _ terms: SinkTerms, from start: SinkStart = .now, recordedAt: Int64
    ) async throws(StoreError) -> SinkState {
        let epoch = epoch
        // Count the first piece in the same transaction, so that readers never see a new sink with nothing to do before it is counted.
        var counts = try await write("open sink", recordedAt) { transaction in
            let db = transaction.db
            try transaction.caches.openSink(id, terms, from: start, epoch: epoch, at: recordedAt, in: db)
            return try transaction.caches.ledger.count(id, in: db)
        }
        while counts { counts = try await write("open sink", recordedAt) { try $0.caches.ledger.count(id, in: $0.db) } }
        marks.open(id)
        try await purge(recordedAt)
        return try await sink(id)
    }

    /// Makes all scheduled retries of a sink due now.
    ///
    /// - Parameter waitTime: now by the clock of waits.
    public func retryNow(_ id: SinkID, recordedAt: Int64, waitTime: Int64) async throws(StoreError) {
        while try await write("retry now", recordedAt, { try $0.caches.ledger.retryNow(id, waitTime, in: $0.db) }) {}
    }

    /// The state of a sink.
    public func sink(_ id: SinkID) async throws(StoreError) -> SinkState {
        try await read("sink") { db in
            guard var sink = try SinkRecord.find(id, in: db) else { throw StoreError.unknownSink(id, "read") }
            sink.advance(to: try SequenceHead.read(in: db))
            return sink.state(epoch: try StoreOpener.meta(db).epoch)
        }
    }

    /// The next records for a sink: due rows and versions after `position`, at most one version of each record.
    ///
    /// Examines a bounded part of the store. While the page's `hasMore` is true, call again with its position. Versions that the sink cannot take are
    /// skipped and counted, in a separate commit. Only one call at a time is allowed for a sink.
    /// - Parameters:
    ///   - position: the position of the previous page, or the sink's cursor in a new session.
    ///   - inFlight: the numbers of records that were handed out and not answered yet.
    ///   - now: microseconds since 1970, by the hub's clock.
    ///   - waitTime: now by the clock of waits, which determines when retries are due; `now` if not given.
    public func deliveries(
        of id: SinkID, after position: Int64, limits: DeliveryLimits, inFlight: Set<Int64>, at now: Int64,
        waitTime: Int64? = nil
    ) async throws(StoreError) -> DeliveryPage {
        guard let offered = marks.claim(id) else {
            throw StoreError(.query, "deliveries of \(id): open the sink first")
        }
        var given: Int64 = 0
        defer { marks.release(id, through: given) }
        let draft = try await readSnapshot("deliveries") { reader in
            guard let sink = try SinkRecord.find(id, in: reader.db) else {
                throw StoreError.unknownSink(id, "deliveries of")
            }
            let reader = SinkReader(
                reader, sink, limits: limits, inFlight: inFlight, offered: offered, now: now,
                waitTime: waitTime ?? now)
            return try reader.draft(after: position)
        }
        if !draft.decisions.isEmpty {
            try await write("deliveries", now) { transaction in
                try transaction.caches.ledger.decide(
                    draft.decisions, for: id, head: transaction.caches.head, at: now, in: transaction.db)
            }
        }
        given = draft.offered
        return draft.page
    }

    /// Stores the answers of any number of sinks in one durable transaction, and moves their cursors.
    ///
    /// A repeated answer changes nothing. If a version was superseded while in transit, `delivered` counts it as delivered instead of superseded;
    /// other
    /// answers about it are ignored. Answers of unknown sinks are dropped, because those sinks were forgotten.
    /// - Parameters:
    ///   - recordedAt: microseconds since 1970, by the hub's clock.
    ///   - waitTime: now by the clock of waits; `recordedAt` if not given. The remaining wait is stored, so that a restart with another clock
    ///     does not lengthen it.
    public func settle(
        _ settlements: [SinkSettlement], recordedAt: Int64, waitTime: Int64? = nil
    ) async throws(StoreError) {
        try await write("settle", recordedAt) { transaction in
            for settlement in settlements {
                try transaction.caches.ledger.settle(
                    settlement, head: transaction.caches.head, at: recordedAt, waitTime: waitTime ?? recordedAt,
                    in: transaction.db)
            }
        }
    }

    /// Delivers records again that a sink wants, in their current version; returns their number.
    ///
    /// Counts records that are not waiting already and that the sink can take. `wanted` grows by the same number. Works in pages: if it is
    /// interrupted,
    /// its records stay open, and the next call counts only the rest.
    /// - Parameters:
    ///   - query: selects the records; its order, limit and next are ignored.
    ///   - dryRun: whether to change nothing.
    ///   - now: microseconds since 1970, by the hub's clock.
    ///   - progress: called after every page with the number of records so far.
    public func replay(
        to id: SinkID, matching query: RecordQuery = RecordQuery(), dryRun: Bool = false, at now: Int64,
        progress: @Sendable (Int64) -> Void = { _ in }
    ) async throws(StoreError) -> Int64 {
        var query = query
        (query.order, query.limit, query.next) = (.sequence, RecordQuery.maximumPage, nil)
        var count: Int64 = 0
        repeat {
            let (candidates, next) = try await readSnapshot("replay") { [marks, query] reader in
                guard let sink = try SinkRecord.find(id, in: reader.db) else {
                    throw StoreError.unknownSink(id, "replay to")
                }
                return try ReplayReader(reader, sink, offered: marks.offered(id), now: now).candidates(query)
            }
            query.next = next
            if dryRun {
                count += Int64(candidates.count)
            } else if !candidates.isEmpty {
                count += try await write("replay", now) { try $0.caches.ledger.replay(candidates, to: id, in: $0.db) }
            }
            progress(count)
        } while query.next != nil
        return count
    }

    /// Every sink, by name.
    public func sinks() async throws(StoreError) -> [SinkOverview] {
        try await read("sinks") { db in try SinkOverview.all(in: db) }
    }

    /// The names of all sinks.
    ///
    /// Reads one small table.
    public func sinkNames() async throws(StoreError) -> [SinkID] {
        try await read("sink names") { db in
            try Row.fetchAll(db, sql: "SELECT instance, want FROM sink WHERE forgotten = 0").map {
                SinkID(instance: $0[0], want: $0[1])
            }
        }
    }

    /// The types for which persons have samples, and the types for which they have day values.
    public func measuredTypes() async throws(StoreError) -> (samples: Set<String>, days: Set<String>) {
        try await read("types") { db in
            let statement = try RawStatement(
                cached:
                    "SELECT DISTINCT kind, text FROM stream JOIN term ON term.id = stream.type WHERE kind IN (0, 1)",
                in: db)
            defer { statement.clear() }
            var (samples, days) = (Set<String>(), Set<String>())
            while try statement.step() {
                guard let type = statement.text(1) else { continue }
                if statement.integer(0) == StreamKey.Kind.day.rawValue {
                    days.insert(type)
                } else {
                    samples.insert(type)
                }
            }
            return (samples, days)
        }
    }

    /// Removes a sink with its receipts.
    ///
    /// If it is opened again, it is a new sink.
    public func forgetSink(_ id: SinkID, recordedAt: Int64) async throws(StoreError) {
        try await write("forget sink", recordedAt) { try $0.caches.ledger.forget(id, in: $0.db) }
        marks.forget(id)
        try await purge(recordedAt)
    }

    /// Removes the rows of forgotten sinks, including those left by a crash.
    private func purge(_ recordedAt: Int64) async throws(StoreError) {
        while try await write("forget sink", recordedAt, { try LedgerCache.purge(in: $0.db) }) {}
    }
}
