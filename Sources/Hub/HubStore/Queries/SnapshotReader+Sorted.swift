import GRDB
import Samples

/// Orders that no index has: by end, or by two keys.
///
/// Rows are read by start. A row can be returned as soon as no unread row can precede it. For descending ends, that is a row which ends later than
/// the
/// next start plus the longest duration. A page therefore reads little more than it returns, as long as few samples are within the longest
/// duration. Long samples are read separately (`OverlappingSamples`).
extension SnapshotReader {
    /// The places found, and where to continue.
    struct Sorted {
        var places: [SortPosition]
        /// `nil` when everything has been read.
        var next: SortPosition?
    }

    /// How rows of a history are read, and which of them can match.
    struct Reach {
        var walk: Lane.Walk
        /// Only rows after this place, in the order of the walk.
        var after: RowPosition?
        /// Only rows that end at or after it.
        var endFloor: Int64?
        /// Only rows that start at or before it.
        var startCeiling: Int64?
        /// Whether lanes are merged by the latest possible end of their rows instead of their start.
        var isByLatestEnd = false

        init(_ walk: Lane.Walk, after: RowPosition? = nil) { (self.walk, self.after) = (walk, after) }

        init(_ sort: RecordSort, after: SortPosition?) {
            walk = sort.walk
            isByLatestEnd = sort.isByEnd && sort.isDown
            guard let first = after?.first else { return }
            switch (sort.isByEnd, sort.isDown) {
            case (true, true): startCeiling = -first
            case (true, false): endFloor = first
            // All rows with the same start as the last one are read again.
            case (false, true): self.after = RowPosition(key: -first, number: PageToken.bound)
            case (false, false): self.after = RowPosition(key: first, number: -1)
            }
        }
    }

    /// The first `limit` rows after a place.
    ///
    /// - Parameter isSolo: whether each lane has a different form.
    func sorted(
        _ lanes: [OffsetLane], by sort: RecordSort, after: SortPosition?, limit: Int, isSolo: Bool,
        _ judge: RowMatcher?,
        _ slice: PageTimeLimit.Begun
    ) throws -> Sorted {
        var merge = try LaneMerge(led: lanes, sort.walk, judge, termCache, keepsOpen: isSolo, in: db)
        defer { merge.close() }
        var best = FirstPositions(limit)
        var (looked, begun): (Int, Int64?) = (0, after?.first)
        // The number of rows read when the first key passed the beginning of this search.
        var passed: Int?
        while let front = merge.front {
            // No unread row has a lesser first key.
            let bound = sort.isDown ? -front.key : front.key
            begun = begun ?? bound
            let certain = best.count(before: bound)
            if certain == limit { return Sorted(places: best.places, next: best.places.last) }
            if let begun, bound > begun {
                let enough = 2 * (passed ?? looked)
                passed = passed ?? looked
                // Read at least as many rows again, so that a dense span is not read once for every few rows.
                if looked >= enough, slice.isOver(looked) {
                    return Sorted(places: Array(best.places.prefix(certain)), next: .before(bound))
                }
            } else if slice.isOverLimit(looked) {
                throw StoreError(
                    .query,
                    "order: too many records lie so close together that this order cannot be made; ask by time, or of fewer types"
                )
            }
            let row = try merge.next { cursor in
                let (start, end) = cursor.span
                let place = sort.place(start: start, end: end, number: cursor.number)
                if let after, place <= after { return nil as SortPosition? }
                return try cursor.isFit(judge) ? place : nil
            }
            looked += 1
            if let place = row?.value { best.insert(place) }
        }
        return Sorted(places: best.places, next: best.hasMore ? best.places.last : nil)
    }

    func sortedPage(_ filter: Filter, _ keys: [SortKey], after: SortPosition?, _ slice: PageTimeLimit.Begun) throws -> (
        records: [StoredRecord], next: SortPosition?
    ) {
        let (query, sort) = (filter.query, RecordSort(keys))
        let lanes = try history(filter, Reach(sort, after: after))
        let judge = RowMatcher(query, termCache, in: db)
        let found = try sorted(
            lanes, by: sort, after: after, limit: query.limit, isSolo: false, judge, slice)
        return try records(found, sort)
    }

    /// The records of places, as many as fit in a page.
    private func records(_ found: Sorted, _ sort: RecordSort) throws -> (records: [StoredRecord], next: SortPosition?) {
        var (records, bytes): ([StoredRecord], Int) = ([], 0)
        for (index, place) in found.places.enumerated() {
            let record = try self.records(numbers: [sort.isDown ? -place.number : place.number])
            records += record
            bytes += record.first?.estimatedBytes ?? 0
            if bytes >= RecordQuery.pageBytes {
                return (records, index == found.places.count - 1 ? found.next : place)
            }
        }
        return (records, found.next)
    }

    // MARK: - The latest of each

    /// For each person and type the sample with the latest end, after a place: the type, the person, and the place within their samples.
    ///
    /// - Returns: the records, and where to continue.
    func latestPage(_ filter: Filter, after: SortPosition?, _ slice: PageTimeLimit.Begun) throws -> (
        records: [StoredRecord], next: SortPosition?
    ) {
        let (query, sort) = (filter.query, RecordSort([.latestEnd]))
        let judge = RowMatcher(query, termCache, in: db)
        let forms = sampleForms(filter, sort.walk)
        var (found, bytes): ([StoredRecord], Int) = ([], 0)
        let ranges = try HistoryRange.samples(filter, in: db).sorted { ($0.type, $0.person) < ($1.type, $1.person) }
        for range in ranges {
            var inner: SortPosition?
            if let after {
                if (range.type, range.person) < (after.first, after.second) { continue }
                if (range.type, range.person) == (after.first, after.second) {
                    // The previous page has its sample.
                    guard after.number < PageToken.bound else { continue }
                    inner = .before(after.number)
                }
            }
            let here = { (place: Int64) in SortPosition(first: range.type, second: range.person, number: place) }
            let lanes = sampleLanes(filter, range, forms, Reach(sort, after: inner))
            let latest = try sorted(lanes, by: sort, after: inner, limit: 1, isSolo: true, judge, slice)
            guard let place = latest.places.first else {
                if let next = latest.next { return (found, here(next.first)) }
                continue
            }
            let record = try records(numbers: [-place.number])
            found += record
            bytes += record.first?.estimatedBytes ?? 0
            if found.count == query.limit || bytes >= RecordQuery.pageBytes || slice.isSpent {
                return (found, here(PageToken.bound))
            }
        }
        return (found, nil)
    }
}
