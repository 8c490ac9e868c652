/// How well a weight fits a person: a normal distribution around the person's recent trend.
///
/// A body's weight is a random walk that is seen through clothes, meals and scales. From the weighings before and after a moment a Kalman
/// filter says what the weight was then and how certain that is; the longer ago the nearest weighing, the wider. The weight that
/// `hub.conf` expects counts as one more weighing, with its tolerance as error. It may always have been another person: a
/// guest is spread over all that people weigh, so that what fits no person goes into the inbox.
///
/// Pure: the same weighings give the same odds.
public enum WeightModel {
    /// A weighing of a known person.
    public struct Weighing: Hashable, Sendable {
        /// Its record, which decides between two of one instant.
        public var number: Int64
        /// Microseconds since 1970.
        public var start: Int64
        public var kilograms: Double
        /// Whether a person said whose it is: then it is believed however unlikely it looks.
        public var isByHand: Bool

        /// A weighing; nothing is checked.
        public init(number: Int64, start: Int64, kilograms: Double, isByHand: Bool = false) {
            (self.number, self.start, self.kilograms, self.isByHand) = (number, start, kilograms, isByHand)
        }
    }

    /// A normal distribution.
    struct NormalDistribution: Hashable {
        var mean: Double
        var variance: Double

        /// What both say, each as far as it is certain.
        func combined(with other: NormalDistribution) -> NormalDistribution {
            let share = variance / (variance + other.variance)
            return NormalDistribution(mean: mean + share * (other.mean - mean), variance: other.variance * share)
        }
    }

    /// Of one weighing, kg²: breakfast, clothes, the time of the day.
    static let noise = 0.5
    /// Of a day, kg²: what the weight itself wanders in it.
    static let drift = 0.03
    /// Beyond so many standard deviations a weighing counts less the stranger it is, unless a person vouches for it.
    static let limit = 2.5
    /// How likely it is beforehand that another person stood on the scale.
    static let guestShare = 0.05
    /// What people weigh, children among them.
    static let stranger = NormalDistribution(mean: 65, variance: 625)
    /// How uncertain the first weighings leave the weight, kg².
    private static let beginning = 4.0
    private static let microsecondsPerDay = 86_400_000_000.0

    /// What a person weighed at a moment, as far as is known; `nil` where nothing is.
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

    /// - Parameter weighings: in the order of their distance to the moment, the furthest first.
    private static func filtered(_ weighings: [Weighing], to moment: Int64) -> NormalDistribution? {
        guard let first = weighings.first else { return nil }
        // A single misread weighing must not be what all others are judged by.
        let opening = weighings.prefix(5).map(\.kilograms).sorted()
        var belief = NormalDistribution(mean: opening[opening.count / 2], variance: beginning)
        var time = first.start
        for weighing in weighings {
            belief.variance += drift * days(time, weighing.start)
            time = weighing.start
            let surprise = weighing.kilograms - belief.mean
            var error = noise
            if weighing.isByHand {
                // A person vouches for what looks impossible: the weight has changed, and what was known counts no more than this.
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
