/// How well a weight fits a person: a normal distribution around the person's recent trend.
///
/// The model treats body weight as a random walk observed with noise from clothes, meals and scales. A Kalman filter estimates the weight and its
/// uncertainty at a moment from the weighings before and after it. The uncertainty grows with the distance to the nearest weighing. The expected
/// weight from `hub.conf` counts as one more weighing, with its tolerance as error. A guest is always possible. A guest's weight has the wide
/// distribution of people's weights, so a weight that fits no person goes into the inbox.
///
/// The functions are pure: the same weighings give the same odds.
public enum WeightModel {
    /// A weighing of a known person.
    public struct Weighing: Hashable, Sendable {
        /// The number of its record, which orders weighings of the same instant.
        public var number: Int64
        /// Microseconds since 1970.
        public var start: Int64
        public var kilograms: Double
        /// Whether a person assigned it.
        ///
        /// It is then trusted, however unlikely it is.
        public var isByHand: Bool

        /// Creates a weighing without checking its values.
        public init(number: Int64, start: Int64, kilograms: Double, isByHand: Bool = false) {
            (self.number, self.start, self.kilograms, self.isByHand) = (number, start, kilograms, isByHand)
        }
    }

    /// A normal distribution.
    struct NormalDistribution: Hashable {
        var mean: Double
        var variance: Double

        /// The product of both distributions, each weighted by its certainty.
        func combined(with other: NormalDistribution) -> NormalDistribution {
            let share = variance / (variance + other.variance)
            return NormalDistribution(mean: mean + share * (other.mean - mean), variance: other.variance * share)
        }
    }

    /// Variance of one weighing in kg²: meals, clothes, time of day.
    static let noise = 0.5
    /// Variance of one day in kg²: the change of the weight itself.
    static let drift = 0.03
    /// Beyond this many standard deviations a weighing counts less the further off it is, unless a person assigned it.
    static let limit = 2.5
    /// The prior probability that another person stood on the scale.
    static let guestShare = 0.05
    /// The distribution of people's weights, children included.
    static let stranger = NormalDistribution(mean: 65, variance: 625)
    /// The variance after the first weighings, in kg².
    private static let beginning = 4.0
    private static let microsecondsPerDay = 86_400_000_000.0

    /// The estimated weight of a person at a moment; `nil` if nothing is known.
    ///
    /// - Parameter weighings: oldest first.
    static func belief(
        at moment: Int64, from weighings: [Weighing], expected: Double? = nil, tolerance: Double
    ) -> NormalDistribution? {
        let before = weighings.prefix { $0.start <= moment }
        let after = weighings.suffix(from: before.endIndex)
        var belief: NormalDistribution?
        for part in [filtered(Array(before), to: moment), filtered(after.reversed(), to: moment)] {
            guard let part else { continue }
            belief = belief?.combined(with: part) ?? part
        }
        guard let expected else { return belief }
        let stated = NormalDistribution(mean: expected, variance: max(tolerance * tolerance, 0.01))
        return belief?.combined(with: stated) ?? stated
    }

    /// - Parameter weighings: sorted by their distance to the moment, the furthest first.
    private static func filtered(_ weighings: [Weighing], to moment: Int64) -> NormalDistribution? {
        guard let first = weighings.first else { return nil }
        // Start from a median, so that a single misread weighing does not distort all others.
        let opening = weighings.prefix(5).map(\.kilograms).sorted()
        var belief = NormalDistribution(mean: opening[opening.count / 2], variance: beginning)
        var time = first.start
        for weighing in weighings {
            belief.variance += drift * days(time, weighing.start)
            time = weighing.start
            let surprise = weighing.kilograms - belief.mean
            var error = noise
            if weighing.isByHand {
                // A person vouches for a strange weight: the weight has changed, so earlier weighings count no more than this one.
                let isStrange = surprise * surprise > limit * limit * (belief.variance + noise)
                if isStrange { belief.variance = max(belief.variance, noise) }
            } else {
                error = max(error, surprise * surprise / (limit * limit) - belief.variance)
            }
            belief = belief.combined(with: NormalDistribution(mean: weighing.kilograms, variance: error))
        }
        belief.variance += drift * days(time, moment)
        return belief
    }

    private static func days(_ start: Int64, _ end: Int64) -> Double {
        abs(Double(end) - Double(start)) / microsecondsPerDay
    }
}
