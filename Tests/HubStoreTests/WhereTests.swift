import Foundation
import HubProcess
import JSON
import Platform
import Samples
import Testing

@testable import HubStore

/// The records that a condition selects.
@Suite struct WhereTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private func keys(_ condition: RecordCondition, _ change: (inout RecordQuery) -> Void = { _ in }) async throws
        -> [String]
    {
        var query = RecordQuery { $0.condition = RecordQuery.Where(condition, as: "\(condition)") }
        query.kinds = KindSelection(RecordKind.samples.union([.day]), followsChanges: false)
        change(&query)
        return try await store.all(query).records.map { record in
            switch record.record.identity {
            case .sample(_, let key): key.text
            case .day(_, _, _, let date): date.text
            }
        }
    }

    private func make(
        _ key: String, _ value: SampleValue, _ type: String, source: Source = scale, at second: Int64 = 0,
        lasting seconds: Int64 = 0, group: String? = nil, metadata: String? = nil
    ) throws -> Sample {
        var sample = try sample(key, source: source, at: second, lasting: seconds, group: group)
        (sample.type, sample.value) = (try TypeID(type), value)
        sample.metadata = metadata.map { JSONObject(trusted: $0) }
        return sample
    }

    @Test func `conditions select by number, key, type and source`() async throws {
        let bare = Source(plugin: "sami"), band = Source(plugin: "sami", device: "band", account: "a1")
        _ = try await store.put(
            try sample("a"), try sample("b", source: bare), try sample("c", source: band),
            try sample("d", type: "height", source: band))
        _ = try await store.put([.day(try day("1970-01-02", 70))])
        #expect(try await keys(.numbers([2, 4, 99])) == ["b", "d"])
        #expect(try await keys(.keys(["a", "d", "e"])) == ["a", "d"])
        #expect(try await keys(.types([try type("height")])) == ["d"])
        #expect(try await keys(.source([PropertyMatch("plugin", "sami")])) == ["b", "c", "d"])
        #expect(try await keys(.source([PropertyMatch("plugin", "sami"), PropertyMatch("device", nil)])) == ["b"])
        #expect(try await keys(.source([PropertyMatch("account", "a1")])) == ["c", "d"])
        #expect(try await keys(.source([PropertyMatch("account", nil)])) == ["a", "b", "1970-01-02"])
        #expect(try await keys(.not(.numbers([1, 2, 3, 4]))) == ["1970-01-02"])
    }

    @Test func `device and revision match if all named properties do, and null matches a missing one`() async throws {
        func with(_ key: String, _ metadata: String?) throws -> Sample {
            try make(key, .quantity(70, unit: "kg"), "weight", metadata: metadata)
        }
        _ = try await store.put(
            try with("none", nil), try with("text", #"{"device":"Watch"}"#),
            try with("watch", #"{"device":{"name":"Watch","model":"Watch6,2"},"sourceRevision":{"version":"9.1"}}"#),
            try with("named", #"{"device":{"name":"Watch"}}"#), try with("null", #"{"device":{"name":null,"model":7}}"#)
        )
        func device(_ matches: PropertyMatch...) -> RecordCondition { .properties("device", matches) }
        #expect(try await keys(device(PropertyMatch("name", "Watch"))) == ["watch", "named"])
        #expect(try await keys(device(PropertyMatch("name", "Watch"), PropertyMatch("model", nil))) == ["named"])
        #expect(try await keys(device(PropertyMatch("name", nil))) == ["none", "text", "null"])
        #expect(try await keys(.properties("sourceRevision", [PropertyMatch("version", "9.1")])) == ["watch"])
    }

    @Test
    func `metadata is tested for presence, membership and order, and measured in any compatible unit`() async throws {
        let metadata: [(String, String?)] = [
            ("none", nil), ("one", #"{"a":1}"#), ("oneToo", #"{"a":1.00}"#), ("two", #"{"a":2,"a":1e0}"#),
            ("text", #"{"a":"1"}"#), ("truth", #"{"a":true}"#), ("null", #"{"a":null}"#), ("list", #"{"a":[1]}"#),
            ("huge", #"{"a":1e999}"#), ("five", #"{"\u0061":5}"#), ("warm", #"{"a":"68 degF"}"#),
            ("cold", #"{"a":{"value":5,"unit":"degC"}}"#), ("heavy", #"{"a":"5 kg"}"#), ("odd", #"{"a":"nan degC"}"#),
        ]
        _ = try await store.put(
            try metadata.map { .sample(try make($0, .quantity(70, unit: "kg"), "weight", metadata: $1)) })
        #expect(try await keys(.not(.metadata("a", .present))) == ["none"])
        #expect(
            try await keys(.metadata("a", .oneOf([.number(1), .truth(true)]))) == ["one", "oneToo", "two", "truth"])
        func compared(_ relation: Relation, _ value: MetadataValue) -> RecordCondition {
            .metadata("a", .compared([Comparison(relation, value)]))
        }
        #expect(try await keys(compared(.over, .number(1))) == ["five"])
        #expect(try await keys(compared(.unequal, .number(5))) == ["one", "oneToo", "two"])
        #expect(try await keys(compared(.equal, .text("1"))) == ["text"])
        #expect(try await keys(compared(.atLeast, .text("5 kg"))) == ["warm", "heavy", "odd"])
        func warmer(_ value: Double, _ unit: String) -> RecordCondition {
            .metadata("a", .measured([Comparison(.atLeast, value)], unit: unit))
        }
        #expect(try await keys(warmer(20, "degC")) == ["warm"])
        #expect(try await keys(warmer(41, "degF")) == ["warm", "cold"])
        #expect(try await keys(warmer(4_000, "g")) == ["heavy"])
    }

    @Test func `HealthKit's keys match in every spelling, and their times and enumerations are compared as such`()
        async throws
    {
        let metadata = [
            #"{"wasUserEntered":true,"heartRateMotionContext":2}"#, #"{"HKWasUserEntered":true}"#,
            #"{"HKMetadataKeyHeartRateMotionContext":"active"}"#, #"{"wasUserEntered":false}"#,
            #"{"HKDateOfEarliestDataUsedForEstimate":"2024-03-01T02:00:00+02:00"}"#, "{}",
        ]
        _ = try await store.put(
            try metadata.enumerated().map { index, text in
                .sample(try make("\(index)", .quantity(70, unit: "kg"), "weight", metadata: text))
            })
        #expect(try await keys(.userEntered) == ["0", "1"])
        #expect(try await keys(.not(.userEntered)) == ["2", "3", "4", "5"])
        #expect(try await keys(.metadata("HKWasUserEntered", .present)) == ["0", "1", "3"])
        for value in [MetadataValue.number(2), .text("active")] {
            #expect(try await keys(.metadata("heartRateMotionContext", .oneOf([value]))) == ["0", "2"])
        }
        let midnight = Comparison(Relation.equal, MetadataValue.text("2024-03-01T00:00:00Z"))
        #expect(try await keys(.metadata("dateOfEarliestDataUsedForEstimate", .compared([midnight]))) == ["4"])
    }

    @Test func `conditions select by quantity, category, activity and duration`() async throws {
        _ = try await store.put(
            try sample("light", 70), try sample("heavy", 90, lasting: 60), try sample("tall", 90, type: "height"),
            try make("core", .category(name: "asleepCore", raw: 3), "sleepAnalysis", lasting: 3_600),
            try make("run", .workout(activity: "running", raw: 37), "workout", lasting: 1_800),
            try make("other", .other("text"), "electrocardiogram"))
        _ = try await store.put([.day(try day("1970-01-02", 85))])
        let over = [Comparison(Relation.over, 80.0)]
        let measures = [RecordCondition.Measure(try type("weight"), over)]
        let samples = KindSelection(nil, followsChanges: false)
        #expect(try await keys(.quantity(measures, unit: "lb", over)) { $0.kinds = samples } == ["heavy"])
        #expect(try await keys(.quantity(measures, unit: "kg", over)) == ["heavy", "tall", "1970-01-02"])
        let all = try await keys(.not(.quantity(measures, unit: "lb", over)))
        #expect(all == ["light", "tall", "core", "run", "other"])
        #expect(
            try await keys(.quantity(measures, unit: "lb", over)) {
                $0.kinds = nil; $0.order = .time
            } == ["heavy", "1970-01-02"])
        #expect(try await keys(.category(names: ["asleepCore"], raws: [])) == ["core"])
        #expect(try await keys(.category(names: [], raws: [3, 37])) == ["core"])
        #expect(try await keys(.activity([37, 3])) == ["run"])
        #expect(
            try await keys(.duration([Comparison(.atLeast, 60e6), Comparison(.under, 3_600e6)])) == ["heavy", "run"])
    }

    @Test
    func `partOf selects members of a workout or correlation, and total compares the sums of a workout`() async throws {
        let other = Source(plugin: "sami")
        func energy(_ key: String, _ value: Double, group: String?, source: Source = scale) throws -> Sample {
            try make(key, .quantity(value, unit: "kcal"), "activeEnergyBurned", source: source, group: group)
        }
        _ = try await store.put(
            try make("run", .workout(activity: "running", raw: 37), "workout", group: "g"),
            try energy("e1", 100, group: "g"), try energy("e2", 150, group: "g"), try energy("e3", 500, group: "g"),
            try energy("other's", 900, group: "g", source: other), try energy("alone", 900, group: nil),
            try make("bp", .correlation, "bloodPressure", group: "h"),
            try make("systolic", .quantity(120, unit: "mmHg"), "bloodPressureSystolic", group: "h"))
        _ = try await store.retract(try energy("e3", 500, group: "g"))
        #expect(try await keys(.partOf([.workout])) == ["e1", "e2"])
        #expect(try await keys(.partOf([.correlation])) == ["systolic"])
        // Only members of a group that the client may read count; records of its plugin are always readable.
        for (own, found) in [(nil, []), ("ihealth-hs3", ["e1", "e2"])] as [(String?, [String])] {
            let allowance = ReadAllowance(types: TypeSelection(except: [.workout]), own: own)
            #expect(try await keys(.partOf([.workout])) { $0.allowance = allowance } == found)
        }
        #expect(try await keys(.partOfRecord(1)) == ["e1", "e2"])
        #expect(try await keys(.partOfRecord(2)) == [])
        func total(_ relation: Relation, _ value: Double) throws -> RecordCondition {
            .all([.activity([37]), .total(try type("activeEnergyBurned"), [Comparison(relation, value)])])
        }
        #expect(try await keys(try total(.equal, 250)) == ["run"])
        #expect(try await keys(try total(.over, 250)) == [])
        #expect(try await keys(.total(try type("stepCount"), [Comparison(.unequal, 1)])) == [])
    }

    @Test func `R8.133 contains matches a correlation by records of its group, each type by its own condition`()
        async throws
    {
        func pressure(_ key: String, _ systolic: Double, _ diastolic: Double?) async throws {
            _ = try await store.put(
                try make(key, .correlation, "bloodPressure", group: key),
                try make("\(key)-s", .quantity(systolic, unit: "mmHg"), "bloodPressureSystolic", group: key))
            guard let diastolic else { return }
            _ = try await store.put(
                try make("\(key)-d", .quantity(diastolic, unit: "mmHg"), "bloodPressureDiastolic", group: key))
        }
        try await pressure("x", 150, 70)
        try await pressure("y", 150, 95)
        try await pressure("z", 110, 95)
        try await pressure("half", 150, nil)
        let (systolic, diastolic) = (try type("bloodPressureSystolic"), try type("bloodPressureDiastolic"))
        func over(_ value: Double, _ type: TypeID) -> RecordCondition.Contained {
            .init(type, .quantity([], unit: "mmHg", [Comparison(.over, value)]))
        }
        #expect(try await keys(.contains([over(140, systolic)])) == ["x", "y", "half"])
        #expect(try await keys(.contains([over(140, systolic), over(90, diastolic)])) == ["y"])
        let low = RecordCondition.Contained(diastolic, .not(over(90, diastolic).condition))
        #expect(try await keys(.contains([over(140, systolic), low])) == ["x"])
        // A nested condition refers to the same group.
        let inner = RecordCondition.contains([over(140, systolic)])
        #expect(try await keys(.contains([.init(diastolic, .not(inner))])) == ["x", "y", "z"])
        _ = try await store.retract(try make("y-d", .quantity(95, unit: "mmHg"), "bloodPressureDiastolic", group: "y"))
        #expect(try await keys(.contains([over(90, diastolic)])) == ["z"])
    }

    @Test func `the page token of a query is valid for its condition only`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        var query = RecordQuery { ($0.condition, $0.limit) = (RecordQuery.Where(.numbers([1, 2]), as: "12"), 1) }
        let first = try await store.page(query)
        #expect(first.next != nil)
        query.next = first.next
        #expect(try await store.page(query).records.map(\.number) == [2])
        query.condition = RecordQuery.Where(.numbers([1, 2, 3]), as: "123")
        #expect(await failure { _ = try await store.page(query) }?.code == .token)
    }
}

/// Random expressions over random records, compared with a simple filter that shares no code with the store.
@Suite struct WhereLawTests {
    private static let sources = [
        Source(plugin: "p0"), Source(plugin: "p0", device: "d"), Source(plugin: "p1", device: "d", account: "a"),
    ]
    private static let names = ["m", "n", "wasUserEntered", "device"]
    private static let types = ["weight", "height", "stepCount"]

    private static func metadata(_ random: inout SeededGenerator) -> String? {
        guard Bool.random(using: &random) else { return nil }
        let values = [
            "1", "2.50", "\"1\"", "\"b\"", "true", "false", "null", "[2]", #"{"name":"x"}"#,
            #"{"name":"y","model":"z"}"#,
            "-3", "1e3",
        ]
        let members = names.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }.map { name in
            "\"\(name)\":\(values.randomElement(using: &random) ?? "1")"
        }
        return "{\(members.joined(separator: ","))}"
    }

    private static func sample(_ key: Int, _ random: inout SeededGenerator) throws -> Sample {
        let start = Int64.random(in: -20..<20, using: &random)
        var sample = try HubStoreTests.sample(
            "\(key)", Double(Int.random(in: 0..<6, using: &random)), type: types.randomElement(using: &random) ?? "",
            source: sources.randomElement(using: &random) ?? scale, at: start,
            lasting: [0, 0, 1, 5, 7_200].randomElement(using: &random) ?? 0,
            group: Bool.random(using: &random) ? "g\(Int.random(in: 0..<20, using: &random))" : nil)
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            (sample.type, sample.value) = (
                try TypeID("sleepAnalysis"), .category(name: "v\(key % 3)", raw: Int64(key % 3))
            )
        case 1: (sample.type, sample.value) = (try TypeID("workout"), .workout(activity: "running", raw: 37))
        case 2: (sample.type, sample.value) = (try TypeID("food"), .correlation)
        default: break
        }
        sample.metadata = metadata(&random).map { JSONObject(trusted: $0) }
        return sample
    }

    private static func comparisons<T>(
        _ random: inout SeededGenerator, _ value: (inout SeededGenerator) -> T
    ) -> [Comparison<T>] {
        (0..<Int.random(in: 1...2, using: &random)).map { _ in
            Comparison(Relation.allCases.randomElement(using: &random) ?? .over, value(&random))
        }
    }

    private static func expression(_ depth: Int, _ random: inout SeededGenerator) throws -> RecordCondition {
        func number(_ random: inout SeededGenerator) -> Double { Double(Int.random(in: 0..<6, using: &random)) }
        func scalar(_ random: inout SeededGenerator) -> MetadataValue {
            [.number(1), .number(2.5), .number(1_000), .text("1"), .text("b"), .truth(true)]
                .randomElement(using: &random) ?? .number(0)
        }
        let name = names.randomElement(using: &random) ?? "m"
        switch Int.random(in: 0..<(depth > 0 ? 20 : 14), using: &random) {
        case 0: return .types(try [types.randomElement(using: &random) ?? "", "workout"].map(TypeID.init))
        case 1: return .numbers((0..<40).map { _ in Int64.random(in: 1...200, using: &random) })
        case 2: return .keys((0..<40).map { _ in "\(Int.random(in: 0..<200, using: &random))" })
        case 3:
            return .source([
                PropertyMatch("plugin", "p\(Int.random(in: 0..<2, using: &random))"),
                PropertyMatch("device", Bool.random(using: &random) ? "d" : nil),
            ])
        case 4:
            let from = Int64.random(in: -20..<20, using: &random) * 1_000_000
            return .time(
                from: Bool.random(using: &random) ? from : nil,
                to: Bool.random(using: &random) ? from + Int64.random(in: 1..<20, using: &random) * 1_000_000 : nil,
                strict: Set(SpanEnd.allCases.filter { _ in Bool.random(using: &random) }))
        case 5: return .userEntered
        case 6: return .metadata(name, .present)
        case 7: return .metadata(name, .oneOf([scalar(&random), scalar(&random)]))
        case 8: return .metadata(name, .compared(comparisons(&random, scalar)))
        case 9:
            return .properties("device", [PropertyMatch("name", ["x", "y", nil].randomElement(using: &random) ?? nil)])
        case 10:
            let asked = comparisons(&random, number)
            return .quantity([.init(try TypeID("weight"), asked)], unit: "lb", asked)
        case 11: return .category(names: ["v1"], raws: [Int64.random(in: 0..<3, using: &random)])
        case 12: return .duration(comparisons(&random) { number(&$0) * 1_000_000 })
        case 13:
            return [
                .partOf([.workout]), .partOf([.correlation]), .activity([37]),
                .total(try TypeID("weight"), comparisons(&random, number)),
                .contains([.init(try TypeID("weight"), try expression(0, &random))]),
            ].randomElement(using: &random) ?? .userEntered
        case 14, 15: return .not(try expression(depth - 1, &random))
        case 16, 17:
            return .all(try (0..<Int.random(in: 1...3, using: &random)).map { _ in try expression(depth - 1, &random) })
        default:
            return .any(try (0..<Int.random(in: 1...3, using: &random)).map { _ in try expression(depth - 1, &random) })
        }
    }

    // MARK: - The simple filter

    private static func holds(_ relation: Relation, _ less: Bool, _ same: Bool) -> Bool {
        switch relation {
        case .over: !less && !same
        case .atLeast: !less
        case .equal: same
        case .unequal: !same
        case .atMost: less || same
        case .under: less
        }
    }

    private static func holds(_ asked: MetadataValue, _ relation: Relation, _ found: JSONTree?) -> Bool {
        switch (asked, found) {
        case (.number(let asked), .number(let digits)?):
            guard let found = Double(digits) else { return false }
            return holds(relation, found < asked, found == asked)
        case (.text(let asked), .text(let found)?): return holds(relation, found < asked, found == asked)
        case (.truth(let asked), .truth(let found)?): return holds(relation, !found && asked, found == asked)
        default: return false
        }
    }

    private static func fits(_ condition: RecordCondition, _ number: Int64, _ all: [Int64: Sample]) -> Bool {
        guard let sample = all[number] else { return false }
        let tree = sample.metadata.flatMap { JSONTree(Array($0.text.utf8)) }
        let (start, end) = (sample.start.microseconds, sample.end.microseconds)
        let group: [Int64: Sample] =
            sample.group == nil
            ? [:] : all.filter { $0.value.group == sample.group && $0.value.source.plugin == sample.source.plugin }
        switch condition {
        case .all(let parts): return !parts.contains { !fits($0, number, all) }
        case .any(let parts): return parts.contains { fits($0, number, all) }
        case .not(let part): return !fits(part, number, all)
        case .types(let types): return types.contains(sample.type)
        case .numbers(let numbers): return numbers.contains(number)
        case .keys(let keys): return keys.contains(sample.key.text)
        case .source(let matches):
            return sample.source.plugin == matches[0].value && sample.source.device == matches[1].value
        case .time(let from, let to, let strict):
            let from = from ?? .min, to = to ?? .max
            // The table of HealthKit's options.
            switch (strict.contains(.start), strict.contains(.end)) {
            case (false, false): return end >= from && start < to
            case (true, false): return from <= start && start < to
            case (false, true): return from <= end && end < to
            case (true, true): return from <= start && start < to && from <= end && end < to
            }
        case .userEntered: return tree?["wasUserEntered"] == .truth(true)
        case .metadata(let name, .present): return tree?[name] != nil
        case .metadata(let name, .oneOf(let values)): return values.contains { holds($0, .equal, tree?[name]) }
        case .metadata(let name, .compared(let asked)):
            return !asked.contains { !holds($0.value, $0.relation, tree?[name]) }
        case .metadata: return false
        case .properties(let name, let matches): return tree?[name]?[matches[0].name]?.text == matches[0].value
        case .quantity(let measures, _, _):
            guard case .quantity(let value, _) = sample.value, sample.type == measures[0].type else { return false }
            return !measures[0].comparisons.contains { !holds($0.relation, value < $0.value, value == $0.value) }
        case .category(let names, let raws):
            guard case .category(let name, let raw) = sample.value else { return false }
            return names.contains(name) || raws.contains(raw)
        case .activity(let raws):
            guard case .workout(_, let raw) = sample.value else { return false }
            return raws.contains(raw)
        case .duration(let asked):
            let length = Double(end - start)
            return !asked.contains { !holds($0.relation, length < $0.value, length == $0.value) }
        case .total(let type, let asked):
            let values = group.values.filter { $0.type == type }.compactMap { member -> Double? in
                if case .quantity(let value, _) = member.value { value } else { nil }
            }
            let sum = values.reduce(0, +)
            return !values.isEmpty && !asked.contains { !holds($0.relation, sum < $0.value, sum == $0.value) }
        case .partOf(let kinds): return group.contains { $0.key != number && kinds.contains($0.value.value.kind) }
        case .partOfRecord(let whole): return whole != number && group[whole] != nil
        case .contains(let contained):
            guard [.correlation, .workout].contains(sample.value.kind) else { return false }
            return contained.allSatisfy { part in
                group.contains { $0.key != number && $0.value.type == part.type && fits(part.condition, $0.key, all) }
            }
        }
    }

    @Test(arguments: Thoroughness.some([1, 2, 3, 4] as [UInt64]))
    func `R8.81 a random expression selects the same records as a simple filter, in every order and in pieces`(
        seed: UInt64
    ) async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        var random = SeededGenerator(seed: seed)
        var all: [Int64: Sample] = [:]
        let samples = try (0..<200).map { try Self.sample($0, &random) }
        for (sample, result) in zip(samples, try await store.put(samples.map(Record.sample))) {
            all[try #require(result.placement).number] = sample
        }
        var found = 0
        for _ in 0..<100 {
            let condition = try Self.expression(4, &random)
            let expected = Set(all.keys.filter { Self.fits(condition, $0, all) })
            var query = RecordQuery { $0.condition = RecordQuery.Where(condition, as: "\(condition)") }
            query.order = [.sequence, .time, .newestFirst].randomElement(using: &random) ?? .sequence
            query.limit = [1_000, 25].randomElement(using: &random) ?? 25
            let answer = try await store.all(query).records.map(\.number)
            #expect(answer.count == expected.count && Set(answer) == expected, "seed \(seed): \(condition)")
            found += expected.count
        }
        #expect(found > 1_000)
    }
}
