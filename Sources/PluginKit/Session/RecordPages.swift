import Foundation
public import HubWire
public import Samples

/// What the hub holds, page by page; only the page in hand is in memory.
///
/// ```swift
/// var filter = QueryRequest.Filter()
/// filter.types = ["weight"]
/// for try await page in hub.query(filter, since: cursor) {
///     for stored in page.records { … }
///     cursor = page.cursor ?? cursor
/// }
/// ```
public struct RecordPages: AsyncSequence, Sendable {
    /// Records that came in one answer of the hub.
    public struct Page: Sendable {
        /// In the order that was asked for; at most as many as the hub puts into an answer.
        public let records: [StoredRecord]
        /// Where to ask on with `since`: what changed after this page.
        public let cursor: Cursor?
    }

    let link: HubLink
    let query: QueryRequest

    /// Begins again with the first page; the hub is asked at the first `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(link: link, query: query) }

    /// Asks for a page when it is wanted.
    public struct Iterator: AsyncIteratorProtocol {
        let link: HubLink
        var query: QueryRequest
        var isOver = false
        private var decoder = StoredRecordDecoder()

        init(link: HubLink, query: QueryRequest) { (self.link, self.query) = (link, query) }

        /// The next page, or `nil` after the last; waits for the hub while it is away.
        ///
        /// - Throws: ``AskError``; `CancellationError`; a `RecordRejection` for a record that this version cannot read.
        public mutating func next() async throws -> Page? {
            guard !isOver else { return nil }
            let asked = query
            let answer = try await link.questions.ask(repeats: true) { number in
                var query = asked
                query.id = number
                return .query(query)
            }
            guard case .result(let result) = answer, case .records(let records, let next, let cursor) = result.content
            else {
                throw AskError(.refused, "the hub answered a question about records without records")
            }
            (query.next, isOver) = (next, next == nil)
            return Page(records: try records.map { try read($0) }, cursor: cursor)
        }

        private mutating func read(_ bytes: ArraySlice<UInt8>) throws -> StoredRecord {
            try bytes.withUnsafeBytes { try decoder.record($0) }
        }
    }
}

extension PluginContext {
    /// Asks for records that the hub holds, as far as this instance may read them; what it may not read is as if it were not there.
    ///
    /// Waits for the hub while it is away.
    /// - Parameters:
    ///   - filter: which; all conditions hold together.
    ///   - since: the latest version of everything that changed after this cursor, retractions included.
    ///   - order: by the hub's sequence, unless given; with `since` no other.
    ///   - latest: of each person and type only the sample with the latest end; without `since` and `order`.
    ///   - mirrors: whether each record is to say which others are the same event by other sources; without `since`.
    ///   - limit: records in all.
    public func query(
        _ filter: QueryRequest.Filter = .init(), since: Cursor? = nil, order: QueryRequest.Order? = nil,
        latest: Bool = false, mirrors: Bool = false, limit: Int64? = nil
    ) -> RecordPages {
        var query = QueryRequest(id: 0, filter: filter, since: since, order: order, limit: limit)
        (query.isLatest, query.marksMirrors) = (latest, mirrors)
        return RecordPages(link: link, query: query)
    }

    /// Which sources have given the records that a filter selects: how many of each type and person, from when to when.
    ///
    /// Asks page by page until all are counted, which takes long where there are millions.
    public func sources(_ filter: QueryRequest.Filter = .init()) async throws -> [SourceTally] {
        var found = SourcesPage(sources: [], next: nil)
        repeat {
            let mark = found.next
            let answer = try await link.questions.ask(repeats: true) { number in
                .query(QueryRequest(id: number, want: .sources, filter: filter, next: mark))
            }
            guard case .result(let result) = answer, case .answer(.sources, let page) = result.content else {
                throw AskError(.refused, "the hub answered a question about sources without sources")
            }
            found.add(try JSONDecoder().decode(SourcesPage.self, from: Data(page.bytes)))
        } while found.next != nil
        return found.sources
    }
}
