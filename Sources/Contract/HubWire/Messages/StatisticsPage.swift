public import Samples

/// The figures that a question can ask for, apart from separate sources; a type's aggregation decides which of them it has.
public enum StatisticsFigure: String, Hashable, Sendable, CaseIterable, Decodable {
    case sum, duration, average, minimum, maximum, mostRecent

    /// The figures of an answer if the question names none.
    public static func usual(_ style: AggregationStyle?) -> [StatisticsFigure] {
        style == .cumulative ? [.sum] : [.average, .minimum, .maximum]
    }
}

/// The answer to a question about statistics: a page of it, or all (Protocol §8.4).
public struct StatisticsPage: Decodable, Sendable {
    /// The computed figures; a figure is nil if nothing was measured or it was not asked for.
    public struct Figures: Decodable, Sendable {
        /// A sample as it was measured.
        public struct Reading: Decodable, Sendable {
            /// In the type's unit.
            public var value: Double
            /// RFC 3339.
            public var start, end: String
            /// The hub's number of the record.
            public var number: Int64
        }
        /// The number of samples that begin in the interval.
        public var count: Int
        /// In the type's unit.
        public var sum, average, minimum, maximum: Double?
        /// The total counted time, in seconds.
        public var duration: Double?
        /// The sample that ends last.
        public var mostRecent: Reading?
        /// The figures that were asked for, even if they have no value.
        public private(set) var asked: [StatisticsFigure] = []

        private enum CodingKeys: CodingKey { case count, sum, duration, average, minimum, maximum, mostRecent }

        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            count = try members.decode(Int.self, forKey: .count)
            sum = try members.decodeIfPresent(Double.self, forKey: .sum)
            duration = try members.decodeIfPresent(Double.self, forKey: .duration)
            average = try members.decodeIfPresent(Double.self, forKey: .average)
            minimum = try members.decodeIfPresent(Double.self, forKey: .minimum)
            maximum = try members.decodeIfPresent(Double.self, forKey: .maximum)
            mostRecent = try members.decodeIfPresent(Reading.self, forKey: .mostRecent)
            let names = Set(members.allKeys.map(\.stringValue))
            asked = StatisticsFigure.allCases.filter { names.contains($0.rawValue) }
        }

        /// In the type's unit; a duration in seconds.
        public subscript(figure: StatisticsFigure) -> Double? {
            switch figure {
            case .sum: sum
            case .duration: duration
            case .average: average
            case .minimum: minimum
            case .maximum: maximum
            case .mostRecent: mostRecent?.value
            }
        }
    }

    /// The figures of a single source.
    public struct Part: Decodable, Sendable {
        public var source: Source
        public var figures: Figures

        private enum CodingKeys: CodingKey { case source }

        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            let origin = try members.decode(SourceTally.Origin.self, forKey: .source)
            source = Source(plugin: origin.plugin, device: origin.device, account: origin.account)
            figures = try Figures(from: decoder)
        }
    }

    /// The time from one border up to, but not including, the next.
    public struct Interval: Decodable, Sendable {
        /// RFC 3339, with the offset of the zone that the intervals follow.
        public var from, to: String
        public var figures: Figures
        /// The best first; nil if not asked for.
        public var sources: [Part]?

        private enum CodingKeys: CodingKey { case from, to, sources }

        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            from = try members.decode(String.self, forKey: .from)
            to = try members.decode(String.self, forKey: .to)
            sources = try members.decodeIfPresent([Part].self, forKey: .sources)
            figures = try Figures(from: decoder)
        }
    }

    /// Calendar days whose samples retention has thinned; these samples no longer count.
    public struct Thinned: Decodable, Hashable, Sendable {
        public var days: Int
        /// The earliest and the latest of the days, `yyyy-MM-dd`.
        public var first, last: String
        /// The series of day values that are kept for them.
        public var series: [String]
    }

    public var type, person, unit: String
    /// On the first page; nil if there are none.
    public var thinned: Thinned?
    /// In the order of time.
    public var intervals: [Interval]
    /// The mark of the next page; nil after the last.
    public var next: String?
}
