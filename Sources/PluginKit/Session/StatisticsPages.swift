import Foundation
public import HubWire
public import Samples

/// Statistics of what the hub holds, interval by interval; a page at a time is in memory.
///
/// ```swift
/// for try await day in hub.statistics(of: "stepCount", person: "anna", by: StatisticsInterval(.day)) {
///     print(day.from, day.figures.sum ?? 0)
/// }
/// ```
public struct StatisticsPages: AsyncSequence, Sendable {
    let link: HubLink
    let query: QueryRequest

    /// Begins again with the first interval; the hub is asked at the first `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(link: link, query: query) }

    /// Asks for a page when it is wanted.
    public struct Iterator: AsyncIteratorProtocol {
        let link: HubLink
        private var query: QueryRequest
        private var isOver = false
        private var page: ArraySlice<StatisticsPage.Interval> = []

        init(link: HubLink, query: QueryRequest) { (self.link, self.query) = (link, query) }

        /// The next interval, or `nil` after the last; asks for a page where none is in memory, and waits for the hub.
        ///
        /// - Throws: ``AskError``; `CancellationError`; a `DecodingError` for an answer that this version cannot read.
        public mutating func next() async throws -> StatisticsPage.Interval? {
            while page.isEmpty, !isOver {
                let asked = query
                let answer = try await link.questions.ask(repeats: true) { number in
                    var query = asked
                    query.id = number
                    return .query(query)
                }
                guard case .result(let result) = answer, case .answer(.statistics, let json) = result.content else {
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
    /// Asks for sums, averages and extremes of what the hub holds, as far as this instance may read it.
    ///
    /// Waits for the hub while it is away.
    /// - Parameters:
    ///   - type: its id, or another name of it.
    ///   - person: whose; nil where the instance may read one person only.
    ///   - from: what lies before it does not count.
    ///   - to: what lies at or after it does not count.
    ///   - interval: nil for one, of all there is.
    ///   - figures: nil for the sum, or average, minimum and maximum, as fits the type.
    ///   - bySource: each source by itself, too.
    ///   - sources: kinds of plugins; as if there were no others.
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
