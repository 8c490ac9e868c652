import HubProcess
import HubStore
import HubWire
import Platform
import Samples
import Testing

/// Limits for the data that one instance may store.
@Suite struct LimitTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private func give(_ records: [Record], _ limits: InstanceLimits, instance: String = "scale") async throws
        -> [StoreResult]
    {
        let me = try await store.me()
        let items = records.map { IntakeItem.success(IntakeRecord(record: $0, assignment: me)) }
        let batch = IntakeBatch(instance: instance, items: items, limits: limits)
        return try #require(try await store.commit([batch], recordedAt: 2).first)
    }

    private func limits(_ change: (inout InstanceLimits) -> Void) -> InstanceLimits {
        var limits = InstanceLimits()
        change(&limits)
        return limits
    }

    private func expect(
        _ results: [StoreResult], _ codes: [String?], says words: String, _ place: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(results.map(\.code) == codes, sourceLocation: place)
        for case .rejected(let rejection) in results {
            #expect(rejection.reason.contains(words), sourceLocation: place)
            #expect(rejection.reason.contains("limit_factor"), sourceLocation: place)
        }
        #expect(try await store.verifyAccounts() == [], sourceLocation: place)
    }

    @Test
    func `R6.39 an instance cannot begin more streams than its limit, and can continue those it has`() async throws {
        let two = limits { $0.streams = 2 }
        let given = try (1...3).map { Record.sample(try sample("\($0)", type: "x.test.t\($0)")) }
        try await expect(try await give(given, two), [nil, nil, "limit"], says: "streams")
        let days = [Record.day(try day("2024-01-01", 70))]
        try await expect(try await give(days, two), ["limit"], says: "made 2")
        // A repeat, a new version, and another record of an existing stream.
        let more = try [
            sample("1", type: "x.test.t1"), sample("2", 71, type: "x.test.t2"), sample("4", type: "x.test.t1"),
        ]
        let results = try await give(more.map(Record.sample), two)
        #expect(results[0].isDuplicate && results[1].placement != nil && results[2].placement != nil)
        let retyped = [Record.sample(try sample("1", type: "x.test.t9"))]
        try await expect(try await give(retyped, two), ["limit"], says: "streams")
        #expect(try await give(days, two, instance: "other").map(\.code) == [nil], "another instance has its own limit")
        #expect(
            try await give(given, limits { $0.streams = 4 }).last?.placement != nil, "a higher limit applies at once")
        #expect(try await store.accounts().first { $0.instance == "scale" }?.usage.streams == 3)
    }

    @Test func `R6.39 usage counts survive a restart`() async throws {
        let two = limits { $0.streams = 2 }
        _ = try await give(try (1...2).map { .sample(try sample("\($0)", type: "x.test.t\($0)")) }, two)
        try store.close()
        let again = try folder.open()
        let batch = IntakeBatch(
            instance: "scale",
            items: [
                .success(
                    IntakeRecord(record: .sample(try sample("3", type: "x.test.t3")), assignment: try await again.me()))
            ], limits: two)
        #expect(try await again.commit([batch], recordedAt: 3)[0].map(\.code) == ["limit"])
    }

    @Test func `R6.39 sources, words and unknown members are limited, and a refused record leaves no row`() async throws
    {
        func devices(_ range: ClosedRange<Int>) throws -> [Record] {
            try range.map { .sample(try sample("k", source: Source(plugin: "p", device: "d\($0)"))) }
        }
        try await expect(
            try await give(try devices(1...3), limits { $0.sources = 2 }), [nil, nil, "limit"], says: "sources")
        var worded = try sample("w")
        worded.provenance = .derived(formula: "f", version: String(repeating: "v", count: 2_560), basis: [])
        try await expect(
            try await give([.sample(worded), .sample(try sample("x"))], limits { $0.words = 10 }), ["limit", nil],
            says: "words")
        var strange = try sample("s")
        strange.extra = JSONObject(trusted: "{\"colour\":\"blue\"}")
        let results = try await give([.sample(strange), .sample(try sample("t"))], limits { $0.extraBytes = 16 })
        try await expect(results, ["limit", nil], says: "bytes")
        // No values of the refused record are left in the next one.
        let stored = try #require(results[1].placement)
        let kept = try #require(try await store.records(numbers: [stored.number]).first?.record.sample)
        #expect(kept == (try sample("t")))
    }

    @Test func `R6.39 a record has a limited number of versions from its source, and can still be changed by hand`()
        async throws
    {
        let three = limits { $0.versions = 3 }
        let results = try await give(try (0..<6).map { .sample(try sample("k", 70 + Double($0))) }, three)
        try await expect(results, [nil, nil, nil, nil, "limit", "limit"], says: "versions")
        let retraction = Retraction(identity: .sample(scale, try sample("k").key), source: scale)
        try await expect(try await give([.retraction(retraction)], three), ["limit"], says: "versions")
        #expect(try await store.retract(numbers: [1], recordedAt: 9)[0].placement != nil)
        let days = try (0..<6).map { Record.day(try day("2024-01-01", 70 + Double($0))) }
        try await expect(try await give(days, three), [nil, nil, nil, nil, "limit", "limit"], says: "versions")
    }

    @Test func `R6.39 a group grows only to its limit, and repeats of its records remain duplicates`() async throws {
        let four = limits { $0.groupSamples = 4 }
        let first = try (0..<3).map { Record.sample(try sample("\($0)", group: "g")) }
        #expect(try await give(first, four).allSatisfy { $0.placement != nil })
        let more = try (2..<5).map { Record.sample(try sample("\($0)", group: "g")) }
        #expect(try await give(more, four).map(\.code) == ["group", "limit", "limit"])
        #expect(try await give(first, four).allSatisfy(\.isDuplicate))
        let other = try (3..<6).map { Record.sample(try sample("\($0)", source: Source(plugin: "other"), group: "g")) }
        #expect(try await give(other, four, instance: "other").allSatisfy { $0.placement != nil })
    }

    @Test(arguments: Thoroughness.some([1, 2, 3, 4] as [UInt64]))
    func `R6.39 R5.4 a group is stored completely or not at all, also close to a limit`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var bounds = InstanceLimits()
        (bounds.streams, bounds.sources, bounds.words, bounds.versions) = (60, 60, 9_000, 12)
        for batch in 0..<60 {
            let records = try (0..<8).map { place in
                let number = Int.random(in: 0..<120, using: &random)
                return try sample(
                    "\(number)", Double(batch), type: "x.test.t\(number)",
                    source: Source(plugin: "p", device: "d\(number)"), group: place < 6 ? "\(batch) \(place / 3)" : nil)
            }
            let results = try await give(records.map(Record.sample), bounds)
            for group in Set(records.compactMap(\.group)) {
                let members = zip(records, results).filter { $0.0.group == group }.map(\.1)
                #expect(Set(members.map { $0.code != nil }).count == 1, "batch \(batch)")
            }
        }
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `streams beyond the memory cache are still counted and chained, also after a restart`() async throws {
        let many = InstanceLimits(factor: 10)
        func round(_ date: String, _ store: Store) async throws -> [Int64] {
            let me = try await store.me()
            let items = try (0..<6_000).map { number in
                IntakeItem.success(IntakeRecord(record: .day(try day(date, 70, series: "s\(number)")), assignment: me))
            }
            let results = try await store.commit(
                [IntakeBatch(instance: "scale", items: items, limits: many)], recordedAt: 2)[0]
            return results.compactMap { $0.placement?.previous }
        }
        #expect(try await round("2024-01-01", store) == Array(repeating: 0, count: 6_000))
        #expect(try await round("2024-01-02", store) == Array(1...6_000))
        #expect(try await store.verifyAccounts() == [])
        try store.close()
        let again = try folder.open()
        #expect(try await round("2024-01-03", again) == Array(6_001...12_000))
    }
}
