import GRDB

/// The writer's cached state of the sinks.
///
/// With it, a new record costs the ledger one addition.
struct LedgerCache {
    /// Only the holder of the transaction may read it.
    ///
    /// Use `change` to modify it.
    private(set) var sinks: [SinkRecord]
    private var changed: Set<Int> = []
    let marks: OfferMarks

    init(from db: Database, _ marks: OfferMarks) throws {
        self.marks = marks
        // No cursor may move back for readers.
        sinks = try SinkRecord.all(at: SequenceHead.read(in: db), in: db)
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
    mutating func save(to db: Database, head: Int64) throws {
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
