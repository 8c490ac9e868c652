import Foundation
import HubProcess
import Platform
import Testing

@testable import Samples

/// Runs `model.py`, an independent implementation of the statistics.
enum Model {
    /// The model's answers, one for each question that has an answer.
    static func answers<Answer: Decodable>(_ questions: [some Encodable], _: Answer.Type) async throws -> [Answer] {
        let model = try #require(Bundle.module.path(forResource: "model", ofType: "py"))
        let folder = try TemporaryFolder()
        let lines = try questions.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) + "\n" }.joined()
        let file = try folder.write(lines, to: "questions")
        let python = try Tool.python(with: "pandas")
        let result = try await ChildProcess("/bin/sh", ["-c", "exec '\(python)' '\(model)' < '\(file)'"]).result()
        try #require(result.code == 0, "\(result.errors)")
        return try result.output.split(separator: "\n").map {
            try JSONDecoder().decode(Answer.self, from: Data($0.utf8))
        }
    }
}

/// Compares the statistics with an independent model in Python.
@Suite struct ModelTests {
    private struct Question: Encodable {
        struct Piece: Encodable {
            var number, start, end: Int64
            var value: Double
            var rank: Int
        }
        var ask: String
        var pieces, levels: [Piece]?
        var borders: [Int64]?
        var style: String?
        var following: Int64?
        var zone, unit: String?
        var anchor: Int64?
        var count: Int?
        var numbers: [Int]?

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(ask, forKey: .ask)
            try members.encodeIfPresent(pieces, forKey: .pieces)
            try members.encodeIfPresent(levels, forKey: .levels)
            try members.encodeIfPresent(borders, forKey: .borders)
            try members.encodeIfPresent(style, forKey: .style)
            try members.encode(following, forKey: .following)
            try members.encodeIfPresent(zone, forKey: .zone)
            try members.encodeIfPresent(unit, forKey: .unit)
            try members.encodeIfPresent(anchor, forKey: .anchor)
            try members.encodeIfPresent(count, forKey: .count)
            try members.encodeIfPresent(numbers, forKey: .numbers)
        }

        private enum CodingKeys: CodingKey {
            case ask, pieces, levels, borders, style, following, zone, unit, anchor, count, numbers
        }
    }

    private func answers<Answer: Decodable>(_ questions: [Question], _ type: Answer.Type) async throws -> [Answer] {
        try await Model.answers(questions, type)
    }

    @Test(.enabled(if: Need.pandas.isMet, "\(Need.pandas.reason)"))
    func `sums of several sources equal those of the model to the last bit`() async throws {
        let seed = Thoroughness.seed(1)
        var random = SeededGenerator(seed: seed)
        var (questions, results): ([Question], [[Double?]]) = ([], [])
        for _ in 0..<Thoroughness.rounds(4_000) {
            var portions: [Portion] = []
            for number in 0..<Int64.random(in: 0...10, using: &random) {
                if Bool.random(using: &random), var other = portions.randomElement(using: &random) {
                    // A duplicate of another sample, from the same source or another.
                    (other.number, other.rank) = (number, Int.random(in: 0...3, using: &random))
                    other.value *= [1, 1.0004, 1.0006].randomElement(using: &random) ?? 1
                    let ends = [other.end, other.start, other.end + 1]
                    other.end = ends.randomElement(using: &random) ?? other.end
                    portions.append(other)
                    continue
                }
                let start = Int64.random(in: 0...100, using: &random)
                let length = max(0, Int64.random(in: -10...60, using: &random))
                portions.append(
                    Portion(
                        number: number, start: start, end: start + length,
                        value: Double.random(in: 0...500, using: &random), rank: Int.random(in: 0...3, using: &random)))
            }
            let borders = Set((0..<4).map { _ in Int64.random(in: -5...150, using: &random) }).sorted()
            guard borders.count > 1 else { continue }
            questions.append(
                Question(
                    ask: "totals",
                    pieces: portions.map {
                        .init(number: $0.number, start: $0.start, end: $0.end, value: $0.value, rank: $0.rank)
                    }, borders: borders))
            results.append(SourceMerge(portions).totals(borders).map { $0?.sum.rounded })
        }
        let expected = try await answers(questions, [Double?].self)
        #expect(expected.count == results.count)
        for (index, pair) in zip(expected, results).enumerated() {
            #expect(pair.0 == pair.1, "seed \(seed), question \(index)")
        }
    }

    @Test(.enabled(if: Need.pandas.isMet, "\(Need.pandas.reason)"))
    func `averages equal those of the model`() async throws {
        let seed = Thoroughness.seed(1)
        var random = SeededGenerator(seed: seed)
        var (questions, results): ([Question], [[Double]]) = ([], [])
        let styles: [AggregationStyle] = [
            .discreteArithmetic, .discreteTemporallyWeighted, .discreteEquivalentContinuousLevel,
        ]
        for _ in 0..<Thoroughness.rounds(3_000) {
            let style = try #require(styles.randomElement(using: &random))
            let levels = (0..<Int.random(in: 1...12, using: &random)).map { number in
                let start = Int64.random(in: 0...2_000, using: &random) * 1_000_000
                let length = max(0, Int64.random(in: -900...900, using: &random)) * 1_000_000
                return Level(
                    number: Int64(number), start: start, end: start + length,
                    value: Double.random(in: 30...120, using: &random), rank: 0)
            }.sorted { ($0.start, $0.number) < ($1.start, $1.number) }
            let after = (levels.last?.start ?? 0) + Int64.random(in: 1...900_000_000, using: &random)
            let following = Bool.random(using: &random) ? after : nil
            questions.append(
                Question(
                    ask: "levels",
                    levels: levels.map {
                        .init(number: $0.number, start: $0.start, end: $0.end, value: $0.value, rank: 0)
                    }, style: style.rawValue, following: following))
            let border = (levels.last?.start ?? 0) + 1
            let next = following.map { [Level(number: 99, start: $0, end: $0, value: 1, rank: 0)] } ?? []
            let tally = Figures.levels(levels + next, [0, border], style, bySource: false)[0].total
            results.append([tally.average(style), tally.minimum, tally.maximum].compactMap(\.self))
        }
        let expected = try await answers(questions, [Double].self)
        #expect(expected.count == results.count)
        for (index, pair) in zip(expected, results).enumerated() {
            // The last bit of powers and logarithms may differ between libraries.
            #expect(zip(pair.0, pair.1).allSatisfy { abs($0 - $1) < 1e-12 * $1 }, "seed \(seed), question \(index)")
            if questions[index].style != AggregationStyle.discreteEquivalentContinuousLevel.rawValue {
                #expect(pair.0 == pair.1, "seed \(seed), question \(index)")
            }
        }
    }

    @Test(.enabled(if: Need.pandas.isMet, "\(Need.pandas.reason)"))
    func `hours, days, weeks, months and years begin at the same instants as in the model`() async throws {
        let seed = Thoroughness.seed(1)
        var random = SeededGenerator(seed: seed)
        let zones = [
            "Europe/Berlin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu",
            "Africa/Casablanca", "America/Sao_Paulo", "UTC",
        ]
        var (questions, results): ([Question], [[Int64]]) = ([], [])
        for _ in 0..<Thoroughness.rounds(3_000) {
            let zone = try #require(zones.randomElement(using: &random))
            let unit = try #require(Intervals.Unit.allCases.randomElement(using: &random))
            let anchor = Int64.random(in: 500_000_000...2_000_000_000, using: &random)
            let count = Int.random(in: 1...4, using: &random)
            let most = unit == .hour ? 5_000 : unit == .day ? 1_000 : 20
            let numbers = (0..<6).map { _ in Int.random(in: -most...most, using: &random) }
            questions.append(
                Question(
                    ask: "borders", zone: zone, unit: unit.rawValue, anchor: anchor, count: count, numbers: numbers))
            let intervals = try #require(Intervals(every: count, unit, anchor: anchor * 1_000_000, zone: zone))
            results.append(numbers.map { intervals.border($0) / 1_000_000 })
        }
        let expected = try await answers(questions, [Int64].self)
        #expect(expected.count == results.count)
        for (index, pair) in zip(expected, results).enumerated() {
            let question = questions[index]
            #expect(
                pair.0 == pair.1,
                "seed \(seed): \(question.zone ?? "") \(question.unit ?? "") \(question.anchor ?? 0) \(question.numbers ?? [])"
            )
        }
    }
}
