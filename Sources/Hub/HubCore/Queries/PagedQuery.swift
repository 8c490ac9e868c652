import HubStore
import HubWire
import Samples

/// A QUERY for records in the store's terms, and the rest of its limit over the pages.
struct PagedQuery {
    var query = RecordQuery()
    private var remaining: Int64?

    /// - Throws: `field` for an unknown type or person; `query` for an invalid combination; `cursor` for a page mark with another
    ///   format.
    init(_ request: QueryRequest, _ names: FilterNames) throws(WireError) {
        let filter = request.filter
        query.types = names.reading.narrowed(types: try names.types(filter.types))
        query.allowance = names.allowance
        query.persons =
            filter.isOfNoPerson
            ? names.reading.persons == nil ? [.nobody] : []
            : try names.persons(filter.persons).map { Set($0.map(RecordQuery.Owner.person)) }
        query.sources = filter.sources.map(Set.init)
        query.kinds = request.selection
        query.setSpan(from: filter.from, to: filter.to)
        (query.strictStart, query.strictEnd) = (filter.strict.contains(.start), filter.strict.contains(.end))
        query.condition = try filter.condition.map { condition throws(WireError) in
            let asked = try names.types(filter.types)
            return RecordQuery.Where(
                try ConditionNames(names, asked).resolved(condition, at: "QUERY.where"), as: condition.json.text)
        }
        query.group = filter.group
        query.isImplausible = filter.isImplausible
        query.isGuest = filter.isGuest
        query.since = request.since
        query.marksMirrors = request.marksMirrors
        query.order =
            switch request.order {
            case .by([.time]): .time
            case .by([.newestFirst]): .newestFirst
            case .by(let keys): .sorted(keys)
            case .sequence, nil: request.isLatest ? .latest : .sequence
            }
        remaining = request.limit
        if let next = request.next { try read(mark: next, hasLimit: request.limit != nil) }
        query.limit = Int(min(remaining ?? Int64(RecordQuery.maximumPage), Int64(RecordQuery.maximumPage)))
        if let asked = filter.numbers {
            guard asked.count <= RecordQuery.maximumPage else {
                throw WireError(.query, "QUERY.numbers: at most \(RecordQuery.maximumPage) numbers")
            }
            guard query.order == .sequence else {
                throw WireError(.query, "QUERY.order: records by number come in the order \"sequence\" only")
            }
            query.numbers = Set(asked)
        }
    }

    /// With a limit, the mark of a page begins with the number of records that may still come.
    private mutating func read(mark: String, hasLimit: Bool) throws(WireError) {
        guard hasLimit else {
            query.next = mark
            return
        }
        let parts = mark.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let left = Int64(parts[0]), left > 0, left <= remaining ?? 0 else {
            throw WireError(.cursor, "QUERY.next: not the mark of a page of this query")
        }
        (remaining, query.next) = (left, String(parts[1]))
    }

    func page(of store: Store) async throws -> RecordPage { try await store.page(query) }

    /// The page as it is answered.
    ///
    /// In the order of the sequence, the cursor of a page that is not the last is its last record, or the last sequence that was checked without
    /// a match: asking again since that cursor is the same as `next`.
    /// In the order of time, no cursor has this property, so only the last page has one.
    func answer(_ page: RecordPage) -> (records: [StoredRecord], next: String?, cursor: Cursor?) {
        var next = page.next
        if let remaining {
            let left = remaining - Int64(page.records.count)
            next = left > 0 ? next.map { "\(left):\($0)" } : nil
        }
        var cursor = page.cursor
        if page.next != nil, let reached = page.reached { cursor.sequence = page.records.last?.sequence ?? reached }
        return (page.records, next, query.order == .sequence || next == nil ? cursor : nil)
    }
}
