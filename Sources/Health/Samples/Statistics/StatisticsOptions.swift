/// The statistics to compute.
public struct StatisticsOptions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Each figure for every source separately, in addition to the total.
    public static let bySource = StatisticsOptions(rawValue: 1)
    /// The mean.
    public static let average = StatisticsOptions(rawValue: 2)
    /// The smallest value.
    public static let minimum = StatisticsOptions(rawValue: 4)
    /// The largest value.
    public static let maximum = StatisticsOptions(rawValue: 8)
    /// The sum.
    public static let sum = StatisticsOptions(rawValue: 16)
    /// The reading that ended last.
    public static let mostRecent = StatisticsOptions(rawValue: 32)
    /// The counted time.
    public static let duration = StatisticsOptions(rawValue: 64)

    /// The options by their names in QUERY and on the command line.
    public static let names: KeyValuePairs<String, StatisticsOptions> = [
        "average": .average, "minimum": .minimum, "maximum": .maximum, "sum": .sum, "duration": .duration,
        "mostRecent": .mostRecent, "bySource": .bySource,
    ]

    /// The options that suit a type's values.
    public static func fitting(_ style: AggregationStyle) -> StatisticsOptions {
        switch style {
        case .cumulative: [.sum, .duration, .mostRecent, .bySource]
        case .discreteArithmetic, .discreteTemporallyWeighted, .discreteEquivalentContinuousLevel:
            [.average, .minimum, .maximum, .mostRecent, .bySource]
        }
    }

    /// Why these options do not suit a type, with those that do; `nil` if they do.
    public func fault(for type: HealthType) -> String? {
        guard let style = type.aggregation else {
            return "\(type.id) has no number in its values, and no statistics; hub samples \(type.id) lists them"
        }
        let fitting = StatisticsOptions.fitting(style)
        let wrong = subtracting(fitting)
        guard !wrong.isEmpty else { return nil }
        let reason = style == .cumulative ? "is added up" : "is not added up"
        return "\(wrong.words) of \(type.id), which \(reason); it has \(fitting.words)"
    }

    private var words: String {
        StatisticsOptions.names.filter { contains($0.value) }.map(\.key).joined(separator: ", ")
    }
}
