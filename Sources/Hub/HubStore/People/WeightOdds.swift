import Glibc
import Samples

/// The probability that a weight belongs to each of several persons.
public struct WeightOdds: Hashable, Sendable {
    public struct Share: Hashable, Sendable {
        public var name: String
        /// 0…1; all shares and `somebodyElse` add up to 1.
        public var probability: Double
        /// Whether anything is known of the person's weight.
        ///
        /// A person without known weight is never chosen.
        public var isKnown: Bool
    }

    public var kilograms: Double
    /// In the order of the members.
    public var shares: [Share]
    /// The probability that it was none of them.
    public var somebodyElse: Double

    /// The odds of a weight at a moment, in microseconds since 1970.
    ///
    /// - Parameters:
    ///   - owner: the index of the member whose slot the device names. All others together then have the prior probability of a guest.
    ///   - weighings: returns the weighings of the member at an index that count for the trend, oldest first.
    public init(
        of kilograms: Double, at moment: Int64, among members: [Household.Member], owner: Int? = nil,
        weighings: (Int) throws -> [WeightModel.Weighing]
    ) rethrows {
        self.kilograms = kilograms
        var logs: [Double] = []
        var known: [Bool] = []
        let share = (1 - WeightModel.guestShare) / Double(max(members.count, 1))
        // With a slot, the other persons and a guest share the rest equally.
        let rest = owner == nil ? nil : WeightModel.guestShare / Double(members.count)
        for (place, member) in members.enumerated() {
            let belief = WeightModel.belief(
                at: moment, from: try weighings(place), expected: member.expectedWeight, tolerance: member.tolerance)
            known.append(belief != nil)
            let part = place == owner ? 1 - WeightModel.guestShare : rest ?? share
            logs.append(Self.evidence(of: kilograms, belief ?? WeightModel.stranger, share: part))
        }
        logs.append(
            Self.evidence(
                of: kilograms, WeightModel.stranger, share: members.isEmpty ? 1 : rest ?? WeightModel.guestShare))
        let highest = logs.max() ?? 0
        // If the weight fits no person, it belongs to another person or is a fault of the scale.
        let parts =
            highest.isFinite ? logs.map { exp($0 - highest) } : logs.indices.map { $0 == members.count ? 1 : 0 }
        let sum = parts.reduce(0, +)
        shares = members.indices.map {
            Share(name: members[$0].person.name, probability: parts[$0] / sum, isKnown: known[$0])
        }
        somebodyElse = parts[members.count] / sum
    }

    /// The index of the likeliest member; of equally likely ones the first.
    public var best: Int? {
        shares.indices.max { shares[$0].probability < shares[$1].probability }
    }

    /// The index of the likeliest member, if its probability is at least `certainty` and its weight is known.
    public func found(at certainty: Double) -> Int? {
        best.flatMap { shares[$0].isKnown && shares[$0].probability >= certainty ? $0 : nil }
    }

    /// The odds for people: `71.9 kg: anna 62 %, ben 31 %, somebody else 7 %`.
    public var text: String {
        var candidates = shares.map { share in
            (share.name + (share.isKnown ? "" : " (whose weight is not known yet)"), share.probability)
        }
        candidates.append(("somebody else", somebodyElse))
        let likeliest = candidates.enumerated().sorted { left, right in
            left.element.1 != right.element.1 ? left.element.1 > right.element.1 : left.offset < right.offset
        }
        let named = likeliest.map(\.element).prefix(4).enumerated().filter { $0.offset == 0 || $0.element.1 >= 0.005 }
        return "\(Self.kilograms(kilograms)): "
            + named.map { "\($0.element.0) \(Self.percent($0.element.1))" }.joined(separator: ", ")
    }

    /// Never 100 %, because no estimate is certain.
    private static func percent(_ probability: Double) -> String {
        probability >= 0.995 ? "over 99 %" : "\(Int((probability * 100).rounded())) %"
    }

    /// Rounded to a tenth; implausible weights are printed in full.
    private static func kilograms(_ value: Double) -> String {
        guard abs(value) < 10_000 else { return "\(value) kg" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10) kg"
    }

    private static func evidence(of kilograms: Double, _ belief: WeightModel.NormalDistribution, share: Double)
        -> Double
    {
        // A weighing adds its own noise to the uncertainty.
        let variance = belief.variance + WeightModel.noise
        let distance = kilograms - belief.mean
        return log(share) - 0.5 * log(variance) - distance * distance / (2 * variance)
    }
}
