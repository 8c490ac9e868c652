import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// Sort orders without an index, and the latest record of each person and type.
@Suite struct SortTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private static let types = ["weight", "heartRate", "stepCount"]
    private static let orders: [[SortKey]] =
        SortKey.allCases.map { [$0] }
        + SortKey.allCases.flatMap { first in SortKey.allCases.filter { $0.end != first.end }.map { [first, $0] } }

    private static func write(_ count: Int, from first: Int = 0, _ random: inout SeededGenerator, _ store: Store)
        async throws
    {
        let people = try await store.ensurePersons(["anna", "ben"], recordedAt: 1)
        let lengths: [Int64] = [0, 0, 1, 60, 3_600, 7_200, 90_000, 5_000_000, 40_000_000]
        let intakes = try (first..<first + count).map { index in
            let value = try sample(
                "\(index)", Double(index % 10), type: types.randomElement(using: &random) ?? "",
                source: Source(plugin: "p\(index % 3)"), at: Int64.random(in: 0..<40, using: &random) * 1_800,
                lasting: lengths.randomElement(using: &random) ?? 0, group: index % 7 == 0 ? "g" : nil)
            let owner = Int.random(in: 0..<3, using: &random)
            var intake = IntakeRecord(
                record: .sample(value), assignment: owner == 2 ? .nobody(reason: "no rule") : .person(people[owner]))
            if index % 5 == 0 { intake.implausible = .value }
            return intake
        }
        for first in stride(from: 0, to: intakes.count, by: 50) {
            let batch = IntakeBatch(instance: "scale", records: Array(intakes[first...].prefix(50)))
            _ = try await store.commit([batch], recordedAt: 2)
        }
    }

    /// Start and end; a day ends a microsecond before the next midnight UTC.
    private static func span(_ record: StoredRecord) -> (start: Int64, end: Int64) {
        switch record.record {
        case .sample(let sample): return (sample.start.microseconds, sample.end.microseconds)
        case .day(let day):
            let start = Int64(day.date.daysSinceEpoch) * 86_400_000_000
            return (start, start + 86_399_999_999)
        case .retraction: return (0, 0)
        }
    }

    private static func precedes(_ left: StoredRecord, _ right: StoredRecord, _ keys: [SortKey]) -> Bool {
        for key in keys {
            let (left, right) = (span(left), span(right))
            let (one, other) = key.end == .start ? (left.start, right.start) : (left.end, right.end)
            if one != other { return key.isDown ? one > other : one < other }
        }
        return keys[0].isDown ? left.number > right.number : left.number < right.number
    }

    private static func random(_ random: inout SeededGenerator) throws -> RecordQuery {
        func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }
        var query = RecordQuery { $0.kinds = chance(0.5) ? nil : KindSelection(nil, followsChanges: false) }
        if chance(0.4) { query.types = Set(try types.filter { _ in chance(0.5) }.map(TypeID.init)) }
        if chance(0.3) { query.persons = [chance(0.5) ? .nobody : .person("anna")] }
        if chance(0.3) { query.sources = ["p1"] }
        if chance(0.5) { query.from = Int64.random(in: 0..<40, using: &random) * 1_800_000_000 }
        if chance(0.4) { query.to = (query.from ?? 0) + Int64.random(in: 1..<30, using: &random) * 1_800_000_000 }
        (query.strictStart, query.strictEnd) = (chance(0.2), chance(0.2))
        if chance(0.15) { query.group = "g" }
        if chance(0.15) { query.isImplausible = true }
        if chance(0.3) { query.condition = RecordQuery.Where(.duration([Comparison(.over, 0)]), as: "long") }
        return query
    }

    @Test(arguments: Thoroughness.some([1, 2, 3] as [UInt64]))
    func `R8.85 R8.2 records are returned in the order of any keys, in pieces of any size`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await Self.write(160, &random, store)
        _ = try await store.put(try (0..<8).map { .day(try day("1970-01-0\($0 + 1)", 70)) })
        _ = try await store.retract(try sample("3", source: Source(plugin: "p0")))
        for round in 0..<24 {
            let keys = Self.orders[round % Self.orders.count]
            var query = try Self.random(&random)
            query.order = .time
            let whole = try await store.all(query, within: PageTimeLimit(rows: .max, duration: .zero)).records
            query.order = .sorted(keys)
            query.limit = [1_000, 60, 9].randomElement(using: &random) ?? 9
            let slice = PageTimeLimit(rows: [3, 9, 40, .max].randomElement(using: &random) ?? 1, duration: .zero)
            let pieces = try await store.all(query, within: slice).records
            let expected = whole.sorted { Self.precedes($0, $1, keys) }
            #expect(pieces.map(\.number) == expected.map(\.number), "seed \(seed), \(keys), \(query), \(slice)")
        }
    }

    @Test(arguments: Thoroughness.some([4, 5] as [UInt64]))
    func `R8.2 records that do not change between pages are returned once, in any order`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await Self.write(200, &random, store)
        for keys in Self.orders {
            var query = RecordQuery()
            (query.order, query.limit) = (.sorted(keys), 40)
            let before = try await store.all(query, within: .usual).records
            var (seen, changed): ([Int64], Set<Int64>) = ([], [])
            while true {
                let page = try await store.page(query, within: PageTimeLimit(rows: 10, duration: .zero))
                seen += page.records.map(\.number)
                // One record moves, and one is new.
                let moved = Int.random(in: 0..<200, using: &random)
                let source = Source(plugin: "p\(moved % 3)")
                if let old = try await store.record(.sample(source, try #require(RecordKey("\(moved)")))) {
                    changed.insert(old.number)
                }
                _ = try await store.put(
                    try sample(
                        "\(moved)", Double(seen.count), source: source, at: Int64.random(in: 0..<9, using: &random)),
                    try sample(
                        "\(seed) \(keys) \(seen.count)".replacing(" ", with: "-"),
                        at: Int64.random(in: 0..<9_999, using: &random)))
                guard let next = page.next else { break }
                query.next = next
            }
            let unchanged = before.map(\.number).filter { !changed.contains($0) }
            #expect(seen.filter(Set(unchanged).contains) == unchanged, "\(keys)")
        }
    }

    @Test(arguments: Thoroughness.some([6, 7, 8] as [UInt64]))
    func `R8.86 the latest record of each person and type is the one that ends last, in pieces of any size`(
        seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        try await Self.write(250, &random, store)
        _ = try await store.put([.day(try day("1975-01-01", 70))])
        for _ in 0..<40 {
            var query = try Self.random(&random)
            (query.group, query.isImplausible, query.kinds) = (nil, false, KindSelection(nil, followsChanges: false))
            query.order = .sorted([.latestEnd])
            var expected: [String: Int64] = [:]
            for record in try await store.all(query, within: .usual).records {
                let owner = "\(record.type) \(record.assignment.person?.name ?? "")"
                if expected[owner] == nil { expected[owner] = record.number }
            }
            query.order = .latest
            query.limit = [1_000, 2, 1].randomElement(using: &random) ?? 1
            let slice = PageTimeLimit(rows: [1, 30, .max].randomElement(using: &random) ?? 1, duration: .zero)
            let latest = try await store.all(query, within: slice).records
            #expect(latest.map(\.number).sorted() == expected.values.sorted(), "seed \(seed), \(query)")
        }
    }

    @Test func `the most recent is what ended last, not what began last`() async throws {
        _ = try await store.put(try sample("long", at: 0, lasting: 90_000), try sample("late", at: 80_000, lasting: 60))
        var query = RecordQuery()
        (query.order, query.limit) = (.sorted([.latestEnd]), 1)
        #expect(try await store.page(query).records.map(\.number) == [1])
        query.order = .newestFirst
        #expect(try await store.page(query).records.map(\.number) == [2])
    }

    @Test func `R8.85 records too close together to be sorted are refused, and can be queried by time`() async throws {
        _ = try await store.put(try (0..<60).map { .sample(try sample("\($0)", lasting: 60 - Int64($0))) })
        let slice = PageTimeLimit(rows: 1, duration: .zero, widest: 40)
        for keys in [[SortKey.latestEnd], [.time, .end]] {
            var query = RecordQuery()
            (query.order, query.limit) = (.sorted(keys), 10)
            let failure = await failure { _ = try await store.page(query, within: slice) }
            #expect(failure?.code == .query && failure?.message.contains("ask by time") == true)
        }
    }

    @Test func `a page token made up by a client is refused, whatever its numbers`() async throws {
        _ = try await store.put(try sample("a"))
        for order in [RecordQuery.Order.sorted([.latestEnd]), .latest, .time, .newestFirst] {
            for number in [Int64.min, .max, .min + 1] {
                var query = RecordQuery { $0.order = order }
                query.next = PageToken(epoch: store.epoch, head: 1, key: number, second: number, number: number).text(
                    for: query)
                #expect(await failure { _ = try await store.page(query) }?.code == .token, "\(order)")
                query.next = PageToken(epoch: store.epoch, head: 1, key: number, number: number).text(for: query)
                #expect(await failure { _ = try await store.page(query) }?.code == .token, "\(order)")
            }
        }
    }
}
