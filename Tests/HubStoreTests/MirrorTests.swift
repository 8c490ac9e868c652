import Foundation
import HubProcess
import Samples
import Testing

@testable import HubStore

/// The store detects records of several sources that describe one event.
@Suite struct MirrorTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private static let push = Source(plugin: "ingest", account: "hae")
    private static let export = Source(plugin: "apple-health", device: "Annas Ultra")
    private static let old = Source(plugin: "apple-health", device: "Apple Watch von Anna")

    private func event(
        _ key: String, _ name: String, _ value: SampleValue, _ source: Source, lasting seconds: Int64 = 0,
        group: String? = nil
    ) throws -> Sample {
        var sample = try sample(key, type: name, source: source, lasting: seconds, group: group)
        sample.value = value
        return sample
    }

    /// The mirrors of each record that has some, by number.
    private func marks(_ store: Store, _ change: (inout RecordQuery) -> Void = { _ in }) async throws -> [Int64:
        [Int64]]
    {
        var query = RecordQuery { $0.marksMirrors = true }
        change(&query)
        let records = try await store.all(query).records.filter { !$0.mirrors.isEmpty }
        return Dictionary(uniqueKeysWithValues: records.map { ($0.number, $0.mirrors) })
    }

    @Test func `R8.191 samples of different sources are one event if start, end and content agree, for every kind`()
        async throws
    {
        let night = SampleValue.category(name: "asleepCore", raw: 3)
        let run = SampleValue.workout(activity: "running", raw: 37)
        _ = try await store.put(
            try event("1", "stepCount", .quantity(600, unit: "count"), Self.push),
            try event("2", "stepCount", .quantity(600.2, unit: "count"), Self.export, lasting: 600),
            try event("3", "stepCount", .quantity(601, unit: "count"), Self.old, lasting: 600),
            try event("4", "sleepAnalysis", night, Self.export, lasting: 3_600),
            try event("5", "sleepAnalysis", night, Self.old, lasting: 3_600),
            try event("6", "sleepAnalysis", .category(name: "inBed", raw: 0), Self.push, lasting: 3_600),
            try event("7", "workout", run, Self.export, lasting: 1_800),
            try event("8", "workout", run, Self.old, lasting: 1_800),
            try event("9", "workout", run, Self.push, lasting: 1_801))
        let expected: [Int64: [Int64]] = [1: [2], 2: [1], 4: [5], 5: [4], 7: [8], 8: [7]]
        #expect(try await marks(store) == expected)
        #expect(try await marks(store) { $0.order = .time } == expected)
        #expect(try await marks(store) { $0.numbers = [5] } == [5: [4]])
    }

    @Test func `R8.191 records without a value are one event only if their metadata agree`() async throws {
        func element(_ key: String, _ text: String, _ source: Source) throws -> Sample {
            var sample = try event(key, "x.apple.exportElement", .other(nil), source)
            sample.metadata = JSONObject(#"{"attributes":{"type":"\#(text)"}}"#)
            return sample
        }
        _ = try await store.put(
            try element("1", "BodyFatPercentage", Self.export), try element("2", "OxygenSaturation", Self.old),
            try element("3", "OxygenSaturation", Self.push))
        let found = try await marks(store)
        #expect(found == [2: [3], 3: [2]], "\(found)")
    }

    @Test func `R8.191 two samples of one source are two events, and each mirrors one of another source`() async throws
    {
        let glass = SampleValue.quantity(250, unit: "mL")
        for (key, source) in [("1", Self.push), ("2", Self.push), ("3", Self.export), ("4", Self.export)] {
            _ = try await store.put(try event(key, "dietaryWater", glass, source))
        }
        #expect(try await marks(store) == [1: [3], 2: [4], 3: [1], 4: [2]])
        _ = try await store.put(try event("5", "dietaryWater", glass, Self.export))
        #expect(try await marks(store) == [1: [3], 2: [4], 3: [1], 4: [2]])
    }

    @Test func `R8.191 correlations are one event if their members agree`() async throws {
        func pressure(_ group: String, _ source: Source, _ systolic: Double) throws -> [Sample] {
            [
                try event("c" + group, "bloodPressure", .correlation, source, group: group),
                try event(
                    "s" + group, "bloodPressureSystolic", .quantity(systolic, unit: "mmHg"), source, group: group),
                try event("d" + group, "bloodPressureDiastolic", .quantity(80, unit: "mmHg"), source, group: group),
            ]
        }
        let all = try pressure("a", Self.push, 120) + pressure("b", Self.export, 120) + pressure("c", Self.old, 140)
        _ = try await store.put(all.map(Samples.Record.sample))
        let marks = try await marks(store)
        #expect(marks[1] == [4] && marks[4] == [1] && marks[7] == nil && marks[2] == [5] && marks[8] == nil)
    }

    @Test
    func `R8.192 a mark is removed if a record of the event is retracted, edited, erased or reassigned`() async throws {
        let glass = SampleValue.quantity(250, unit: "mL")
        let people = try await store.ensurePersons(["me", "ben"], recordedAt: 1)
        let pushed = try event("1", "dietaryWater", glass, Self.push)
        _ = try await store.put(pushed, try event("2", "dietaryWater", glass, Self.export))
        #expect(try await marks(store) == [1: [2], 2: [1]])
        _ = try await store.retract(pushed)
        #expect(try await marks(store) == [:])
        _ = try await store.put(pushed)
        #expect(try await marks(store) == [1: [2], 2: [1]])
        _ = try await store.carryOut(
            .assign(numbers: [2], to: .person(people[1]), wholeGroups: false, reason: nil), recordedAt: 5)
        #expect(try await marks(store) == [:])
        _ = try await store.carryOut(
            .assign(numbers: [2], to: .person(people[0]), wholeGroups: false, reason: nil), recordedAt: 6)
        var edit = SampleEdit(type: try type("dietaryWater"))
        edit.value = .quantity(300, unit: "mL")
        _ = try await store.carryOut(.edit(number: 2, edit), recordedAt: 7)
        #expect(try await marks(store) == [:])
        _ = try await store.carryOut(.undoEdit(numbers: [2]), recordedAt: 8)
        #expect(try await marks(store) == [1: [2], 2: [1]])
        try await store.erase([1])
        #expect(try await marks(store) == [:])
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R8.192 marks contain no records outside the reader's rights, and a sink gets the current marks`()
        async throws
    {
        var sink = try await SinkSession(store)
        let glass = SampleValue.quantity(250, unit: "mL")
        _ = try await store.put(try event("1", "dietaryWater", glass, Self.push))
        #expect(try await sink.take().map(\.mirrors) == [[]])
        _ = try await store.put(try event("2", "dietaryWater", glass, Self.export))
        #expect(try await sink.take().map(\.mirrors) == [[1]])
        let own = ReadAllowance(types: TypeSelection(only: []), own: "ingest")
        #expect(try await marks(store) { $0.allowance = own } == [:])
        let late = ReadAllowance(since: 1_000_000)
        #expect(try await marks(store) { $0.allowance = late } == [:])
        #expect(try await marks(store) { $0.allowance = ReadAllowance() } == [1: [2], 2: [1]])
    }

    @Test func `R8.55 rollups include a mirror of a sample that is before the readable time`() async throws {
        let day: Int64 = 86_400
        // Steps pushed without an end, the same steps in an export over two days, and others so that rollups are kept.
        _ = try await store.put(
            try event("1", "stepCount", .quantity(600, unit: "count"), Self.push),
            try event("2", "stepCount", .quantity(600, unit: "count"), Self.export, lasting: 2 * day))
        for number in 0..<9 {
            var other = try event("o\(number)", "stepCount", .quantity(1, unit: "count"), Self.push)
            other.start = Timestamp(microseconds: Int64(number) * day * 1_000_000 + 1)
            other.end = other.start
            _ = try await store.put(other)
        }
        let query = StatisticsQuery(of: "me", try type("stepCount"), unit: "count", .cumulative)
        while try await store.rollUp(query, phase: 0, now: .max / 2, from: RollupPlan.Density(samples: 1, ofDay: 0)) {}
        for usesRollups in [true, false] {
            var asked = query
            (asked.usesRollups, asked.since, asked.from) = (usesRollups, day * 1_000_000, day * 1_000_000)
            var walk = StatisticsWalk(asked)
            while !walk.isOver { walk = try await store.advance(walk) }
            // Half of the export's steps, and one step on each of eight days.
            #expect(walk.rows.map(\.total.total) == [308])
        }
    }

    @Test func `R8.191 the preferred source's sample counts in statistics in any order of arrival, also by source`()
        async throws
    {
        for isPushFirst in [true, false] {
            let folder = try TemporaryFolder()
            let store = try folder.open()
            // The order of first records is the same in both.
            _ = try await store.put(
                try event("0", "height", .quantity(1.8, unit: "m"), Self.push),
                try event("0", "height", .quantity(1.8, unit: "m"), Self.export))
            let samples = [
                try event("1", "stepCount", .quantity(600, unit: "count"), Self.push),
                try event("2", "stepCount", .quantity(600.2, unit: "count"), Self.export, lasting: 600),
            ]
            for sample in isPushFirst ? samples : samples.reversed() { _ = try await store.put(sample) }
            var query = StatisticsQuery(of: "me", try type("stepCount"), unit: "count", .cumulative)
            query.isBySource = true
            func sums(_ query: StatisticsQuery) async throws -> [[Double?]] {
                var walk = StatisticsWalk(query)
                while !walk.isOver { walk = try await store.advance(walk) }
                return walk.rows.map { [$0.total.total] + $0.sources.map(\.tally.total) }
            }
            #expect(try await sums(query) == [[600, 600]])
            query.priority = ["apple-health"]
            #expect(try await sums(query) == [[600.2, 600.2]])
            query.priority = []
            query.sources = ["apple-health"]
            #expect(try await sums(query) == [[600.2, 600.2]])
            try store.close()
        }
    }
}
