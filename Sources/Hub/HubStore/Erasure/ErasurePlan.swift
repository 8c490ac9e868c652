import GRDB
import Samples

extension ErasureSelection {
    /// The numbers of the chosen records, in pages.
    ///
    /// - Throws: `interrupted` if the task is cancelled.
    func pages(
        in store: Store, _ body: ([Int64]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        switch self {
        case .numbers(let numbers):
            // A number that is given twice is one record.
            var met: Set<Int64> = []
            let own = numbers.filter { met.insert($0).inserted }
            var rest = try await store.read("plan an erasure") { db in try RecordGroup.withMembers(own, in: db) }[...]
            while !rest.isEmpty {
                try Self.refuseIfCancelled()
                try await body(Array(rest.prefix(RecordQuery.maximumPage)))
                rest = rest.dropFirst(RecordQuery.maximumPage)
            }
        case .matching(var query):
            query.kinds = KindSelection(Set(RecordKind.allCases), followsChanges: false)
            try await Self.pages(of: query, in: store) { records throws(StoreError) in
                try await body(records.map(\.number))
            }
            // Day values that retention kept of a source's samples are stored under the hub's name, but their values are the source's.
            guard let sources = query.sources, !sources.contains(IntakeCounts.hand) else { return }
            let series = Set(sources.map(ThinnedStatistics.series))
            var kept = query
            (kept.sources, kept.kinds) = ([IntakeCounts.hand], KindSelection([.day], followsChanges: false))
            try await Self.pages(of: kept, in: store) { records throws(StoreError) in
                let found = records.filter {
                    if case .day(let day) = $0.record { series.contains(day.series) } else { false }
                }
                if !found.isEmpty { try await body(found.map(\.number)) }
            }
        }
    }

    private static func pages(
        of query: RecordQuery, in store: Store, _ body: ([StoredRecord]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var query = query
        (query.order, query.limit, query.next) = (.time, RecordQuery.maximumPage, nil)
        repeat {
            try refuseIfCancelled()
            let page = try await store.page(query)
            try await body(page.records)
            query.next = page.next
        } while query.next != nil
    }

    static func refuseIfCancelled() throws(StoreError) {
        guard !Task.isCancelled else { throw StoreError(.interrupted, "erase: ended before any record was erased") }
    }
}

extension ErasurePlan {
    mutating func add(_ number: Int64, _ sinks: [(sink: SinkRecord, offered: Int64)], in db: Database)
        throws
    {
        guard let facts = try VersionLookup.current(number, in: db), try !Tombstones.isErased(number, in: db) else {
            unknown.append(number)
            return
        }
        records += 1
        first = min(first, number)
        versions += 1 + (try VersionCount.of(number, in: db))
        bytes += try ErasurePlan.bytes(of: number, in: db)
        for (sink, offered) in sinks {
            let row = try DeliveryRow.find(sink.id, number, in: db)
            let holds =
                try row.map { $0.holds } ?? (sink.hasPassed(facts) && !facts.isRetraction)
                || VersionLookup.mayHold(number, row, sink, offered: offered, in: db)
                || facts.sequence > sink.cursor && facts.sequence <= offered && sink.match.matches(facts)
            if holds { self.sinks[sink.name, default: 0] += 1 }
        }
    }

    /// The size of all versions: the lengths of their texts, and 100 bytes per row for the rest.
    private static func bytes(of number: Int64, in db: Database) throws -> Int64 {
        let texts = "100 + ifnull(length(metadata), 0) + ifnull(length(extra), 0) + ifnull(length(basis), 0)"
        let parts = ["sample", "sample_version", "day", "day_version"].map { table in
            let shared = "ifnull((SELECT length(text) FROM term t WHERE t.id = r.shared_metadata), 0)"
            let more = table.hasPrefix("sample") ? " + length(key) + ifnull(length(content), 0) + \(shared)" : ""
            return """
                SELECT \(texts)\(more) + ifnull((SELECT length(bytes) FROM payload p WHERE p.seq = r.seq), 0) AS size
                FROM \(table) r WHERE number = ?1
                """
        }
        let sql = "SELECT sum(size) FROM (\(parts.joined(separator: " UNION ALL ")))"
        return try RawStatement.integer(sql, number, in: db) ?? 0
    }
}
