import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing

/// The fake hub answers queries of a plugin like the hub.
///
/// Authors of plugins write tests like these.
@Suite(.timeLimit(.minutes(1))) struct FakeQuestionTests {
    private typealias Condition = QueryRequest.Condition

    private static func sample(
        _ key: String, _ type: String, _ value: SampleValue, hour: Int64, lasting minutes: Int64 = 0,
        device: String? = nil,
        group: String? = nil, metadata: String? = nil, of hub: PluginContext
    ) throws -> Sample {
        let start: Int64 = 1_710_000_000_000_000 + hour * 3_600_000_000
        return Sample(
            source: hub.source(device: device), key: try #require(RecordKey(key)), type: try TypeID(type), value: value,
            start: Timestamp(microseconds: start, offsetMinutes: 60),
            end: Timestamp(microseconds: start + minutes * 60_000_000, offsetMinutes: 60), group: group,
            metadata: metadata.map { JSONObject(trusted: $0) })
    }

    /// The records that queries can find.
    private static func records(_ hub: PluginContext) throws -> [Sample] {
        [
            try sample("light", "weight", .quantity(160, unit: "lb"), hour: 1, of: hub),
            try sample(
                "heavy", "weight", .quantity(80.5, unit: "kg"), hour: 3, device: "bath",
                metadata: #"{"wasUserEntered":true,"room":"bath","count":1,"device":{"name":"Aria"}}"#, of: hub),
            try sample("night", "stepCount", .quantity(900, unit: "count"), hour: 0, lasting: 600, of: hub),
            try sample("walk", "stepCount", .quantity(700, unit: "count"), hour: 2, lasting: 30, device: "w", of: hub),
            try sample("sleep", "sleepAnalysis", .category(name: "asleepCore", raw: 3), hour: 4, lasting: 90, of: hub),
            try sample(
                "run", "workout", .workout(activity: "running", raw: 37), hour: 5, lasting: 60, group: "g", of: hub),
            try sample(
                "kcal", "activeEnergyBurned", .quantity(500, unit: "kcal"), hour: 5, lasting: 60, group: "g", of: hub),
        ]
    }

    /// Runs a plugin that gives all records, and then `body`.
    private func ask(_ body: @escaping @Sendable (PluginContext) async throws -> Void) async throws {
        let scene = try await Scene { $0.limits.pageRecords = 2 }
        let run = await scene.complete { hub in
            _ = try await hub.store(try Self.records(hub))
            try await body(hub)
        }
        try await scene.end(run)
    }

    /// The keys of the records that a query finds, over all pages.
    private static func keys(
        _ hub: PluginContext, _ filter: QueryRequest.Filter = .init(), order: QueryRequest.Order? = nil,
        latest: Bool = false, limit: Int64? = nil
    ) async throws -> [String] {
        var keys: [String] = []
        for try await page in hub.query(filter, order: order, latest: latest, limit: limit) {
            #expect(page.records.count <= 2)
            for stored in page.records { if case .sample(let sample) = stored.record { keys.append(sample.key.text) } }
        }
        return keys
    }

    @Test func `where finds the matching records`() async throws {
        let conditions: [(Condition, [String])] = [
            (.quantity(over: 80, "kg"), ["heavy"]),
            (.quantity(under: 12, "st"), ["light"]),
            (!.quantity(over: 80, "kg") && .types(["bodyMass"]), ["light"]),
            (.userEntered, ["heavy"]), (.metadata("room", .equal, .text("bath")), ["heavy"]),
            (.metadata("count", .equal, .number(1)), ["heavy"]), (.metadata("count", .equal, .truth(true)), []),
            (.device("name", "Aria"), ["heavy"]), (.properties(.source, [PropertyMatch("device", "w")]), ["walk"]),
            (.category(["asleepCore"]), ["sleep"]), (.category([3]), ["sleep"]), (.activity(["running"]), ["run"]),
            (.duration(.atLeast, 1.5, "hr"), ["night", "sleep"]), (.keys(["run"]) || .numbers([1]), ["light", "run"]),
            (.total(of: "activeEnergyBurned", .over, 2_000, "kJ"), ["run", "kcal"]),
            (.contains("activeEnergyBurned", .quantity(over: 400, "kcal")), ["run"]),
            (.contains("activeEnergyBurned", .quantity(over: 600, "kcal")), []), (.part(of: .workout), ["kcal"]),
            (.part(of: .record(6)), ["kcal"]),
        ]
        try await ask { hub in
            for (condition, expected) in conditions {
                var filter = QueryRequest.Filter()
                filter.condition = condition
                let found = try await Self.keys(hub, filter)
                #expect(found == expected, "\(condition)")
            }
            var wrong = QueryRequest.Filter()
            wrong.condition = .quantity(over: 80, "parsec")
            let error = await #expect(throws: AskError.self) { try await Self.keys(hub, wrong) }
            #expect(error?.error?.code == .field)
        }
    }

    @Test func `records are returned in the requested order and number, and the latest is the one that ends last`()
        async throws
    {
        try await ask { hub in
            func found(
                _ expected: String..., by order: QueryRequest.Order? = nil, latest: Bool = false, limit: Int64? = nil,
                among filter: QueryRequest.Filter = .init()
            ) async throws {
                let found = try await Self.keys(hub, filter, order: order, latest: latest, limit: limit)
                #expect(found == expected)
            }
            var steps = QueryRequest.Filter()
            steps.types = ["stepCount"]
            try await found("night", "walk", by: .time, among: steps)
            try await found("night", "walk", by: .by([.latestEnd]), among: steps)
            try await found("walk", "night", by: .newestFirst, among: steps)
            try await found("kcal", "run", "sleep", by: .newestFirst, limit: 3)
            try await found("light", "heavy", "night", limit: 3)
            try await found("heavy", "night", "sleep", "run", "kcal", latest: true)
            var span = QueryRequest.Filter()
            (span.from, span.to) = (
                Timestamp(microseconds: 1_710_007_000_000_000), Timestamp(microseconds: 1_710_010_000_000_000)
            )
            try await found("night", "walk", among: span)
            span.strict = [.start]
            try await found("walk", among: span)
            span.kinds = [.category]
            try await found(among: span)
        }
    }

    /// The changes of all pages, as `number value` or `number gone`, and the cursor to continue from.
    private static func changes(
        _ hub: PluginContext, _ filter: QueryRequest.Filter, since: Cursor?
    ) async throws -> (lines: [String], cursor: Cursor?) {
        var (lines, cursor): ([String], Cursor?) = ([], nil)
        for try await page in hub.query(filter, since: since) {
            cursor = page.cursor ?? cursor
            for stored in page.records {
                switch stored.record {
                case .sample(let sample): lines.append("\(stored.number) \(sample.key.text)")
                case .retraction(let gone): lines.append("\(stored.number) gone: \(gone.reason ?? "")")
                case .day: lines.append("a day")
                }
            }
        }
        return (lines, cursor)
    }

    @Test
    func `R8.131 a follower of a query gets records that no longer match and those that were retracted`() async throws {
        try await ask { hub in
            var heavy = QueryRequest.Filter()
            heavy.condition = .quantity(over: 70, "kg")
            let first = try await Self.changes(hub, heavy, since: nil)
            #expect(first.lines == ["1 light", "2 heavy"])
            func weight(_ key: String, _ value: Double) throws -> Sample {
                try Self.sample(key, "weight", .quantity(value, unit: "kg"), hour: 6, of: hub)
            }
            _ = try await hub.store([try weight("light", 69), try weight("new", 90), try weight("slight", 50)])
            let second = try await Self.changes(hub, heavy, since: first.cursor)
            #expect(second.lines == ["1 gone: does not meet the query now", "9 new"])
            _ = try await hub.store([try weight("slight", 51), try weight("light", 71)])
            try await hub.retract([try #require(RecordKey("new"))], reason: "the dog")
            let third = try await Self.changes(hub, heavy, since: second.cursor)
            #expect(third.lines == ["10 gone: does not meet the query now", "1 light", "9 gone: the dog"])
            #expect(try await Self.changes(hub, heavy, since: third.cursor).lines.isEmpty)
            #expect(try await Self.changes(hub, heavy, since: nil).lines == ["2 heavy", "1 light"])
        }
    }

    @Test func `sources are listed with their counts, in the order of preference of hub conf`() async throws {
        let scene = try await Scene { behaviour in
            behaviour.persons[0].priority = [.init(types: ["stepCount"], sources: ["scripted/w"])]
        }
        let run = await scene.complete { hub in
            _ = try await hub.store(try Self.records(hub))
            var filter = QueryRequest.Filter()
            filter.types = ["stepCount", "weight"]
            let sources = try await hub.sources(filter)
            #expect(sources.map(\.type) == ["stepCount", "stepCount", "weight", "weight"])
            #expect(sources.map(\.source.device) == ["w", nil, nil, "bath"])
            #expect(sources.map(\.count) == [1, 1, 1, 1] && sources.allSatisfy { $0.person == "me" })
            #expect(sources[1].last == "2024-03-10T02:00:00Z")
        }
        try await scene.end(run)
    }
}
