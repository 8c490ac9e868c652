public import Samples

/// A source's records of one type and person: their number, the earliest start and the latest end.
public struct SourceCount: Hashable, Sendable {
    public var type: TypeID
    /// `nil` for records without a person.
    public var person: Person?
    public var source: Source
    /// The number of the source, ascending in the order of the sources' first records (`SourceRank`).
    ///
    /// If the client may read only its own plugin kind's records of the type, this is the index among the sources of that kind.
    public var number: Int64
    public var count: Int64
    /// The earliest start and the latest end, in microseconds since 1970.
    public var first: Int64
    public var last: Int64
}

/// The source counts of a part of the records.
public struct SourceCountPage: Hashable, Sendable {
    public var counts: [SourceCount]
    /// The token for the next part; `nil` for the last part.
    public var next: String?

    /// - Parameter next: the token of the part; `nil` for the beginning.
    public init(counts: [SourceCount] = [], next: String? = nil) { (self.counts, self.next) = (counts, next) }

    /// Adds the counts of a later part.
    public mutating func add(_ later: SourceCountPage) {
        var places: [Owner: Int] = [:]
        for (index, count) in counts.enumerated() { places[Owner(count)] = index }
        for count in later.counts {
            guard let index = places[Owner(count)] else {
                counts.append(count)
                continue
            }
            counts[index].count += count.count
            counts[index].first = min(counts[index].first, count.first)
            counts[index].last = max(counts[index].last, count.last)
        }
        next = later.next
    }

    private struct Owner: Hashable {
        let type: TypeID
        let person: Person?
        let source: Source

        init(_ count: SourceCount) { (type, person, source) = (count.type, count.person, count.source) }
    }
}

extension SnapshotReader {
    /// Counts the rows of a query in order of time, as far as a slice allows.
    func sources(_ asked: RecordQuery, within size: PageTimeLimit) throws -> SourceCountPage {
        var query = asked
        query.order = .time
        let token = try token(of: asked)
        let filter = try Filter(query.bounded, in: db)
        var page = SourceCountPage()
        if filter.isEmpty { return page }
        let slice = (query.condition == nil ? size : size.ofJudgedRows).begun()
        let after = token.map { RowPosition(key: $0.key, number: $0.number) }
        let judge = RowMatcher(query, termCache, in: db)
        var merge = try LaneMerge(led: try history(filter, Reach(.time, after: after)), .time, judge, termCache, in: db)
        var tallies: [RowCursor.Owner: (count: Int64, first: Int64, last: Int64)] = [:]
        var looked = 0
        while let (place, _) = try merge.next({ cursor in
            guard try cursor.isFit(judge) else { return }
            let span = cursor.span
            let old = tallies[cursor.owner] ?? (0, .max, .min)
            tallies[cursor.owner] = (old.count + 1, min(old.first, span.start), max(old.last, span.end))
        }) {
            looked += 1
            // A long sample also appears, skipped, among the short ones. A part must not end between the two.
            guard slice.isOver(looked), let front = merge.front, front != place else { continue }
            page.next = PageToken(
                epoch: here.epoch, head: token?.head ?? head, key: place.key, number: place.number
            ).text(for: asked)
            break
        }
        let own = try asked.allowance?.own.map { try Filter.sources($0, in: db) } ?? []
        page.counts = try tallies.map { owner, tally in
            let type = try termCache.type(owner.type, in: db)
            let isAllowed = asked.allowance?.types.contains(type) ?? true
            return SourceCount(
                type: type,
                person: owner.person == 0 ? nil : try termCache.person(owner.person, in: db),
                source: try termCache.source(owner.source, in: db),
                number: isAllowed ? owner.source : own.firstIndex(of: owner.source).map(Int64.init) ?? 0,
                count: tally.count, first: tally.first, last: tally.last)
        }
        return page
    }
}
