import GRDB
import Synchronization

/// The writer's cached state of the sinks.
///
/// With it, a new record costs the ledger one addition.
struct LedgerCache {
    /// Only the holder of the transaction may read it.
    ///
    /// Use `change` to modify it.
    private(set) var sinks: [SinkRecord]
    private var changed: Set<Int> = []

    init(from db: Database) throws {
        let head = try Int64.fetchOne(db, sql: SequenceHead.sql) ?? 0
        // A cursor that only follows the head is not saved. Advance it, so that it never moves back for readers.
        sinks = try SinkRecord.all(in: db).map { sink in
            var sink = sink
            sink.advance(to: head)
            return sink
        }
    }

    var isEmpty: Bool { sinks.isEmpty }

    func index(of name: SinkID) -> Int? { sinks.firstIndex { $0.name == name } }

    mutating func change(_ index: Int, _ body: (inout SinkRecord) throws -> Void) rethrows {
        try body(&sinks[index])
        changed.insert(index)
    }

    mutating func append(_ sink: SinkRecord) {
        changed.insert(sinks.count)
        sinks.append(sink)
    }

    mutating func remove(_ index: Int) {
        sinks.remove(at: index)
        // The indices have moved. Writing unchanged rows is harmless.
        changed = Set(sinks.indices)
    }

    /// Counts the new records of a stream: first versions, by kind.
    mutating func count(_ fresh: SIMD8<Int32>, on key: StreamKey) {
        guard key.person != 0 else { return }
        for index in sinks.indices {
            var count: Int64 = 0
            for kind in 0...VersionProperties.day where fresh[kind] > 0 {
                if sinks[index].match.matches(type: key.type, person: key.person, kind: kind, isRetraction: false) {
                    count += Int64(fresh[kind])
                }
            }
            guard count > 0 else { continue }
            change(index) { sink in
                sink.account.wanted += count
                sink.account.pending += count
            }
        }
    }

    /// Updates filters that name persons after persons were added.
    mutating func personsChanged(in db: Database) throws {
        for index in sinks.indices {
            for era in sinks[index].eras.indices where sinks[index].eras[era].filter.persons != nil {
                sinks[index].eras[era].match = try SinkMatch(sinks[index].eras[era].filter, in: db)
            }
        }
    }

    /// Removes the messages of sinks about a record, because they may quote it.
    mutating func forgetReasons(_ number: Int64, in db: Database) throws {
        for index in sinks.indices {
            let row = try DeliveryRow.find(sinks[index].id, number, in: db)
            // This record may have caused the last failure.
            if row?.reason != nil { change(index) { $0.lastFailure = nil } }
        }
        try RawStatement.run(
            """
            UPDATE delivery SET reason = CASE state WHEN \(DeliveryRow.State.skipped.rawValue) THEN reason END
            WHERE sink IN (SELECT id FROM sink) AND number = ?1
            """, number, in: db)
    }

    /// Writes the changed sinks, in the transaction that changed them.
    mutating func save(to db: Database, head: Int64, _ marks: OfferMarks) throws {
        for index in sinks.indices {
            sinks[index].advance(to: head)
            guard changed.contains(index) else { continue }
            let offered = marks.offered(sinks[index].name)
            if offered != .max { sinks[index].offered = offered }
            try sinks[index].save(to: db)
        }
        changed.removeAll(keepingCapacity: true)
    }
}

/// For each sink, the sequence number up to which versions may have been handed out without a known answer.
///
/// The target may have a version that was handed out without an answer, so a retraction of it must reach the target. The marks are kept in memory,
/// because a durable mark for each page would cost a commit. They are written with the sinks' rows and when the store closes. After a crash, every
/// stored version counts as handed out.
final class OfferMarks: Sendable {
    private struct Mark {
        var offered: Int64
        var isOpen = false
        /// Pages being read.
        ///
        /// Until each is finished, every version may be handed out.
        var claims = 0
    }

    private let marks = Mutex<[SinkID: Mark]>([:])

    /// Reads the marks from the file.
    ///
    /// For sinks of a process that did not close the store, every version counts as handed out.
    init(_ sinks: [SinkRecord], head: Int64) {
        marks.withLock { marks in
            for sink in sinks { marks[sink.name] = Mark(offered: sink.isBusy ? head : sink.offered) }
        }
    }

    /// Allows pages for the sink.
    func open(_ sink: SinkID) {
        marks.withLock { $0[sink, default: Mark(offered: 0)].isOpen = true }
    }

    func forget(_ sink: SinkID) {
        marks.withLock { $0[sink] = nil }
    }

    /// Begins a page.
    ///
    /// Returns the mark before it, or `nil` if the sink is not open.
    func claim(_ sink: SinkID) -> Int64? {
        marks.withLock { marks in
            guard var mark = marks[sink], mark.isOpen else { return nil }
            let before = mark.claims > 0 ? .max : mark.offered
            mark.claims += 1
            marks[sink] = mark
            return before
        }
    }

    /// Ends a page that handed out versions up to `sequence`; 0 for none.
    func release(_ sink: SinkID, through sequence: Int64) {
        marks.withLock { marks in
            guard var mark = marks[sink] else { return }
            mark.claims -= 1
            mark.offered = max(mark.offered, sequence)
            marks[sink] = mark
        }
    }

    /// The highest sequence number that may have been handed out.
    func offered(_ sink: SinkID) -> Int64 {
        marks.withLock { marks in
            guard let mark = marks[sink] else { return 0 }
            return mark.claims > 0 ? .max : mark.offered
        }
    }
}
