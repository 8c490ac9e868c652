import Foundation
import Platform
import Testing

@testable import Samples

@Suite struct SourceMergeTests {
    private struct Vectors: Decodable {
        struct Sample: Decodable {
            var source, start, form, via: String
            var end: String?
            var value: Double
        }
        struct Vector: Decodable {
            var id: String
            var ranks: [String]
            var horizon: String?
            var from, to: String
            var samples: [Sample]
            var expect, naiveSum: Double
        }
        var vectors: [Vector]
    }

    private func time(_ text: String) throws -> Int64 {
        Int64(try Date(text, strategy: .iso8601).timeIntervalSince1970) * 1_000_000
    }

    /// Skips the vectors with a horizon: in them an export file ranks above the sums that a phone sends of the same hours.
    ///
    /// Here sums always rank first.
    @Test func `the priority vectors of phones, watches and bands give their expected sums`() throws {
        let url = try #require(Bundle.module.url(forResource: "priority-vectors", withExtension: "json"))
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: url)).vectors
        let plain = vectors.filter { $0.horizon == nil }
        #expect(plain.count >= 10)
        for vector in plain {
            let portions = try vector.samples.enumerated().map { number, sample in
                let start = try time(sample.start)
                return Portion(
                    number: Int64(number), start: start, end: try sample.end.map(time) ?? start, value: sample.value,
                    rank: sample.form == "bucket"
                        // Exported samples and pushed samples are different sources of the hub.
                        ? -1
                        : 2 * (vector.ranks.firstIndex(of: sample.source) ?? vector.ranks.count)
                            + (sample.via == "export" ? 0 : 1))
            }
            let merge = SourceMerge(portions)
            let total = merge.totals([try time(vector.from), try time(vector.to)])[0]
            let sum = try #require(total?.sum.rounded, "\(vector.id)")
            #expect(abs(sum - vector.expect) < 1e-9, "\(vector.id): \(sum)")
        }
    }

    /// A slow model of the rule: it computes the sum separately for each unit of time.
    private func model(_ portions: [Portion], _ from: Int64, _ to: Int64) -> Double? {
        var (sum, isAny) = (0.0, false)
        for time in from..<to {
            let there = portions.filter { $0.start <= time && time < $0.end }
            let best = there.map(\.rank).min()
            for portion in there where portion.rank == best {
                sum += portion.value / Double(portion.length)
                isAny = true
            }
            for instant in portions where instant.length == 0 && instant.start == time {
                guard !there.contains(where: { $0.rank < instant.rank }) else { continue }
                sum += instant.value
                isAny = true
            }
        }
        return isAny ? sum : nil
    }

    @Test func `for any samples and intervals the sum equals the one computed instant by instant`() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<400 {
            let portions = (0..<Int.random(in: 0...12, using: &random)).map { number in
                let start = Int64.random(in: -10...60, using: &random)
                let isInstant = Int.random(in: 0...3, using: &random) == 0
                return Portion(
                    number: Int64(number), start: start,
                    end: isInstant ? start : start + Int64.random(in: 1...40, using: &random),
                    // Distinct values, so that no two samples are taken for one event.
                    value: Double(number * 7 + 1), rank: Int.random(in: 0...3, using: &random))
            }
            var borders = (0..<Int.random(in: 2...6, using: &random)).map { _ in
                Int64.random(in: 0...50, using: &random)
            }
            borders = Array(Set(borders)).sorted()
            guard borders.count > 1 else { continue }
            let totals = SourceMerge(portions).totals(borders)
            for (interval, total) in totals.enumerated() {
                let expected = model(portions, borders[interval], borders[interval + 1])
                #expect((total == nil) == (expected == nil), "seed \(seed)")
                #expect(abs((total?.sum.rounded ?? 0) - (expected ?? 0)) < 1e-9, "seed \(seed)")
            }
        }
    }

    @Test func `days add up to their month, and the order of samples does not matter`() throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var portions = (0..<2_000).map { number in
            let start = Int64.random(in: 0..<30_000, using: &random)
            return Portion(
                number: Int64(number), start: start, end: start + Int64.random(in: 0...60, using: &random),
                value: Double.random(in: 0...90, using: &random), rank: Int.random(in: 0...2, using: &random))
        }
        // Half of the samples are duplicated by another source.
        portions += portions.prefix(1_000).map { portion in
            var other = portion
            other.number += 2_000
            other.rank = (portion.rank + 1) % 3
            if Bool.random(using: &random) { other.end = other.start }
            return other
        }
        let sorted = portions.sorted { $0.start < $1.start }
        let mirrors = Set(Mirrors.find(sorted).keys.map { sorted[$0].number })
        let counting = portions.filter { !mirrors.contains($0.number) }
        let days = SourceMerge(portions).totals(Array(stride(from: 0, through: 30_100, by: 1_003)))
        let again = SourceMerge(portions.shuffled(using: &random)).totals(
            Array(stride(from: 0, through: 30_100, by: 1_003)))
        #expect(days.map { $0?.sum.rounded } == again.map { $0?.sum.rounded }, "seed \(seed)")
        // The sums agree to the last bit, wherever time is divided.
        let month = try #require(SourceMerge(portions).totals([0, 30_090])[0])
        var (sum, duration) = (ExactSum(), Int64(0))
        for total in days.compactMap(\.self) {
            sum.add(total.sum)
            duration += total.duration
        }
        #expect(month.sum.rounded == sum.rounded && month.duration == duration, "seed \(seed)")
        let figures = Figures.sums(portions, Array(stride(from: 0, through: 30_090, by: 1_003)), bySource: true)
        var year = Figures()
        for part in figures { year.add(part) }
        #expect(year.total.total == month.sum.rounded && year.total.count == counting.count { $0.start < 30_090 })
        #expect(mirrors.count >= 900, "seed \(seed)")
        for (rank, tally) in year.sources {
            let own = SourceMerge(counting: counting.filter { $0.rank == rank }).totals([0, 30_090])[0]
            #expect(tally.total == own?.sum.rounded && tally.duration == own?.duration, "seed \(seed)")
        }
    }

    @Test func `the parts of a sample add up to the exact value that its source sent`() {
        let hundred = Portion(number: 1, start: 0, end: 7_000_003, value: 100, rank: 0)
        for cut in [Int64(1), 333, 2_333_334, 7_000_002] {
            var whole = Figures()
            for part in Figures.sums([hundred], [0, cut, 7_000_003], bySource: false) { whole.add(part) }
            #expect(whole.total.total == 100 && whole.total.duration == 7_000_003)
        }
    }

    /// Portions with start and end in seconds of a minute and the rank of the source.
    ///
    /// A portion with a `nil` end has no length.
    private func portions(_ samples: (start: Int64, end: Int64?, value: Double, rank: Int)...) -> [Portion] {
        samples.enumerated().map { number, sample in
            Portion(
                number: Int64(number), start: sample.start, end: sample.end ?? sample.start, value: sample.value,
                rank: sample.rank)
        }
    }

    private func sum(_ portions: [Portion], _ borders: [Int64] = [0, 60]) -> Double? {
        SourceMerge(portions).totals(borders)[0]?.sum.rounded
    }

    @Test func `a sample duplicated by another source counts once, even if one of them has no end`() {
        #expect(sum(portions((0, nil, 250, 0), (0, nil, 250, 1), (9, nil, 250, 1), (9, nil, 250, 0))) == 500)
        #expect(sum(portions((0, 10, 600, 0), (0, nil, 600.3, 1))) == 600)
        // The better source's sample counts, completely at its instant.
        #expect(sum(portions((0, nil, 600.3, 0), (0, 10, 600, 1))) == 600.3)
        #expect(sum(portions((0, nil, 600, 0), (0, 10, 600, 1)), [5, 60]) == nil)
        // A sample with another value, start or end is a different event.
        #expect(sum(portions((0, nil, 250, 0), (0, nil, 251, 1))) == 501)
        #expect(sum(portions((0, nil, 250, 0), (1, nil, 250, 1))) == 500)
        #expect(sum(portions((0, 10, 600, 0), (0, 12, 600, 1))) == 700)
    }

    @Test func `two samples of one source are two events, and each duplicates at most one sample of another source`() {
        #expect(sum(portions((0, nil, 250, 0), (0, nil, 250, 0))) == 500)
        #expect(sum(portions((0, nil, 250, 0), (0, nil, 250, 0), (0, nil, 250, 1))) == 500)
        #expect(sum(portions((0, nil, 250, 0), (0, nil, 250, 1), (0, nil, 250, 1), (0, nil, 250, 2))) == 500)
        // An interval is paired with its counterpart before an instant is.
        #expect(sum(portions((0, 10, 60, 0), (0, nil, 60, 0), (0, nil, 60, 1), (0, 10, 60, 1))) == 120)
    }

    @Test func `two hundred thousand samples of one instant and two sources are not compared pairwise`() {
        let many = (0..<200_000).map { number in
            Portion(number: Int64(number), start: 0, end: 0, value: 600, rank: number % 2)
        }
        #expect(sum(many) == 60_000_000)
        let different = (0..<40_000).map { number in
            Portion(
                number: Int64(number), start: 0, end: Int64(number / 2), value: Double(number / 2) * 1_000,
                rank: number % 2)
        }
        #expect(Mirrors.find(different).count == 20_000)
    }

    @Test func `a source's own sum omits duplicates of a better source, but the source is still listed`() {
        let samples = portions((0, nil, 250, 0), (0, nil, 250, 1), (9, nil, 100, 1))
        let figures = Figures.sums(samples, [0, 5, 60], bySource: true)
        #expect(figures.map(\.total.total) == [250, 100] && figures.map(\.total.count) == [1, 1])
        #expect(figures[0].sources[0]?.total == 250 && figures[0].sources[1] == Tally())
        #expect(figures[1].sources[1]?.total == 100)
    }

    @Test func `period sums rank above sources that the configuration does not name, and manual entries below them`() {
        let rank = SourceRank(["phone", "watch/left"])
        let order: [Source] = [
            Source(plugin: "phone", device: "a", account: "hae sums"), Source(plugin: "phone", device: "a"),
            Source(plugin: "watch", device: "left"), Source(plugin: "ingest", account: "sums"), Source(plugin: "band"),
            Source(plugin: "watch", device: "right", account: "no sums at all"), Source(plugin: Source.byHand),
        ]
        let ranks = order.enumerated().map { rank.rank(of: $1, number: Int64($0 + 1)) }
        #expect(ranks == ranks.sorted() && Set(ranks).count == order.count)
        #expect(ranks.map(SourceRank.number) == Array(1...7))
        #expect(ranks.allSatisfy { (0..<1 << 53).contains($0) })
        #expect(
            Source(plugin: "x", account: "sums").isSumAccount && !Source(plugin: "x", account: "mysums").isSumAccount)
    }

    @Test func `an interval without samples has no value, and one with only zeros is zero`() {
        let portions = [Portion(number: 1, start: 10, end: 20, value: 0, rank: 0)]
        let totals = SourceMerge(portions).totals([0, 10, 20, 30])
        #expect(totals[0] == nil && totals[1]?.sum.rounded == 0 && totals[2] == nil)
    }
}
