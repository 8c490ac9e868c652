import HubStore
import HubWire
import Samples

/// A QUERY for records as the store understands it, and what remains of its limit over the pages.
struct PageQuestion {
    var query = RecordQuery()
    private var remaining: Int64?

    /// - Throws: `query` for a type, kind or combination that cannot be; `cursor` for a page mark of another form.
    init(_ request: QueryRequest, reading: ReadGrant, registry: TypeRegistry) throws(WireError) {
        let filter = request.filter
        query.types = reading.narrowed(types: try Self.types(filter.types, registry))
        query.persons = Self.persons(filter, reading)
        query.sources = filter.sources.map(Set.init)
        query.kinds = filter.kinds.map { kinds in Set(kinds.compactMap { RecordKind(rawValue: $0.rawValue) }) }
        if query.kinds == nil, request.since == nil {
            // What was taken back is news only to those who follow.
            query.kinds = Set(RecordKind.allCases).subtracting([.retraction])
        }
        (query.from, query.to) = (filter.from?.microseconds, filter.to?.microseconds)
        query.group = filter.group
        query.since = request.since
        query.order =
            switch request.order {
            case .time: .time
            case .newestFirst: .newestFirst
            case .sequence, nil: .sequence
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

    /// With a limit the mark of a page says first how many records may still come.
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

    private static func types(_ asked: [String]?, _ registry: TypeRegistry) throws(WireError) -> Set<TypeID>? {
        guard let asked else { return nil }
        var types: Set<TypeID> = []
        for name in asked {
            if let type = registry.resolve(name)?.id ?? (try? TypeID(name)) {
                guard
                    registry.type(type) != nil || SampleKind(healthKitIdentifier: name) != nil || type.form == .vendor
                        || type.form == .healthConnect
                else {
                    let nearest = registry.suggestion(for: name).map { "; did you mean \"\($0)\"?" } ?? ""
                    throw WireError(.query, "QUERY.types: no type \"\(name)\"\(nearest)")
                }
                types.insert(type)
            } else {
                throw WireError(.query, "QUERY.types: \"\(name)\" is no type id")
            }
        }
        return types
    }

    private static func persons(_ filter: QueryRequest.Filter, _ reading: ReadGrant) -> Set<RecordQuery.Whose>? {
        if filter.isOfNobody { return reading.persons == nil ? [.nobody] : [] }
        return reading.narrowed(persons: filter.persons.map(Set.init)).map { Set($0.map(RecordQuery.Whose.person)) }
    }

    func page(of store: Store) async throws -> RecordPage { try await store.page(query) }

    /// The page as it is answered.
    ///
    /// In the order of the sequence the cursor of a page that is not the last is its last record: asking again since it does what `next` does.
    func answer(_ page: RecordPage) -> (records: [StoredRecord], next: String?, cursor: Cursor) {
        var next = page.next
        if let remaining {
            let left = remaining - Int64(page.records.count)
            next = left > 0 ? next.map { "\(left):\($0)" } : nil
        }
        var cursor = page.cursor
        if query.order == .sequence, page.next != nil, let last = page.records.last {
            cursor.sequence = last.sequence
        }
        return (page.records, next, cursor)
    }
}
