import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

/// SQLite's query plans for all possible queries.
@Suite struct PlanTests {
    /// Every combination of members that the protocol permits, with up to two values of each.
    private func combinations(_ epoch: String) throws -> [RecordQuery] {
        var queries = [RecordQuery()]
        func vary(_ changes: [(inout RecordQuery) -> Void]) {
            queries += queries.flatMap { query in
                changes.map { change in
                    var query = query
                    change(&query)
                    return query
                }
            }
        }
        let weight = try type("weight")
        vary([{ $0.types = [weight] }])
        vary([{ $0.persons = [.person("me")] }, { $0.persons = [.nobody] }])
        vary([{ $0.sources = ["ihealth-hs3"] }])
        vary([
            { $0.kinds = KindSelection([.quantity, .day], followsChanges: false) },
            { $0.kinds = KindSelection([.retraction], followsChanges: false) },
            { $0.kinds = KindSelection(nil, followsChanges: true) },
        ])
        vary([{ $0.from = 5_000_000_000_000 }, { ($0.from, $0.strictStart) = (0, true) }])
        vary([{ $0.to = 9_000_000_000_000 }])
        vary([{ $0.group = "g" }])
        vary([{ $0.isImplausible = true }])
        vary([{ $0.numbers = [1, 2, 3] }, { $0.since = Cursor(epoch: epoch, sequence: 0) }])
        vary([
            { $0.order = .time }, { $0.order = .newestFirst }, { $0.order = .sorted([.latestEnd]) },
            { $0.order = .sorted([.end, .newestFirst]) }, { $0.order = .latest },
        ])
        return queries.filter { $0.order == .sequence || $0.numbers == nil && $0.since == nil }
    }

    @Test func `every query uses an index, in order, and starts without reading earlier rows`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        _ = try await store.put(
            try sample("a"), try sample("a", 71), try sample("b", group: "g"), try sample("c", lasting: 7_200),
            try sample("d", lasting: 9_000_000))
        _ = try await store.put([.sample(try sample("e"))], .nobody(reason: "no rule"))
        _ = try await store.retract(try sample("b"))
        _ = try await store.put([.day(try day("2024-01-01", 70))])
        let combinations = try combinations(store.epoch)
        let plans = try await store.pool.read { db in
            // Thousands of queries use only a few forms of SQL.
            var forms: [String: RecordQuery] = [:]
            for query in combinations {
                let filter = try Filter(query, in: db)
                for lane in try SnapshotReader(db, TermCache()).lanes(filter) {
                    for sql in lane.statements { forms[sql] = query }
                }
            }
            return try forms.flatMap { sql, query in
                let arguments = StatementArguments(
                    Array(repeating: 1, count: try db.makeStatement(sql: sql).sqliteParameterCount))
                return try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)", arguments: arguments).map {
                    (plan: $0["detail"] as String, query: query, sql: sql)
                }
            }
        }
        #expect(plans.count > 100)
        for (plan, query, sql) in plans {
            // At most 1,000 records can be named, and a group has about as many.
            let isSmall = query.numbers != nil || query.group != nil
            let isFine =
                plan.hasPrefix("SEARCH") || plan.hasPrefix("CORRELATED") || isSmall && plan.hasPrefix("USE TEMP B-TREE")
            #expect(isFine, "\(plan): \(sql)")
        }
    }
}

extension Statement {
    fileprivate var sqliteParameterCount: Int {
        // SQLite counts `?7` without `?6` as seven parameters.
        (1...9).last { sql.contains("?\($0)") } ?? 0
    }
}
