public import Samples

/// What is to be computed.
public struct StatisticsOptions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Each figure for every source by itself, too.
    public static let bySource = StatisticsOptions(rawValue: 1)
    public static let average = StatisticsOptions(rawValue: 2)
    public static let minimum = StatisticsOptions(rawValue: 4)
    public static let maximum = StatisticsOptions(rawValue: 8)
    public static let sum = StatisticsOptions(rawValue: 16)
    public static let mostRecent = StatisticsOptions(rawValue: 32)
    /// How long something counted.
    public static let duration = StatisticsOptions(rawValue: 64)

    /// By the names that QUERY and the command line have for them.
    public static let names: KeyValuePairs<String, StatisticsOptions> = [
        "average": .average, "minimum": .minimum, "maximum": .maximum, "sum": .sum, "duration": .duration,
        "mostRecent": .mostRecent, "bySource": .bySource,
    ]

    /// Those that a type's values can answer.
    public static func fitting(_ style: AggregationStyle) -> StatisticsOptions {
        switch style {
        case .cumulative: [.sum, .duration, .mostRecent, .bySource]
        case .discreteArithmetic, .discreteTemporallyWeighted, .discreteEquivalentContinuousLevel:
            [.average, .minimum, .maximum, .mostRecent, .bySource]
        }
    }

    /// Why these options cannot be had of a type, with those that can; `nil` when they can.
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
