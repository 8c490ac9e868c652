import Foundation
public import HubWire
public import Samples

/// Statistics of the hub's records, interval by interval; only one page at a time is in memory.
///
/// ```swift
/// for try await day in hub.statistics(of: "stepCount", person: "anna", by: StatisticsInterval(.day)) {
///     print(day.from, day.figures.sum ?? 0)
/// }
/// ```
public struct StatisticsPages: AsyncSequence, Sendable {
    let link: HubLink
    let query: QueryRequest

    /// Starts again at the first interval; the first `next()` sends the query.
    public func makeAsyncIterator() -> Iterator { Iterator(link: link, query: query) }

    /// Requests each page on demand.
    public struct Iterator: AsyncIteratorProtocol {
        let link: HubLink
        private var query: QueryRequest
        private var isOver = false
        private var page: ArraySlice<StatisticsPage.Interval> = []

        init(link: HubLink, query: QueryRequest) { (self.link, self.query) = (link, query) }

        /// The next interval, or `nil` after the last one; requests a page if none is in memory, and waits for the hub.
        ///
        /// - Throws: ``AskError``; `CancellationError`; a `DecodingError` for an answer that this version cannot read.
        public mutating func next() async throws -> StatisticsPage.Interval? {
            while page.isEmpty, !isOver {
                guard case .answer(.statistics, let json) = try await link.ask(query).content else {
                    throw AskError(.refused, "the hub answered a question about statistics without statistics")
                }
                let page = try JSONDecoder().decode(StatisticsPage.self, from: Data(json.bytes))
                (query.next, isOver) = (page.next, page.next == nil)
                self.page = page.intervals[...]
            }
            return page.popFirst()
        }
    }
}

extension PluginContext {
    /// Queries sums, averages and extremes of the hub's records that this instance may read.
    ///
    /// Waits for the hub while it is away.
    /// - Parameters:
    ///   - type: the id of the type, or one of its other names.
    ///   - person: the person whose records count; `nil` if the instance may read only one person.
    ///   - from: excludes earlier records.
    ///   - to: excludes records at or after this time.
    ///   - interval: the length of an interval; `nil` for a single interval over all records.
    ///   - figures: the figures to compute; `nil` for those that suit the type: sum, or average, minimum and maximum.
    ///   - bySource: adds separate figures for each source.
    ///   - sources: limits the statistics to these kinds of plugins.
    public func statistics(
        of type: String, person: String? = nil, from: Timestamp? = nil, to: Timestamp? = nil,
        by interval: StatisticsInterval? = nil, figures: [StatisticsFigure]? = nil, bySource: Bool = false,
        sources: [String]? = nil
    ) -> StatisticsPages {
        var filter = QueryRequest.Filter()
        (filter.types, filter.persons, filter.sources) = ([type], person.map { [$0] }, sources)
        (filter.from, filter.to) = (from, to)
        var query = QueryRequest(id: 0, want: .statistics, filter: filter)
        query.interval = interval
        query.figures = figures?.map(\.rawValue)
        if bySource {
            let style = TypeRegistry.standard.resolve(type)?.aggregation
            query.figures = (figures ?? StatisticsFigure.usual(style)).map(\.rawValue) + ["bySource"]
        }
        return StatisticsPages(link: link, query: query)
    }
}
