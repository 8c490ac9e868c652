import Platform
import Samples
import Testing

@testable import HubStore

/// The probability that a weight is a person's.
@Suite struct WeightModelTests {
    private static let day: Int64 = 86_400_000_000

    /// Weighings on consecutive days until day `last`, of this weight give or take a meal.
    private func weighings(
        _ kilograms: Double, days: Int, until last: Int64 = 0, _ random: inout SeededGenerator
    ) -> [WeightModel.Weighing] {
        (0..<days).map { day in
            WeightModel.Weighing(
                number: Int64(day + 1), start: (last - Int64(days - 1 - day)) * Self.day,
                kilograms: kilograms + Double.random(in: -0.7...0.7, using: &random))
        }
    }

    private func member(_ name: String, _ expected: Double? = nil, _ tolerance: Double = 3) -> Household.Member {
        Household.Member(Person(uid: name, name: name), expectedWeight: expected, tolerance: tolerance)
    }

    @Test func `all shares add up to one, whatever is weighed and known`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let strange = [0, -1, 1e-300, 1e300, -1e308, 500, .leastNonzeroMagnitude, .greatestFiniteMagnitude]
        for round in 0..<2_000 {
            let count = Int.random(in: 0...5, using: &random)
            let members = (0..<count).map { place in
                member("p\(place)", Bool.random(using: &random) ? Double.random(in: 5...200, using: &random) : nil)
            }
            let known = members.map { _ in
                weighings(
                    Double.random(in: 5...200, using: &random), days: Int.random(in: 0...32, using: &random), &random)
            }
            let kilograms =
                Int.random(in: 0..<4, using: &random) == 0
                ? strange[Int.random(in: 0..<strange.count, using: &random)]
                : Double.random(in: 2...300, using: &random)
            let moment = Int64.random(in: -4_000...4_000, using: &random) * Self.day
            let odds = WeightOdds(of: kilograms, at: moment, among: members) { known[$0] }
            let all = odds.shares.map(\.probability) + [odds.somebodyElse]
            #expect(all.allSatisfy { (0...1).contains($0) }, "seed \(seed), round \(round): \(odds)")
            #expect(abs(all.reduce(0, +) - 1) < 1e-9, "seed \(seed), round \(round): \(odds)")
            // The person found is the likeliest; a person whose weight is not known is never found.
            if let found = odds.found(at: 0.95) {
                #expect(odds.shares[found].isKnown && odds.shares[found].probability == all.max(), "seed \(seed)")
            }
            #expect(WeightOdds(of: kilograms, at: moment, among: members) { known[$0] } == odds)
        }
    }

    @Test func `the nearer of two trends wins, and a weight between them or a guest's has no person`() {
        var random = SeededGenerator(seed: 1)
        let known = [weighings(62, days: 20, &random), weighings(75, days: 20, &random)]
        let members = [member("anna"), member("ben")]
        func odds(_ kilograms: Double) -> WeightOdds {
            WeightOdds(of: kilograms, at: 0, among: members) { known[$0] }
        }
        #expect(odds(62.4).found(at: 0.99) == 0 && odds(74.1).found(at: 0.99) == 1)
        for guest in [31.2, 68.5, 90, 6.2, 150] {
            #expect(odds(guest).found(at: 0.95) == nil && odds(guest).somebodyElse > 0.9, "\(guest)")
        }
        #expect(odds(62.4).text.hasPrefix("62.4 kg: anna over 99 %"))
    }

    /// Day, weight, the person found, and the odds as text: later versions must return the same.
    private static let vectors: [(day: Int64, kilograms: Double, found: String?, text: String)] = [
        (10, 61.5, "anna", "61.5 kg: anna 99 %, somebody else 1 %"),
        (10, 75.0, "ben", "75.0 kg: ben 99 %, somebody else 1 %"),
        (10, 64.0, nil, "64.0 kg: anna 86 %, somebody else 14 %"),
        (10, 68.5, nil, "68.5 kg: somebody else over 99 %"),
        (10, 86.0, "carl", "86.0 kg: carl 98 %, somebody else 2 %"),
        (10, 40.0, nil, "40.0 kg: somebody else over 99 %"),
        (-20, 62.5, "anna", "62.5 kg: anna 99 %, somebody else 1 %"),
        (40, 64.5, nil, "64.5 kg: anna 92 %, somebody else 8 %"),
        (200, 68.0, nil, "68.0 kg: somebody else 36 %, ben 34 %, anna 30 %"),
        (400, 68.5, nil, "68.5 kg: ben 74 %, anna 16 %, somebody else 11 %"),
    ]

    @Test func `the odds agree with the vectors`() {
        func weighings(_ values: [(day: Int64, kilograms: Double)]) -> [WeightModel.Weighing] {
            values.enumerated().map { place, value in
                WeightModel.Weighing(number: Int64(place + 1), start: value.day * Self.day, kilograms: value.kilograms)
            }
        }
        let known = [
            weighings([(0, 62.1), (1, 62.4), (2, 61.8), (4, 62), (5, 61.7), (8, 61.9), (9, 61.6)]),
            weighings([(0, 75.2), (3, 75.9), (6, 74.8), (9, 75.5)]), [],
        ]
        let members = [member("anna", 62), member("ben"), member("carl", 88)]
        for vector in Self.vectors {
            let odds = WeightOdds(of: vector.kilograms, at: vector.day * Self.day, among: members) { known[$0] }
            #expect(odds.text == vector.text)
            #expect(odds.found(at: Household.usualCertainty).map { members[$0].person.name } == vector.found)
        }
    }

    @Test func `the longer ago the last weighing, the more a weight may have changed`() {
        var random = SeededGenerator(seed: 2)
        let known = weighings(62, days: 20, &random)
        var last = 1.0
        for days in [Int64(0), 10, 30, 90, 365, 3_650] {
            let odds = WeightOdds(of: 62, at: days * Self.day, among: [member("anna")]) { _ in known }
            #expect(odds.shares[0].probability <= last + 1e-12)
            last = odds.shares[0].probability
        }
        func share(_ kilograms: Double, after days: Int64) -> Double {
            WeightOdds(of: kilograms, at: days * Self.day, among: [member("anna")]) { _ in known }.shares[0].probability
        }
        #expect(share(66, after: 1) < 0.2 && share(66, after: 60) > 0.8)
        // The same before the weighings, such as records of last month in a scale's memory.
        #expect(share(66, after: -22) < 0.4 && share(66, after: -90) > 0.8)
    }

    @Test func `one misread weighing does not change a trend, but a weighing assigned by hand does`() throws {
        var random = SeededGenerator(seed: 3)
        var known = weighings(62, days: 20, until: -1, &random)
        let before = try #require(WeightModel.belief(at: 0, from: known, tolerance: 3)).mean
        known.append(WeightModel.Weighing(number: 99, start: 0, kilograms: 31))
        let misread = try #require(WeightModel.belief(at: 0, from: known, tolerance: 3)).mean
        #expect(abs(misread - before) < 0.5)
        known[20] = WeightModel.Weighing(number: 99, start: 0, kilograms: 66, isByHand: true)
        let vouched = try #require(WeightModel.belief(at: 0, from: known, tolerance: 3)).mean
        #expect(vouched - before > 0.7)
        // Also the very first one.
        let first =
            [WeightModel.Weighing(number: 1, start: -30 * Self.day, kilograms: 31)] + weighings(62, days: 9, &random)
        #expect(abs(try #require(WeightModel.belief(at: 0, from: first, tolerance: 3)).mean - 62) < 1)
    }

    @Test func `the trend begins at the expected weight, and many weighings outweigh it`() throws {
        var random = SeededGenerator(seed: 4)
        let begun = try #require(WeightModel.belief(at: 0, from: [], expected: 62, tolerance: 3))
        #expect(begun.mean == 62 && begun.variance == 9)
        let changed = weighings(72, days: 30, &random)
        let later = try #require(WeightModel.belief(at: 0, from: changed, expected: 62, tolerance: 3))
        #expect(abs(later.mean - 72) < 0.6)
        #expect(WeightModel.belief(at: 0, from: [], tolerance: 3) == nil)
    }

    @Test func `a slot is trusted for its owner unless the weight is far from the owner's trend`() {
        let members = [member("anna", 62), member("ben", 63), member("carl", 84)]
        func owner(_ kilograms: Double) -> Double {
            let odds = WeightOdds(of: kilograms, at: 0, among: members, owner: 0) { _ in [] }
            #expect(abs(odds.shares.map(\.probability).reduce(odds.somebodyElse, +) - 1) < 1e-9)
            return odds.shares[0].probability
        }
        // The weight alone would be more likely ben's.
        #expect(owner(62) > 0.9 && owner(66) > 0.9)
        #expect(owner(72) < 0.9 && owner(84.7) < 0.001 && owner(30) < 0.001)
    }

    @Test func `a person without a known weight is never found, even if no other person fits`() {
        let members = [member("anna", 62), member("ben")]
        let odds = WeightOdds(of: 90, at: 0, among: members) { _ in [] }
        #expect(odds.best == 1 && odds.shares[1].probability > 0.9 && odds.found(at: 0.51) == nil)
        #expect(odds.text.contains("ben (whose weight is not known yet)"))
    }
}
