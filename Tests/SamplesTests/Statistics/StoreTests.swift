import Foundation
import HubProcess
import HubStore
import Platform
import Samples
import Testing

/// Compares a store's answers with those of the Python model for the same records.
@Suite struct StoreTests {
    private struct Line: Encodable {
        struct Reading: Encodable {
            var number, start, end: Int64
            var value: Double
            var rank: Int
            var plugin: String
        }
        var ask = "statistics"
        var type, style, plugin, zone, unit: String?
        var from, to, anchor: Int64?
        var count: Int?
        var world: [String: [Reading]]?
    }
    private struct Row: Decodable {
        var from, to, count: Int64
        var value, least: Double?
        var latest: Int64?
    }

    private static let types: [(id: String, unit: String, style: AggregationStyle)] = [
        ("stepCount", "count", .cumulative), ("weight", "kg", .discreteArithmetic),
        ("heartRate", "count/min", .discreteTemporallyWeighted),
    ]
    private static let sources = [
        Source(plugin: "watch"), Source(plugin: "hand"), Source(plugin: "phone", device: "pocket"),
        Source(plugin: "phone", device: "bag"),
    ]
    /// Manual entries rank last, the other sources in the order of their first records.
    private static let ranks = [0, 3, 1, 2]
    private static let second: Int64 = 1_000_000
    /// The night to Sunday, 29 March 2026, in which Berlin's clocks go forward.
    private static let begin = 1_774_700_000 * second

    /// A store of random records, and the readings that count.
    ///
    /// Some records are corrected, retracted, implausible or another person's.
    private struct World {
        let store: Store
        var standing: [String: [Line.Reading]] = [:]

        init(_ folder: TemporaryFolder, _ random: inout SeededGenerator) async throws {
            store = try Store(path: folder.path + "/hub.sqlite", now: 1)
            let people = try await store.ensurePersons(["anna", "ben"], recordedAt: 1)
            var sent: [[RecordKey: (sample: Sample, isOwn: Bool)]] = StoreTests.sources.map { _ in [:] }
            for step in 0..<240 {
                var records: [IntakeRecord] = []
                for _ in 0..<8 {
                    // The first records of the sources come in the order of the sources.
                    let place = step < 4 ? step : Int.random(in: 0..<4, using: &random)
                    let source = StoreTests.sources[place]
                    let known = sent[place].keys.sorted { $0.text < $1.text }
                    let isLate = Int.random(in: 0..<6, using: &random) == 0
                    guard isLate, let key = known.randomElement(using: &random) else {
                        let key = try #require(RecordKey("\(place) \(sent[place].count)"))
                        var sample = try StoreTests.sample(source, key, &random)
                        let others = sent[(place + 1) % 4].sorted { $0.key.text < $1.key.text }
                        if Int.random(in: 0..<3, using: &random) == 0,
                            let other = others.randomElement(using: &random)?.value.sample
                        {
                            sample = StoreTests.mirror(of: other, source, key, &random)
                        }
                        let isOwn = Int.random(in: 0..<9, using: &random) > 0
                        let isTrue = Int.random(in: 0..<12, using: &random) > 0
                        sent[place][key] = (sample, isOwn && isTrue)
                        records.append(
                            IntakeRecord(
                                record: .sample(sample), assignment: .person(people[isOwn ? 0 : 1]),
                                implausible: isTrue ? [] : .value))
                        continue
                    }
                    if Bool.random(using: &random) {
                        records.append(
                            IntakeRecord(
                                record: .retraction(
                                    Retraction(identity: .sample(source, key), source: source, author: .source)),
                                assignment: .person(people[0])))
                        sent[place][key]?.isOwn = false
                    } else if sent[place][key]?.isOwn == true {
                        let sample = try StoreTests.sample(source, key, &random)
                        sent[place][key] = (sample, true)
                        records.append(IntakeRecord(record: .sample(sample), assignment: .person(people[0])))
                    }
                }
                _ = try await store.commit([IntakeBatch(instance: "test", records: records)], recordedAt: 1)
            }
            for (place, samples) in sent.enumerated() {
                for (key, entry) in samples where entry.isOwn {
                    let stored = try #require(try await store.record(.sample(StoreTests.sources[place], key)))
                    guard case .quantity(let value, _) = entry.sample.value else { continue }
                    standing[entry.sample.type.rawValue, default: []].append(
                        Line.Reading(
                            number: stored.number, start: entry.sample.start.microseconds,
                            end: entry.sample.end.microseconds, value: value, rank: StoreTests.ranks[place],
                            plugin: StoreTests.sources[place].plugin))
                }
            }
        }
    }

    private static func sample(_ source: Source, _ key: RecordKey, _ random: inout SeededGenerator) throws -> Sample {
        let type = try #require(types.randomElement(using: &random))
        let start = begin + Int64.random(in: 0..<400_000, using: &random) * second
        let lengths: [Int64] = [0, 0, 60, 600, 1_800, 9_000, 40_000, 200_000, 3_000_000]
        let most = try #require(lengths.randomElement(using: &random))
        let length = most == 0 ? 0 : Int64.random(in: 1...most * second, using: &random)
        let value =
            type.id == "stepCount"
            ? Double.random(in: 0...3_000, using: &random) : Double.random(in: 40...120, using: &random)
        return Sample(
            source: source, key: key, type: try TypeID(type.id), value: .quantity(value, unit: type.unit),
            start: Timestamp(microseconds: start, offsetMinutes: 60),
            end: Timestamp(microseconds: start + length, offsetMinutes: 60))
    }

    /// A near duplicate from another source.
    private static func mirror(
        of other: Sample, _ source: Source, _ key: RecordKey, _ random: inout SeededGenerator
    ) -> Sample {
        var sample = other
        (sample.source, sample.key) = (source, key)
        if case .quantity(let value, let unit) = other.value {
            let factor: Double = [1, 1.0004, 1.0006].randomElement(using: &random) ?? 1
            sample.value = .quantity(value * factor, unit: unit)
        }
        if Bool.random(using: &random) { sample.end = sample.start }
        return sample
    }

    private func question(_ random: inout SeededGenerator) throws -> (line: Line, query: StatisticsQuery) {
        let type = try #require(Self.types.randomElement(using: &random))
        func time() -> Int64 { Self.begin + Int64.random(in: -90_000...500_000, using: &random) * Self.second }
        var (from, to) = (Bool.random(using: &random) ? time() : nil, Bool.random(using: &random) ? time() : nil)
        if let first = from, let last = to, first >= last { (from, to) = (last, first == last ? nil : first) }
        let plugin = Int.random(in: 0..<4, using: &random) == 0 ? "phone" : nil
        var line = Line(type: type.id, style: type.style.rawValue, plugin: plugin, from: from, to: to)
        var query = StatisticsQuery(of: "anna", try TypeID(type.id), unit: type.unit, type.style)
        (query.from, query.to, query.sources) = (from, to, plugin.map { [$0] })
        guard Int.random(in: 0..<5, using: &random) > 0 else { return (line, query) }
        let unit = try #require(Intervals.Unit.allCases.randomElement(using: &random))
        line.unit = unit.rawValue
        line.count = unit == .hour ? Int.random(in: 6...30, using: &random) : Int.random(in: 1...2, using: &random)
        line.zone = ["Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"].randomElement(using: &random)
        line.anchor = Int64.random(in: 1_000_000_000...2_000_000_000, using: &random) * Self.second
        query.intervals = Intervals(every: line.count ?? 1, unit, anchor: line.anchor ?? 0, zone: line.zone ?? "")
        return (line, query)
    }

    private func answer(_ query: StatisticsQuery, _ store: Store) async throws -> [StatisticsRow] {
        var walk = StatisticsWalk(query)
        while !walk.isOver { walk = try await store.advance(walk) }
        #expect(query.limit < RecordQuery.maximumPage || walk.next == nil)
        guard let next = walk.next else { return walk.rows }
        var rest = query
        rest.first = next
        return walk.rows + (try await answer(rest, store))
    }

    @Test(.enabled(if: Need.pandas.isMet, "\(Need.pandas.reason)"))
    func `for any query and records the store's answer equals the model's, with any page size`() async throws {
        let seed = Thoroughness.seed(1)
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let world = try await World(folder, &random)
        var (lines, answers) = ([Line(ask: "world", world: world.standing)], [[StatisticsRow]]())
        for _ in 0..<Thoroughness.rounds(1_500) {
            var (line, query) = try question(&random)
            query.limit = [2, 9, 1_000].randomElement(using: &random) ?? 1
            lines.append(line)
            answers.append(try await answer(query, world.store))
        }
        let models = try await Model.answers(lines, [Row].self)
        #expect(models.count == answers.count)
        for (index, (rows, model)) in zip(answers, models).enumerated() {
            let line = lines[index + 1]
            let style = try #require(line.style.flatMap(AggregationStyle.init))
            let own = rows.map { row in
                Row(
                    from: row.from, to: row.to, count: Int64(row.total.count),
                    value: style == .cumulative ? row.total.total : row.total.average(style),
                    least: row.total.minimum, latest: row.total.latest?.number)
            }
            let asked = String(decoding: try JSONEncoder().encode(line), as: UTF8.self)
            #expect(own.map { "\($0)" } == model.map { "\($0)" }, "seed \(seed): \(asked)")
            guard own.map({ "\($0)" }) == model.map({ "\($0)" }) else { return }
        }
        try world.store.close()
    }
}
