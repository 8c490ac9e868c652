import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// A page that ends early returns its end, and no record is missed.
@Suite struct SliceTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private static let whole = PageTimeLimit(rows: .max, duration: .zero)
    private static let persons = ["anna", "ben"]
    private static let types = ["weight", "heartRate", "x.test.a", "x.test.b"]

    private func random(_ random: inout SeededGenerator, _ store: Store) throws -> RecordQuery {
        func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }
        var query = RecordQuery()
        query.order = [.sequence, .time, .newestFirst].randomElement(using: &random) ?? .sequence
        if chance(0.4) { query.types = Set(try SliceTests.types.filter { _ in chance(0.5) }.map(TypeID.init)) }
        if chance(0.4) { query.persons = [chance(0.5) ? .nobody : .person("anna")] }
        if chance(0.3) { query.sources = ["p\(Int.random(in: 0..<3, using: &random))"] }
        if chance(0.3) { query.kinds = KindSelection([.day, .retraction], followsChanges: false) }
        if chance(0.3) { query.kinds = KindSelection([.quantity], followsChanges: chance(0.5)) }
        if chance(0.5) { query.from = Int64.random(in: 0..<400, using: &random) * 60_000_000 }
        if chance(0.4) { query.to = (query.from ?? 0) + Int64.random(in: 1..<300, using: &random) * 60_000_000 }
        (query.strictStart, query.strictEnd) = (chance(0.2), chance(0.2))
        if chance(0.1) { query.group = "g\(Int.random(in: 0..<3, using: &random))" }
        if chance(0.1) { query.isImplausible = true }
        if query.order == .sequence {
            if chance(0.1) { query.numbers = Set((0..<30).map { _ in Int64.random(in: 1..<400, using: &random) }) }
            if chance(0.2) {
                query.since = Cursor(epoch: store.epoch, sequence: Int64.random(in: 0..<store.head, using: &random))
            }
        }
        return query
    }

    private func write(_ count: Int, _ random: inout SeededGenerator, _ store: Store) async throws {
        let people = try await store.ensurePersons(SliceTests.persons, recordedAt: 1)
        // Several records per commit, because each commit waits for the disk.
        var intakes: [IntakeRecord] = []
        for _ in 0..<count {
            let number = Int.random(in: 0..<200, using: &random)
            if number % 11 == 0 {
                var day = try day("1970-01-01", Double(number), person: "anna", series: "s\(number % 3)")
                day.date = LocalDate(daysSinceEpoch: number % 5)
                intakes.append(IntakeRecord(record: .day(day), assignment: .person(people[0])))
                continue
            }
            // Many begin at the same moment, and a few are very long.
            let length: [Int64] = [0, 0, 0, 600, 7_200, 90_000, 5_000_000]
            let value = try sample(
                "\(number)", Double.random(in: 50..<90, using: &random),
                type: SliceTests.types.randomElement(using: &random) ?? "weight",
                source: Source(plugin: "p\(number % 3)"), at: Int64.random(in: 0..<40, using: &random) * 600,
                lasting: length.randomElement(using: &random) ?? 0, group: number % 7 == 0 ? "g\(number % 3)" : nil)
            if number % 13 == 0 {
                let retraction = Retraction(identity: .sample(value.source, value.key), source: value.source)
                intakes.append(IntakeRecord(record: .retraction(retraction), assignment: .nobody(reason: "")))
                continue
            }
            let owner = Int.random(in: 0..<3, using: &random)
            var intake = IntakeRecord(
                record: .sample(value),
                assignment: owner == 2 ? .nobody(reason: "no rule") : .person(people[owner]))
            if number % 5 == 0 { intake.implausible = .value }
            intakes.append(intake)
        }
        for first in stride(from: 0, to: intakes.count, by: 20) {
            let batch = IntakeBatch(instance: "scale", records: Array(intakes[first...].prefix(20)))
            _ = try await store.commit([batch], recordedAt: 2)
        }
    }

    @Test(arguments: Thoroughness.some([1, 2, 3] as [UInt64]))
    func `R8.42 R8.2 an answer in slices of any size equals the answer in one piece`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await write(600, &random, store)
        for _ in 0..<30 {
            var query = try self.random(&random, store)
            let whole = try await store.all(query, within: Self.whole).records
            query.limit = [1_000, 7, 1].randomElement(using: &random) ?? 1_000
            let rows = [1, 2, 5, 33].randomElement(using: &random) ?? 1
            let pieces = try await store.all(query, within: PageTimeLimit(rows: rows, duration: .zero)).records
            #expect(pieces.map(\.number) == whole.map(\.number), "\(query), \(rows)")
            #expect(Set(pieces) == Set(whole), "\(query), \(rows)")
        }
    }

    @Test(arguments: Thoroughness.some([5, 6, 7] as [UInt64]))
    func `records that do not change between slices are returned once, whatever else changes`(seed: UInt64) async throws
    {
        var random = SeededGenerator(seed: seed)
        try await write(400, &random, store)
        for _ in 0..<12 {
            var query = try self.random(&random, store)
            query.since = nil
            query.numbers = nil
            query.kinds = KindSelection(RecordKind.samples.union([.day, .retraction]), followsChanges: true)
            if query.order != .sequence { query.kinds = KindSelection(nil, followsChanges: false) }
            let before = try await store.all(query, within: Self.whole).records
            let head = store.head
            var (paged, asked) = ([StoredRecord](), query)
            while true {
                let page = try await store.page(asked, within: PageTimeLimit(rows: 25, duration: .zero))
                #expect(page.cursor.sequence == head)
                paged += page.records
                guard let next = page.next else { break }
                asked.next = next
                try await write(1, &random, store)
            }
            let after = try await store.all(query, within: Self.whole).records
            let changes = RecordQuery { $0.since = Cursor(epoch: store.epoch, sequence: head) }
            let changed = Set(try await store.all(changes, within: Self.whole).records.map(\.number))
            let unchanged = Set(before).intersection(after).filter { !changed.contains($0.number) }
            #expect(paged.filter(unchanged.contains) == before.filter(unchanged.contains), "\(query)")
            #expect(Set(paged.map(\.sequence)).count == paged.count, "\(query)")
        }
    }

    @Test func `R8.42 an empty page returns how far it has read`() async throws {
        _ = try await store.put(try (0..<10).map { .sample(try sample("\($0)")) })
        var query = try RecordQuery { ($0.types, $0.sources) = ([try type("weight")], ["ihealth-hs3"]) }
        query.kinds = KindSelection([.category], followsChanges: false)
        let page = try await store.page(query, within: PageTimeLimit(rows: 4, duration: .zero))
        #expect(page.records.isEmpty && page.next != nil)
        #expect(page.reached == 4)
    }

    @Test func `more lanes than can be open at once are merged like a few`() async throws {
        _ = try await store.put(
            try (0..<1_000).map { .sample(try sample("\($0)", type: "x.test.t\($0 % 150)", at: Int64($0 / 4))) })
        for order in [RecordQuery.Order.time, .newestFirst] {
            let query = RecordQuery { ($0.order, $0.limit) = (order, 300) }
            let numbers = try await store.all(query).records.map(\.number)
            #expect(numbers == (order == .time ? Array(1...1_000) : (1...1_000).reversed()))
        }
    }
}
