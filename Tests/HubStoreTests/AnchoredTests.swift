import GRDB
import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// Clients that follow the answer of a query by asking for the changes since their last cursor.
@Suite struct AnchoredTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private static let types = ["weight", "height", "heartRate"]
    private static let sources = [Source(plugin: "p0"), Source(plugin: "p0", device: "d"), Source(plugin: "p1")]

    /// The records that a client has for a query.
    private struct Follower {
        var query: RecordQuery
        var records: [Int64: StoredRecord] = [:]
        var anchor: Samples.Cursor?
        var told = 0
        var ceased = 0

        /// Asks for the changes since the anchor, or for all records the first time; runs `between` between the pages.
        mutating func ask(_ store: Store, _ between: () async throws -> Void) async throws {
            var asked = query
            asked.since = anchor
            if anchor == nil { asked.kinds = fresh.kinds }
            var page = try await store.page(asked, within: PageTimeLimit(rows: 20, duration: .zero))
            let next = page.cursor
            while true {
                for record in page.records { take(record) }
                guard let mark = page.next else { break }
                try await between()
                asked.next = mark
                page = try await store.page(asked, within: PageTimeLimit(rows: 20, duration: .zero))
            }
            anchor = next
            query.order = .sequence
        }

        private mutating func take(_ record: StoredRecord) {
            guard case .retraction(let retraction) = record.record else {
                records[record.number] = record
                return
            }
            told += 1
            if retraction.reason == Filter.ceased, records[record.number] != nil { ceased += 1 }
            records[record.number] = nil
        }

        /// The same query for the current records, without retractions.
        var fresh: RecordQuery {
            var fresh = query
            fresh.kinds = KindSelection(query.kinds?.standing, followsChanges: false)
            return fresh
        }
    }

    private static func condition(_ depth: Int, _ random: inout SeededGenerator) throws -> RecordCondition {
        func part() throws -> RecordCondition { try condition(depth - 1, &random) }
        switch Int.random(in: depth > 0 ? 0..<9 : 3..<9, using: &random) {
        case 0: return .all([try part(), try part()])
        case 1: return .any([try part(), try part()])
        case 2: return .not(try part())
        case 3, 4:
            let comparison = Comparison(
                Relation.allCases.randomElement(using: &random) ?? .over, Double(Int.random(in: 0..<10, using: &random))
            )
            return .quantity([], unit: "kg", [comparison])
        case 5: return .metadata("m", .present)
        case 6: return .types([try type(types.randomElement(using: &random) ?? "")])
        case 7: return .time(from: Int64.random(in: 0..<20, using: &random) * 3_600_000_000, to: nil, strict: [])
        default: return .duration([Comparison(.over, 0)])
        }
    }

    private static func query(_ random: inout SeededGenerator) throws -> RecordQuery {
        func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }
        var query = RecordQuery()
        if chance(0.4) { query.types = Set(try types.filter { _ in chance(0.5) }.map(TypeID.init)) }
        if chance(0.4) {
            query.persons =
                [[.nobody], [.person("anna")], [.person("anna"), .person("ben")]][Int.random(in: 0..<3, using: &random)]
        }
        if chance(0.2) { query.sources = ["p0"] }
        query.kinds = KindSelection(
            [nil, [.quantity, .day], [.quantity]].randomElement(using: &random) ?? nil, followsChanges: true)
        if chance(0.4) { query.from = Int64.random(in: 0..<20, using: &random) * 3_600_000_000 }
        if chance(0.3) { query.to = (query.from ?? 0) + Int64.random(in: 1..<20, using: &random) * 3_600_000_000 }
        (query.strictStart, query.strictEnd) = (chance(0.2), chance(0.2))
        if chance(0.2) { query.group = "g" }
        if chance(0.2) { query.isImplausible = true }
        if chance(0.7) {
            let condition = try condition(3, &random)
            query.condition = RecordQuery.Where(condition, as: "\(condition)")
        }
        if chance(0.3) {
            query.order = [.time, .newestFirst, .sorted([.latestEnd])].randomElement(using: &random) ?? .time
        }
        query.limit = [1_000, 5].randomElement(using: &random) ?? 5
        return query
    }

    /// Random changes to the store by sources and people.
    private final class World {
        let store: Store
        let people: [Person]
        var random: SeededGenerator
        var erasures = 0

        init(_ store: Store, seed: UInt64) async throws {
            (self.store, random) = (store, SeededGenerator(seed: seed))
            people = try await store.ensurePersons(["anna", "ben"], recordedAt: 1)
        }

        private func sample() throws -> Sample {
            let key = Int.random(in: 0..<60, using: &random)
            var sample = try HubStoreTests.sample(
                "\(key)", Double(Int.random(in: 0..<10, using: &random)),
                type: AnchoredTests.types[key % 10 == 0 ? Int.random(in: 0..<3, using: &random) : key % 3],
                source: AnchoredTests.sources[key % 3], at: Int64.random(in: 0..<20, using: &random) * 3_600,
                lasting: [0, 0, 60, 7_200].randomElement(using: &random) ?? 0,
                group: [nil, nil, "g", "h"].randomElement(using: &random) ?? nil)
            if Bool.random(using: &random) { sample.metadata = JSONObject(#"{"m":1}"#) }
            return sample
        }

        private func numbers() -> [Int64] {
            (0..<Int.random(in: 1...3, using: &random)).map { _ in
                Int64.random(in: 1...max(1, store.head), using: &random)
            }
        }

        func act() async throws {
            switch Int.random(in: 0..<12, using: &random) {
            case 0...5:
                let intakes = try (0..<Int.random(in: 1...8, using: &random)).map { _ in
                    let owner = Int.random(in: 0..<3, using: &random)
                    var intake = IntakeRecord(
                        record: .sample(try sample()),
                        assignment: owner == 2 ? .nobody(reason: "no rule") : .person(people[owner]))
                    if Int.random(in: 0..<4, using: &random) == 0 { intake.implausible = .value }
                    return intake
                }
                _ = try await store.commit([IntakeBatch(instance: "scale", records: intakes)], recordedAt: 2)
            case 6: _ = try await store.retract(try sample())
            case 7:
                let date = "1970-01-0\(Int.random(in: 1...3, using: &random))"
                let day = try day(date, Double(Int.random(in: 0..<10, using: &random)), person: "anna")
                let isRetraction = Int.random(in: 0..<3, using: &random) == 0
                let retraction = Retraction(
                    identity: .day(person: day.person, type: day.type, series: day.series, date: day.date),
                    source: day.source)
                _ = try await store.put(
                    [isRetraction ? .retraction(retraction) : .day(day)], .person(people[0]), instance: "gap-filler")
            case 8:
                let numbers = numbers()
                _ = try await store.carryOut(
                    Bool.random(using: &random)
                        ? .retract(numbers: numbers, reason: nil) : .undoRetraction(numbers: numbers), recordedAt: 3)
            case 9:
                var edit = SampleEdit(type: try type(AnchoredTests.types.randomElement(using: &random) ?? ""))
                edit.value = .quantity(Double(Int.random(in: 0..<10, using: &random)), unit: "kg")
                let number = numbers()[0]
                _ = try await store.carryOut(
                    Bool.random(using: &random) ? .edit(number: number, edit) : .undoEdit(numbers: [number]),
                    recordedAt: 3)
            case 10:
                let owner = Int.random(in: 0..<3, using: &random)
                _ = try await store.carryOut(
                    .assign(
                        numbers: numbers(), to: owner == 2 ? .nobody(reason: "by hand") : .person(people[owner]),
                        wholeGroups: Bool.random(using: &random), reason: nil), recordedAt: 3)
            default:
                guard erasures < 3 else { return }
                erasures += 1
                guard try await store.beginErasure(of: .numbers(numbers()), removingCopies: true) > 0 else { return }
                try await store.finishErasing(recordedAt: 4)
            }
        }
    }

    @Test(arguments: Thoroughness.some([1, 2, 3] as [UInt64]))
    func `R8.130 a client that follows the changes of a query ends with the query's current answer`(seed: UInt64)
        async throws
    {
        let world = try await World(store, seed: seed)
        var random = SeededGenerator(seed: seed &+ 1_000)
        for _ in 0..<10 { try await world.act() }
        var followers = try (0..<9).map { _ in Follower(query: try Self.query(&random)) }
        // Some begin with all changes there ever were.
        for place in stride(from: 0, to: 9, by: 3) where followers[place].query.order == .sequence {
            followers[place].anchor = Samples.Cursor(epoch: store.epoch, sequence: 0)
        }
        for round in 0..<5 {
            for place in followers.indices where round == 0 || Int.random(in: 0..<3, using: &random) > 0 {
                try await followers[place].ask(store) {
                    if Int.random(in: 0..<10, using: &random) == 0 { try await world.act() }
                }
            }
            for _ in 0..<10 { try await world.act() }
        }
        var (found, ceased) = (0, 0)
        for place in followers.indices {
            try await followers[place].ask(store) {}
            let follower = followers[place]
            let expected = try await store.all(follower.fresh).records
            let isSame = Dictionary(uniqueKeysWithValues: expected.map { ($0.number, $0) }) == follower.records
            #expect(isSame, "seed \(seed), follower \(place): \(follower.query)")
            found += expected.count
            ceased += follower.ceased
        }
        // Without records that ceased to match, the test would prove nothing.
        #expect(found > 10 && ceased > 5)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R8.131 a changed record that no longer matches the query is given as a retraction, once per change`()
        async throws
    {
        _ = try await store.put(try sample("a", 90), try sample("b", 70), try sample("c", 95))
        var query = RecordQuery()
        query.condition = RecordQuery.Where(.quantity([], unit: "kg", [Comparison(.over, 80)]), as: "heavy")
        query.since = store.cursor
        query.limit = 2
        _ = try await store.put(try sample("a", 75))
        _ = try await store.put(try sample("d", 60), try sample("e", 85))
        _ = try await store.put(try sample("c", 96))

        // A limit counts both records and retractions. On a busy machine a page may end before its limit.
        var found: [StoredRecord] = []
        var end: Samples.Cursor?
        repeat {
            let page = try await store.page(query)
            #expect(page.records.count <= 2)
            found += page.records
            (query.next, end) = (page.next, page.cursor)
        } while query.next != nil
        #expect(found.map(\.number) == [1, 6, 3])
        let gone = try #require(found.first?.record.retraction)
        #expect(gone.identity == .sample(scale, try #require(RecordKey("a"))) && gone.author == .source)
        #expect(gone.reason == "does not meet the query now")
        query.since = end
        #expect(try await store.page(query).records == [])
    }

    @Test func `R8.132 a follower starts over if retention has removed a record that changed since its cursor`()
        async throws
    {
        let now: Int64 = (1_000 * 86_400) * 1_000_000
        let old: Int64 = 900 * 86_400
        _ = try await store.put(
            try sample("a", at: old), try sample("b", at: old), try sample("c", at: old), try sample("d", at: old))
        let first = store.cursor
        _ = try await store.put(try sample("a", 71, at: old))
        let changed = store.cursor
        _ = try await store.retract(try sample("b", at: old))
        let taken = store.cursor
        _ = try await store.put(try sample("young", at: 999 * 86_400))
        let rule = RetentionRule(name: "r", types: [try type("weight")], removeAfter: 30)

        let plain = RecordQuery()
        var heavy = RecordQuery()
        heavy.condition = RecordQuery.Where(.quantity([], unit: "kg", [Comparison(.over, 80)]), as: "heavy")
        func code(_ query: RecordQuery, _ since: Samples.Cursor) async -> StoreError.Code? {
            var query = query
            query.since = since
            return await failure { _ = try await store.page(query) }?.code
        }
        for since in [first, changed, taken] {
            #expect(await code(plain, since) == nil)
            #expect(await code(heavy, since) == nil)
        }
        // A record that never changed is removed without a trace, and its followers keep it.
        #expect(try await store.retain(rule, now: now, thin: { _ in nil }) { true }.removed == 4)
        let beginning = Samples.Cursor(epoch: store.epoch, sequence: 0)
        for since in [first, changed] {
            #expect(await code(plain, since) == .epoch)
            #expect(await code(heavy, since) == .epoch)
        }
        for since in [taken, beginning] {
            #expect(await code(plain, since) == nil)
            #expect(await code(heavy, since) == nil)
        }
    }

    @Test
    func `R8.152 R8.132 a follower without the removed records in its rights or its query continues`() async throws {
        let old: Int64 = 900 * 86_400
        let people = try await store.ensurePersons(["anna", "ben"], recordedAt: 1)
        func steps(_ key: String, _ value: Double) throws -> Samples.Record {
            .sample(try sample(key, value, type: "leanBodyMass", at: 999 * 86_400))
        }
        let watch = Source(plugin: "watch")
        _ = try await store.put(
            [.sample(try sample("a", at: old)), .sample(try sample("w", source: watch, at: old))], .person(people[0]))
        _ = try await store.put([try steps("s", 1)], .person(people[1]))
        let first = store.cursor
        _ = try await store.put([.sample(try sample("a", 71, at: old))], .person(people[0]))
        _ = try await store.retract(try sample("a", at: old))
        _ = try await store.put([try steps("s", 2)], .person(people[1]))
        let rule = RetentionRule(name: "r", types: [try type("weight")], removeAfter: 30)
        #expect(try await store.retain(rule, now: 1_000 * 86_400 * 1_000_000, thin: { _ in nil }) { true }.removed == 2)
        func code(_ change: (inout RecordQuery) throws -> Void) async throws -> StoreError.Code? {
            var query = RecordQuery { $0.since = first }
            try change(&query)
            let asked = query
            return await failure { _ = try await store.page(asked) }?.code
        }
        let (weight, lean) = (try type("weight"), try type("leanBodyMass"))
        #expect(try await code { _ in } == .epoch)
        #expect(try await code { $0.types = [weight] } == .epoch)
        #expect(try await code { $0.persons = [.person("anna")] } == .epoch)
        #expect(try await code { $0.sources = [scale.plugin] } == .epoch)
        #expect(try await code { $0.allowance = ReadAllowance(types: TypeSelection(except: [lean])) } == .epoch)
        #expect(
            try await code { $0.allowance = ReadAllowance(types: TypeSelection(only: []), own: scale.plugin) } == .epoch
        )
        #expect(try await code { $0.types = [lean] } == nil)
        #expect(try await code { $0.persons = [.person("ben")] } == nil)
        #expect(try await code { $0.sources = ["watch"] } == nil)
        #expect(try await code { $0.allowance = ReadAllowance(types: TypeSelection(except: [weight])) } == nil)
        #expect(
            try await code { $0.allowance = ReadAllowance(types: TypeSelection(except: [weight]), own: "watch") } == nil
        )
        #expect(try await code { $0.allowance = ReadAllowance(since: 950 * 86_400 * 1_000_000) } == nil)
        #expect(try await code { $0.allowance = ReadAllowance(since: 800 * 86_400 * 1_000_000) } == .epoch)
    }

    @Test func `R8.132 removing a record that had only changed affects only queries by properties that can change`()
        async throws
    {
        let old: Int64 = 900 * 86_400
        _ = try await store.put(try sample("a", at: old))
        let first = store.cursor
        _ = try await store.put(try sample("a", 71, at: old))
        _ = try await store.put(try sample("young", at: 999 * 86_400))
        let rule = RetentionRule(name: "r", types: [try type("weight")], removeAfter: 30)
        #expect(try await store.retain(rule, now: 1_000 * 86_400 * 1_000_000, thin: { _ in nil }) { true }.removed == 1)
        var query = RecordQuery { $0.since = first }
        #expect(try await store.page(query).records.map(\.number) == [3])
        query.from = 0
        #expect(await failure { _ = try await store.page(query) }?.code == .epoch)
    }
}
