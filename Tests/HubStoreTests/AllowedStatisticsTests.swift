import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// Statistics for readers with limited rights: records outside their rights count as if they did not exist.
@Suite struct AllowedStatisticsTests {
    let folder: TemporaryFolder
    let other: TemporaryFolder

    init() throws { (folder, other) = (try TemporaryFolder(), try TemporaryFolder()) }

    private static let second: Int64 = 1_000_000
    private static let day = 86_400 * second
    private static let begin = 20_000 * day
    private static let types: [(id: String, unit: String, style: AggregationStyle)] = [
        ("stepCount", "count", .cumulative), ("weight", "kg", .discreteArithmetic),
        ("heartRate", "count/min", .discreteTemporallyWeighted),
    ]
    private static let sources = [
        Source(plugin: "watch"), Source(plugin: "phone"), Source(plugin: "phone", device: "pocket"),
    ]

    private struct Page: Equatable {
        var rows: [String]
        var hasNext: Bool
    }

    /// The pages of an answer.
    ///
    /// - Parameter isCut: Whether each page ends as soon as it has a row, as if the time were up.
    private func pages(_ query: StatisticsQuery, _ store: Store, isCut: Bool = false) async throws -> [Page] {
        func text(_ tally: Tally) -> String {
            "\(tally.count) \(String(describing: tally.latest)) \(tally.duration) \(String(describing: tally.maximum)) \(String(describing: query.style == .cumulative ? tally.total : tally.average(query.style)))"
        }
        var (pages, asked) = ([Page](), query)
        while true {
            var walk = StatisticsWalk(asked)
            while !walk.isOver {
                walk = try await store.readSnapshot("test") { [begun = walk] reader in
                    var walk = begun
                    try reader.advance(&walk, within: isCut ? .zero : .milliseconds(10))
                    return walk
                }
                if isCut, !walk.isOver, !walk.rows.isEmpty { walk.conclude() }
            }
            let rows = walk.rows.map { row in
                "\(row.from) \(row.to) \(text(row.total)) \(row.sources.map { "\($0.source) \(text($0.tally))" })"
            }
            pages.append(Page(rows: rows, hasNext: walk.next != nil))
            guard let next = walk.next else { return pages }
            asked.first = next
        }
    }

    private func sample(_ number: Int, _ random: inout SeededGenerator) throws -> Sample {
        let type = try #require(Self.types.randomElement(using: &random))
        let most: Int64 = [0, 0, 60, 3_000, 9_000, 400_000, 4_000_000].randomElement(using: &random) ?? 0
        // In the last ten of the thirty days most samples are from one source.
        let start = Self.begin + Int64.random(in: 0..<2_592_000, using: &random) * Self.second
        let isLate = start > Self.begin + 20 * Self.day && Int.random(in: 0..<40, using: &random) > 0
        let source = isLate ? Self.sources[2] : try #require(Self.sources.randomElement(using: &random))
        let end = start + (most == 0 ? 0 : Int64.random(in: 1...most, using: &random) * Self.second)
        return Sample(
            source: source, key: try #require(RecordKey("\(number)")), type: try TypeID(type.id),
            value: .quantity(Double.random(in: 40...120, using: &random), unit: type.unit),
            start: Timestamp(microseconds: start, offsetMinutes: 0), end: Timestamp(microseconds: end, offsetMinutes: 0)
        )
    }

    @Test(arguments: [true, false])
    func `R8.150 R8.121 records a reader may not read change no figure, interval or page of their statistics`(
        isRolled: Bool
    ) async throws {
        let seed = Thoroughness.seed(1)
        var random = SeededGenerator(seed: seed)
        let own: Set<String>? = Bool.random(using: &random) ? ["watch"] : nil
        let isLimited = own == nil || Bool.random(using: &random)
        let since = isLimited ? Self.begin + Int64.random(in: 0..<2_000_000, using: &random) * Self.second : nil
        let (store, without) = (try folder.open(), try other.open())
        let samples = try (0..<900).map { try sample($0, &random) }
        for store in [store, without] { _ = try await store.put(samples.map(Record.sample)) }
        for sample in samples {
            let isAllowed = own?.contains(sample.source.plugin) ?? true && sample.end.microseconds >= since ?? .min
            if !isAllowed { _ = try await without.retract(sample) }
        }
        for (id, unit, style) in Self.types where isRolled {
            let query = StatisticsQuery(of: "me", try TypeID(id), unit: unit, style)
            while try await store.rollUp(query, phase: 0, now: .max / 2, from: RollupPlan.Density(samples: 1, ofDay: 0))
            {}
        }
        for _ in 0..<30 {
            let type = try #require(Self.types.randomElement(using: &random))
            var asked = StatisticsQuery(of: "me", try TypeID(type.id), unit: type.unit, type.style)
            asked.isBySource = Bool.random(using: &random)
            asked.limit = [1, 2, 7, 1_000].randomElement(using: &random) ?? 1
            func time() -> Int64 { Self.begin + Int64.random(in: -90_000...2_600_000, using: &random) * Self.second }
            asked.from = Bool.random(using: &random) ? time() : nil
            if asked.from == nil, Bool.random(using: &random) { asked.to = time() }
            let unit = [Intervals.Unit.hour, .day, .week].randomElement(using: &random) ?? .day
            if Int.random(in: 0..<6, using: &random) > 0 { asked.intervals = Intervals(unit, zone: "Europe/Berlin") }
            var narrow = asked
            (narrow.sources, narrow.since) = (own, since)
            let (found, expected) = (try await pages(narrow, store), try await pages(asked, without))
            #expect(found == expected, "seed \(seed): \(narrow)")
            guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
            // A page that ends early names a next page only if that page has rows.
            let cut = try await pages(narrow, store, isCut: true)
            #expect(cut.flatMap(\.rows) == expected.flatMap(\.rows), "seed \(seed): \(narrow)")
            #expect(cut.count == 1 || cut.allSatisfy { !$0.rows.isEmpty }, "seed \(seed): \(narrow)")
        }
    }

    /// The number of shortest pieces that compute the statistics of one source, and its counts by hour.
    ///
    /// - Parameters:
    ///   - others: The number of samples of another source, one second apart.
    ///   - own: The starts of the source's samples, in seconds after the first of the others.
    private func pieces(_ others: Int64, own: [Int64], limit: Int = 1_000) async throws -> (
        pieces: Int, counts: [Int64], hasNext: Bool
    ) {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        func heart(_ source: Source, _ number: Int64) throws -> Record {
            let time = Timestamp(microseconds: Self.begin + number * Self.second, offsetMinutes: 0)
            return .sample(
                Sample(
                    source: source, key: try #require(RecordKey("\(number)")), type: try TypeID("heartRate"),
                    value: .quantity(60, unit: "count/min"), start: time, end: time))
        }
        for part in 0..<others / 1_000 {
            _ = try await store.put(try (part * 1_000..<(part + 1) * 1_000).map { try heart(Self.sources[1], $0) })
        }
        _ = try await store.put(try own.map { try heart(Self.sources[0], $0) })
        var query = StatisticsQuery(
            of: "me", try TypeID("heartRate"), unit: "count/min", .discreteTemporallyWeighted,
            intervals: Intervals(.hour, zone: "UTC"), limit: limit)
        query.sources = ["watch"]
        var (walk, pieces) = (StatisticsWalk(query), 0)
        while !walk.isOver {
            walk = try await store.readSnapshot("test") { [begun = walk] reader in
                var walk = begun
                try reader.advance(&walk, within: .zero)
                return walk
            }
            pieces += 1
        }
        try store.close()
        return (pieces, walk.rows.map { Int64($0.total.count) }.filter { $0 > 0 }, walk.next != nil)
    }

    @Test(arguments: [1_000, 1])
    func `R8.54 the number of pieces does not depend on how many samples of others lie before, between and after`(
        limit: Int
    ) async throws {
        func found(_ others: Int64) async throws -> (pieces: Int, counts: [Int64], hasNext: Bool) {
            try await pieces(others, own: [-500_000, others - 100, others + 90_000], limit: limit)
        }
        let most: Int64 = Thoroughness.isWhole ? 24_000 : 6_000
        let (few, many) = (try await found(most / 3), try await found(most))
        #expect(few.counts == (limit == 1 ? [1] : [1, 1, 1]) && few.hasNext == (limit == 1))
        #expect(many.counts == few.counts && many.hasNext == few.hasNext)
        #expect(many.pieces == few.pieces)
        let last = try await pieces(most, own: [-500_000], limit: limit)
        #expect(last.counts == [1] && !last.hasNext && last.pieces < 6, "\(last.pieces)")
    }
}
