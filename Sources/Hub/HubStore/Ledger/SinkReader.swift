import GRDB
import Samples

/// Finds the next records for a sink, within one snapshot of the store.
struct SinkReader {
    /// A page, and the decisions that the ledger must store before the page is handed out.
    struct Draft {
        var page: DeliveryPage
        var decisions: [(number: Int64, sequence: Int64, decision: HubDecision)] = []
        /// The highest sequence number in the page without a row; 0 for none.
        var offered: Int64 = 0
    }

    /// The maximum number of sequence numbers that one page searches if a narrow filter wants few of them.
    static let window: Int64 = 50_000
    /// The maximum number of versions that one page decides about without handing one out.
    private static let maximumDecisions = 2_000

    private let reader: SnapshotReader
    private let sink: SinkRecord
    private let rule: OfferRule
    private let offered: Int64
    private let inFlight: Set<Int64>
    /// Now, by the clock of waits.
    private let waitTime: Int64
    private let limits: DeliveryLimits
    private var db: Database { reader.db }

    init(
        _ reader: SnapshotReader, _ sink: SinkRecord, limits: DeliveryLimits, inFlight: Set<Int64>, offered: Int64,
        now: Int64,
        waitTime: Int64
    ) {
        (self.reader, self.sink, self.limits) = (reader, sink, limits)
        (self.inFlight, self.offered, self.waitTime) = (inFlight, offered, waitTime)
        rule = OfferRule(terms: sink.terms, now: now, since: limits.since)
    }

    func draft(after position: Int64) throws -> Draft {
        let after = max(position, sink.cursor)
        var draft = Draft(
            page: DeliveryPage(
                records: [], position: after, hasMore: false, paused: sink.paused, givenBefore: offered))
        if sink.paused != nil { return draft }
        var filling = Filling(limits)
        let due = try dueRows(filling.room)
        // A long replay must not delay new records until its end, so it first gets half of a page.
        let first = due.prefix((filling.room + 1) / 2)
        for row in first { try offer(row, &filling, &draft) }
        try scan(after, &filling, &draft)
        var given = first.count
        for row in due.dropFirst(first.count) where !filling.isFull {
            try offer(row, &filling, &draft)
            given += 1
        }
        if given < due.count || due.count == filling.room { draft.page.hasMore = true }
        var marks = MirrorMarks(reader, since: limits.since)
        try marks.mark(&draft.page.records)
        draft.page.nextDue = try nextDue()
        return draft
    }

    /// The remaining room of a page.
    private struct Filling {
        let room: Int
        private let bytes: Int
        private var count = 0
        private var size = 0

        init(_ limits: DeliveryLimits) {
            room = min(max(limits.records, 1), RecordQuery.maximumPage)
            bytes = limits.bytes
        }

        var isFull: Bool { count == room || count > 0 && size >= bytes }

        mutating func take(_ record: StoredRecord) {
            count += 1
            size += record.estimatedBytes
        }
    }

    // MARK: - Records with a row

    private func dueRows(_ limit: Int) throws -> [DeliveryRow] {
        let statement = try RawStatement(
            cached: "SELECT \(DeliveryRow.columns) FROM delivery WHERE sink = ?1 AND due <= ?2 ORDER BY due, number",
            in: db)
        defer { statement.clear() }
        statement.bind(1, sink.id)
        statement.bind(2, waitTime)
        var rows: [DeliveryRow] = []
        while rows.count < limit, try statement.step() {
            let row = try DeliveryRow(statement)
            if !inFlight.contains(row.number) { rows.append(row) }
        }
        return rows
    }

    private func nextDue() throws -> Int64? {
        let statement = try RawStatement(cached: "SELECT min(due) FROM delivery WHERE sink = ?1 AND due > ?2", in: db)
        defer { statement.clear() }
        statement.bind(1, sink.id)
        statement.bind(2, waitTime)
        return try statement.step() ? statement.optionalInteger(0) : nil
    }

    private func offer(_ row: DeliveryRow, _ filling: inout Filling, _ draft: inout Draft) throws {
        if filling.isFull { return }
        guard let current = try VersionLookup.current(row.number, in: db), current.sequence == row.sequence else {
            return
        }
        let stored: StoredRecord?
        if let version = row.departed {
            stored = try departure(row, current, from: version)
        } else {
            stored = sink.match.matches(current) ? try reader.records(numbers: [row.number]).first : nil
        }
        if let reason = try stored.map({ try skip($0, current, row) }) ?? .filter {
            draft.decisions.append((row.number, row.sequence, .skip(reason)))
        } else if let stored {
            draft.decisions.append((row.number, row.sequence, .offer))
            draft.page.records.append(stored)
            draft.page.fromRows.insert(stored.number)
            filling.take(stored)
        }
    }

    /// The retraction of a record that has left the sink's filter.
    ///
    /// `nil` for a day, which cannot leave a filter. Older hubs left such rows for sinks that want only retractions.
    private func departure(_ row: DeliveryRow, _ current: VersionProperties, from version: Int64) throws
        -> StoredRecord?
    {
        let statement = try RawStatement(
            cached: "SELECT \(SampleColumn.list) FROM sample_version WHERE number = ?1 AND seq = ?2", in: db)
        defer { statement.clear() }
        statement.bind(1, row.number)
        statement.bind(2, version)
        guard try statement.step() else { return nil }
        let lost = try SampleRow(statement, reader.termCache, db)
        var record = Departure.record(
            of: lost.sample.source, lost.sample.key, type: lost.sample.type, from: lost.assignment.person,
            number: row.number, sequence: row.sequence, cause: .person)
        if current.person == lost.personID, case .retraction(var retraction) = record.record {
            retraction.reason = "no longer of this type or kind"
            record.record = .retraction(retraction)
        }
        return record
    }

    // MARK: - Records after the cursor

    private func scan(_ after: Int64, _ filling: inout Filling, _ draft: inout Draft) throws {
        let head = sink.isCounting ? sink.counted : reader.head
        let end = min(head, after + SinkReader.window)
        let lanes = sink.match.runs(after: after, through: end).map { run in
            Lane(run.table, run.index, run.conditions, by: .sequence, sort: run.sort)
        }
        var merge = try LaneMerge(lanes, .sequence, nil, reader.termCache, in: db)
        while merge.front != nil {
            guard !filling.isFull, draft.decisions.count < SinkReader.maximumDecisions else {
                draft.page.hasMore = true
                return
            }
            guard let stored = try merge.next()?.record else { continue }
            draft.page.position = stored.sequence
            let row = try DeliveryRow.find(sink.id, stored.number, in: db)
            if row?.sequence == stored.sequence { continue }
            if inFlight.contains(stored.number) {
                draft.decisions.append((stored.number, stored.sequence, .setAside))
                continue
            }
            if let reason = try skip(stored, nil, row) {
                draft.decisions.append((stored.number, stored.sequence, .skip(reason)))
                continue
            }
            draft.page.records.append(stored)
            draft.offered = stored.sequence
            filling.take(stored)
        }
        draft.page.position = max(after, end)
        if end < head { draft.page.hasMore = true }
    }

    private func skip(_ stored: StoredRecord, _ facts: VersionProperties?, _ row: DeliveryRow?) throws -> SkipReason? {
        var wantsPuts = true
        if case .retraction = stored.record, let facts = try facts ?? VersionLookup.current(stored.number, in: db) {
            wantsPuts = row?.departed != nil || sink.match.wants(facts.kind)
        }
        return try rule.skip(stored, row, wantsPuts: wantsPuts) {
            try VersionLookup.mayHold(stored.number, row, sink, offered: offered, in: db)
        }
    }
}
