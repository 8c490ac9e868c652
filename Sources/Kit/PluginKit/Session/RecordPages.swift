import Foundation
public import HubWire
public import Samples

/// Records of the hub, page by page; only the current page is in memory.
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
    /// The records of one answer of the hub.
    public struct Page: Sendable {
        /// The records in the requested order; the hub limits their number.
        public let records: [StoredRecord]
        /// The cursor to pass as `since` for changes after this page.
        public let cursor: Cursor?
    }

    let link: HubLink
    let query: QueryRequest

    /// Starts again at the first page; the first `next()` sends the query.
    public func makeAsyncIterator() -> Iterator { Iterator(link: link, query: query) }

    /// Requests each page on demand.
    public struct Iterator: AsyncIteratorProtocol {
        let link: HubLink
        var query: QueryRequest
        var isOver = false
        private var decoder = StoredRecordDecoder()

        init(link: HubLink, query: QueryRequest) { (self.link, self.query) = (link, query) }

        /// The next page, or `nil` after the last one; waits for the hub while it is away.
        ///
        /// - Throws: ``AskError``; `CancellationError`; a `RecordRejection` for a record that this version cannot read.
        public mutating func next() async throws -> Page? {
            guard !isOver else { return nil }
            guard case .records(let records, let next, let cursor) = try await link.ask(query).content else {
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
    /// Queries the records of the hub that this instance may read; other records are ignored as if they did not exist.
    ///
    /// Waits for the hub while it is away.
    /// - Parameters:
    ///   - filter: the conditions; a record must meet all of them.
    ///   - since: selects the latest version of everything that changed after this cursor, including retractions.
    ///   - order: the order of the records; the default is the hub's sequence, which is the only order with `since`.
    ///   - latest: selects only the sample with the latest end for each person and type; not with `since` or `order`.
    ///   - mirrors: marks each record with the records of other sources about the same event; not with `since`.
    ///   - limit: the maximum number of records in total.
    public func query(
        _ filter: QueryRequest.Filter = .init(), since: Cursor? = nil, order: QueryRequest.Order? = nil,
        latest: Bool = false, mirrors: Bool = false, limit: Int64? = nil
    ) -> RecordPages {
        var query = QueryRequest(id: 0, filter: filter, since: since, order: order, limit: limit)
        (query.isLatest, query.marksMirrors) = (latest, mirrors)
        return RecordPages(link: link, query: query)
    }

    /// The sources of the records that a filter selects, with count and period for each type and person.
    ///
    /// It requests page by page until all records are counted, which takes a while for millions of records.
    public func sources(_ filter: QueryRequest.Filter = .init()) async throws -> [SourceTally] {
        var found = SourcesPage(sources: [], next: nil)
        repeat {
            let query = QueryRequest(id: 0, want: .sources, filter: filter, next: found.next)
            guard case .answer(.sources, let page) = try await link.ask(query).content else {
                throw AskError(.refused, "the hub answered a question about sources without sources")
            }
            found.add(try JSONDecoder().decode(SourcesPage.self, from: Data(page.bytes)))
        } while found.next != nil
        return found.sources
    }
}
