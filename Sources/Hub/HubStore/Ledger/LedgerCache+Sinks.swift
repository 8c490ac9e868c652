import GRDB
import Samples

extension WriterCaches {
    /// Creates a sink, or reopens the one of this name with these terms.
    mutating func openSink(
        _ name: SinkID, _ terms: SinkTerms, from start: SinkStart, epoch: String, at recordedAt: Int64,
        in db: Database
    ) throws {
        guard !name.instance.isEmpty, !name.want.isEmpty else {
            throw StoreError(.query, "open sink \(name): instance and want need a name each")
        }
        // Give each type an id now, so that its first record is recognised.
        for type in (terms.filter.types ?? []).union(terms.filter.exceptTypes) {
            _ = try term(type.rawValue, .type, in: db)
        }
        if let index = ledger.index(of: name) { return try ledger.adopt(index, terms, head: head, in: db) }
        guard ledger.sinks.count < LedgerCache.maximumSinks else {
            throw StoreError(
                .query, "open sink \(name): the store keeps \(LedgerCache.maximumSinks) sinks; forget one first")
        }
        let place = try sequence(of: start, name, epoch)
        let id = try SinkRecord.insert(name, at: recordedAt, start: place, in: db)
        let era = SinkRecord.FilterPeriod(
            after: place, head: place, filter: terms.filter, match: try SinkMatch(terms.filter, in: db))
        var sink = SinkRecord(
            id: id, name: name, start: place, countingTo: head, openedAt: recordedAt, terms: terms, era: era)
        sink.isBusy = true
        try sink.saveTerms(to: db)
        ledger.append(sink)
    }

    private func sequence(of start: SinkStart, _ name: SinkID, _ epoch: String) throws -> Int64 {
        switch start {
        case .now: return head
        case .beginning: return 0
        case .after(let cursor):
            guard cursor.epoch == epoch else {
                throw StoreError(
                    .epoch,
                    "open sink \(name): start \(cursor) is of another epoch than the store's \(epoch); take a new cursor"
                )
            }
            guard (0...head).contains(cursor.sequence) else {
                throw StoreError(.cursor, "open sink \(name): start \(cursor): the store's last sequence is \(head)")
            }
            return cursor.sequence
        }
    }
}

extension LedgerCache {
    /// Maximum number of sinks in a store.
    ///
    /// Each new version is matched against every sink.
    static let maximumSinks = 256
    /// Maximum number of sequence numbers searched for a sink in one transaction.
    private static let countingWindow: Int64 = 100_000

    fileprivate mutating func adopt(_ index: Int, _ terms: SinkTerms, head: Int64, in db: Database) throws {
        let match = try SinkMatch(terms.filter, in: db)
        change(index) { sink in
            (sink.abilities, sink.target, sink.zone) = (terms.abilities, terms.target, terms.zone)
            (sink.paused, sink.isBusy) = (nil, true)
            guard sink.terms.filter != terms.filter else { return }
            // Count the versions after the cursor again under the new filter. Versions with a row keep it.
            sink.account.wanted -= sink.implied
            sink.account.pending = sink.marked
            (sink.counted, sink.countingTo) = (sink.cursor, head)
            let era = SinkRecord.FilterPeriod(after: sink.cursor, head: head, filter: terms.filter, match: match)
            if sink.eras[sink.eras.count - 1].after == era.after { sink.eras.removeLast() }
            sink.eras.append(era)
        }
        try sinks[index].saveTerms(to: db)
    }

    /// Counts some of the versions matched by a sink's start or new filter; returns `false` when all are counted.
    mutating func count(_ name: SinkID, in db: Database) throws -> Bool {
        guard let index = index(of: name), sinks[index].isCounting else { return false }
        let sink = sinks[index]
        let end = min(sink.counted + Self.countingWindow, sink.countingTo)
        let count = try sink.pending(after: sink.counted, through: end, in: db)
        change(index) { sink in
            sink.account.wanted += count
            sink.account.pending += count
            sink.counted = end
        }
        return end < sink.countingTo
    }

    /// Opens records again for a sink that wants them; returns how many were not open.
    mutating func replay(
        _ candidates: [(number: Int64, sequence: Int64)], to name: SinkID, in db: Database
    ) throws -> Int64 {
        let index = try index(of: name, to: "replay")
        let sink = sinks[index]
        var count: Int64 = 0
        for (number, sequence) in candidates {
            guard let current = try VersionLookup.current(number, in: db), current.sequence == sequence,
                var row = try sink.replay(of: number, current, in: db)
            else { continue }
            (row.state, row.due, row.attempts, row.reason) = (.pending, DeliveryRow.atOnce, 0, nil)
            try row.save(to: db)
            count += 1
        }
        if count > 0 {
            change(index) { sink in
                sink.account.wanted += count
                sink.account.pending += count
                sink.marked += count
            }
        }
        return count
    }

    /// Makes some of the scheduled retries due now; returns `false` if none is left.
    func retryNow(_ name: SinkID, _ waitTime: Int64, in db: Database) throws -> Bool {
        let sink = sinks[try index(of: name, to: "retry")]
        try db.execute(
            sql: """
                UPDATE delivery SET due = ?2, wait = 0 WHERE sink = ?1
                    AND number IN (SELECT number FROM delivery WHERE sink = ?1 AND due > ?2 LIMIT 20000)
                """, arguments: [sink.id, waitTime])
        return db.changesCount > 0
    }

    /// Marks a sink as forgotten.
    ///
    /// `purge` deletes its rows.
    mutating func forget(_ name: SinkID, in db: Database) throws {
        let index = try index(of: name, to: "forget")
        try db.execute(sql: "UPDATE sink SET forgotten = 1 WHERE id = ?", arguments: [sinks[index].id])
        remove(index)
    }

    private func index(of name: SinkID, to verb: String) throws -> Int {
        guard let index = index(of: name) else { throw StoreError.unknownSink(name, verb) }
        return index
    }

    /// Deletes some rows of forgotten sinks; returns `false` if none is left.
    static func purge(in db: Database) throws -> Bool {
        guard let id = try Int64.fetchOne(db, sql: "SELECT id FROM sink WHERE forgotten = 1 LIMIT 1") else {
            return false
        }
        try db.execute(
            sql: """
                DELETE FROM delivery WHERE sink = ?1
                    AND number IN (SELECT number FROM delivery WHERE sink = ?1 ORDER BY number LIMIT 20000)
                """, arguments: [id])
        if db.changesCount == 0 {
            for table in ["sink_era WHERE sink", "sink_skip WHERE sink", "sink WHERE id"] {
                try db.execute(sql: "DELETE FROM \(table) = ?", arguments: [id])
            }
        }
        return true
    }

    /// Called when the store closes properly: stores that the offer marks are exact for the next opening.
    mutating func pause() {
        for (index, sink) in sinks.enumerated() where sink.isBusy && marks.offered(sink.name) != .max {
            change(index) { $0.isBusy = false }
        }
    }
}

extension SinkRecord {
    /// The number of versions in (after, through] that wait without a row.
    fileprivate func pending(after: Int64, through: Int64, in db: Database) throws -> Int64 {
        try match.runs(after: after, through: through).reduce(0) { sum, run in
            let sql = """
                SELECT count(*) FROM \(run.table.name) r \(run.index) WHERE \(run.conditions.joined(separator: " AND "))
                    AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.sink = \(id) AND d.number = r.number AND d.seq = r.seq)
                """
            return sum + (try Int64.fetchOne(db, sql: sql) ?? 0)
        }
    }

    /// The number of versions up to the head that wait without a row and were counted.
    func pending(through head: Int64, in db: Database) throws -> Int64 {
        try pending(after: cursor, through: counted, in: db)
            + pending(after: max(cursor, countingTo), through: head, in: db)
    }

    /// The row that a replay opens again; `nil` if the record is open already or the sink does not want it.
    func replay(of number: Int64, _ current: VersionProperties, in db: Database) throws -> DeliveryRow? {
        let row = try DeliveryRow.find(id, number, in: db)
        guard match.matches(current), isCounted(current.sequence), row?.isOpen != true else { return nil }
        if let row, row.sequence == current.sequence { return row }
        if current.sequence > cursor { return nil }
        if row == nil, hasPassed(current) { return .implied(sink: id, number: number, current) }
        var fresh = row ?? DeliveryRow(sink: id, number: number, sequence: current.sequence, state: .pending)
        fresh.sequence = current.sequence
        return fresh
    }
}

extension StoreError {
    static func unknownSink(_ name: SinkID, _ verb: String) -> StoreError {
        StoreError(.query, "\(verb) sink \(name): no sink of this name; `hub status` lists them")
    }
}
