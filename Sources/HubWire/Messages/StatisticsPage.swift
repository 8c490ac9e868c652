public import Samples

/// What may be asked of a type, as its values are added up or not; its sources apart.
public enum StatisticsFigure: String, Hashable, Sendable, CaseIterable, Decodable {
    case sum, duration, average, minimum, maximum, mostRecent

    /// What is answered where nothing is asked for.
    public static func usual(_ style: AggregationStyle?) -> [StatisticsFigure] {
        style == .cumulative ? [.sum] : [.average, .minimum, .maximum]
    }
}

/// The answer to a question about statistics: a page of it, or all (Protocol §8.4).
public struct StatisticsPage: Decodable, Sendable {
    /// What was computed; a figure is nil where nothing was measured, or where it was not asked for.
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
        /// How many samples begin in the interval.
        public var count: Int
        /// In the type's unit.
        public var sum, average, minimum, maximum: Double?
        /// For how long something was counted, in seconds.
        public var duration: Double?
        /// The sample that ends last.
        public var mostRecent: Reading?
        /// Those that were asked for, also where there is nothing.
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

        /// In the type's unit; of durations seconds.
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

    /// One source by itself.
    public struct Part: Decodable, Sendable {
        public var source: Source
        public var figures: Figures

        private enum CodingKeys: CodingKey { case source }
        private enum SourceKeys: CodingKey { case plugin, device, account }

        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
                .nestedContainer(keyedBy: SourceKeys.self, forKey: .source)
            source = Source(
                plugin: try members.decode(String.self, forKey: .plugin),
                device: try members.decodeIfPresent(String.self, forKey: .device),
                account: try members.decodeIfPresent(String.self, forKey: .account))
            figures = try Figures(from: decoder)
        }
    }

    /// From one border to the next, which is not part of it.
    public struct Interval: Decodable, Sendable {
        /// RFC 3339, with the offset of the zone by which the intervals go.
        public var from, to: String
        public var figures: Figures
        /// The best first; nil where that was not asked for.
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

    /// Days of the calendar whose samples retention has thinned: they count no more.
    public struct Thinned: Decodable, Hashable, Sendable {
        public var days: Int
        /// The earliest and the latest, `yyyy-MM-dd`.
        public var first, last: String
        /// The series of day values that are kept of them.
        public var series: [String]
    }

    public var type, person, unit: String
    /// On the first page; nil where there are none.
    public var thinned: Thinned?
    /// In the order of time.
    public var intervals: [Interval]
    /// The mark of the next page; nil after the last.
    public var next: String?
}
