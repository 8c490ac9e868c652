import GRDB
import Samples

/// The ledger: who has received what.
///
/// A sink is a durable subscription with a cursor. What the cursor cannot say (receipts, retries, refusals, skips, deliveries ahead of
/// it) stands in rows of its own; `Docs/Storage.md` tells the laws.
extension Store {
    /// Makes a sink, or takes over the one of this name; it may then ask for `deliveries`, and is no longer paused.
    ///
    /// New terms hold for whatever is not delivered yet. With another filter, what waits after the cursor is counted again: `wanted` and
    /// `pending` lose what no longer matches and gain what does now; what is in a retry or a replay and no longer matches is skipped
    /// when it is due. Nothing that the sink has is taken back because of a new filter, and nothing before the cursor is offered
    /// (`replay` does that). From an earlier start, and with a new filter, this counts what waits, 100,000 sequences in a transaction.
    /// - Parameters:
    ///   - start: counts only when the name is new. A cursor must be of this epoch and not beyond the head.
    ///   - recordedAt: microseconds since 1970, by the hub's clock.
    @discardableResult
    public func openSink(
        _ id: SinkID, _ terms: SinkTerms, from start: SinkStart = .now, recordedAt: Int64
    ) async throws(StoreError) -> SinkState {
        let epoch = epoch
        // The first piece in the same transaction: a new sink is not seen with nothing to do before it is counted.
        var counts = try await write("open sink", recordedAt) { transaction in
            _ = try transaction.openSink(id, terms, from: start, epoch: epoch)
            return try transaction.countSink(id)
        }
        while counts { counts = try await write("open sink", recordedAt) { try $0.countSink(id) } }
        marks.open(id)
        try await purge(recordedAt)
        return try await sink(id)
    }

    /// Has everything that a sink is to be offered again later be due now.
    ///
    /// - Parameter waitTime: now by the clock of waits.
    public func retryNow(_ id: SinkID, recordedAt: Int64, waitTime: Int64) async throws(StoreError) {
        while try await write("retry now", recordedAt, { transaction in try transaction.retryNow(id, waitTime) }) {}
    }

    /// How a sink stands.
    public func sink(_ id: SinkID) async throws(StoreError) -> SinkState {
        try await read("sink") { db in
            guard var sink = try SinkRecord.find(id, in: db) else { throw StoreError.unknownSink(id, "read") }
            sink.advance(to: try Int64.fetchOne(db, sql: Head.sql) ?? 0)
            return sink.state(epoch: try Opening.meta(db).epoch)
        }
    }

    /// What a sink is to be sent next: what is due from its rows and what lies after `position`, at most one version of a record.
    ///
    /// Looks at a bounded piece of the store; ask again from the page's position while it `hasMore`. What the sink cannot take is
    /// skipped here and counted, in a commit of its own. One call at a time for a sink.
    /// - Parameters:
    ///   - position: that of the page before; of a new session the sink's cursor.
    ///   - inFlight: the numbers of the records that were given out and have no answer yet.
    ///   - now: microseconds since 1970, by the hub's clock.
    ///   - waitTime: now by the clock of waits, which retries are due by; `now` if not given.
    public func deliveries(
        of id: SinkID, after position: Int64, limits: DeliveryLimits, inFlight: Set<Int64>, at now: Int64,
        waitTime: Int64? = nil
    ) async throws(StoreError) -> DeliveryPage {
        guard let offered = marks.claim(id) else {
            throw StoreError(.query, "deliveries of \(id): open the sink first")
        }
        var given: Int64 = 0
        defer { marks.release(id, through: given) }
        let draft = try await read("deliveries") { [readerTerms] db in
            guard let sink = try SinkRecord.find(id, in: db) else { throw StoreError.unknownSink(id, "deliveries of") }
            let reader = SinkReader(
                try Reader(db, readerTerms), sink, limits: limits, inFlight: inFlight, offered: offered, now: now,
                waitTime: waitTime ?? now)
            return try reader.draft(after: position)
        }
        if !draft.decisions.isEmpty {
            try await write("deliveries", now) { transaction in try transaction.decide(draft.decisions, for: id) }
        }
        given = draft.offered
        return draft.page
    }

    /// Counts the answers of any number of sinks in, in one durable transaction, and moves their cursors.
    ///
    /// A repeated answer changes nothing. An answer about a version that was superseded while it was on its way counts as delivered,
    /// its place among the superseded taken back; any other answer about such a version is of no consequence. Answers to a sink that
    /// is not known, because it was forgotten, are dropped.
    /// - Parameters:
    ///   - recordedAt: microseconds since 1970, by the hub's clock.
    ///   - waitTime: now by the clock of waits; `recordedAt` if not given. What is left of a wait is kept, so that a restart with another
    ///     clock does not make it longer.
    public func settle(
        _ settlements: [SinkSettlement], recordedAt: Int64, waitTime: Int64? = nil
    ) async throws(StoreError) {
        try await write("settle", recordedAt) { transaction in
            for settlement in settlements { try transaction.settle(settlement, waitTime: waitTime ?? recordedAt) }
        }
    }

    /// Lets a sink's deliveries go on that waited for its authorisation.
    public func resumeSink(_ id: SinkID, recordedAt: Int64) async throws(StoreError) {
        try await write("resume sink", recordedAt) { transaction in try transaction.resumeSink(id) }
    }

    /// Delivers records again that a sink wants, in their current version; how many.
    ///
    /// Counts what is not waiting already and what the sink can take. `wanted` grows by as much. Works in pages: when it is cut off, what
    /// it has opened stays open, and the next call counts only the rest.
    /// - Parameters:
    ///   - query: which records; its order, limit and next are not used.
    ///   - dryRun: changes nothing.
    ///   - now: microseconds since 1970, by the hub's clock.
    ///   - progress: told after every page how many it has been so far.
    public func replay(
        to id: SinkID, matching query: RecordQuery = RecordQuery(), dryRun: Bool = false, at now: Int64,
        progress: @Sendable (Int64) -> Void = { _ in }
    ) async throws(StoreError) -> Int64 {
        var query = query
        (query.order, query.limit, query.next) = (.sequence, RecordQuery.maximumPage, nil)
        var count: Int64 = 0
        repeat {
            let (candidates, next) = try await read("replay") { [readerTerms, marks, query] db in
                guard let sink = try SinkRecord.find(id, in: db) else { throw StoreError.unknownSink(id, "replay to") }
                return try ReplayReader(
                    try Reader(db, readerTerms), sink, offered: marks.offered(id), now: now
                ).candidates(query)
            }
            query.next = next
            if dryRun {
                count += Int64(candidates.count)
            } else if !candidates.isEmpty {
                count += try await write("replay", now) { transaction in try transaction.replay(candidates, to: id) }
            }
            progress(count)
        } while query.next != nil
        return count
    }

    /// Every sink, by name.
    public func sinks() async throws(StoreError) -> [SinkOverview] {
        try await read("sinks") { db in try SinkOverview.all(in: db) }
    }

    /// The types of which persons have samples, and those of which they have day values.
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

    /// Forgets a sink and all that it has received; opened again, it is a new one.
    public func forgetSink(_ id: SinkID, recordedAt: Int64) async throws(StoreError) {
        try await write("forget sink", recordedAt) { transaction in try transaction.forgetSink(id) }
        marks.forget(id)
        try await purge(recordedAt)
    }

    /// Removes what forgotten sinks left, also those that a crash kept from being removed.
    private func purge(_ recordedAt: Int64) async throws(StoreError) {
        while try await write("forget sink", recordedAt, { transaction in try transaction.purgeSinks() }) {}
    }
}
