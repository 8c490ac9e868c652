import GRDB
import Samples

/// Orders that no index has: by end, or by two keys.
///
/// Rows are read by start. What has been read can be given out as soon as no row that is still to be read can come before it: by end
/// downwards, what ends later than the next start and the longest sample together. So a page reads little more than it gives, as long
/// as few samples lie within the length of the longest; long ones are read by themselves (`Overhang`).
extension Reader {
    /// What a search has found, and where to go on.
    struct Sorted {
        var places: [SortPlace]
        /// `nil` when all has been looked through.
        var next: SortPlace?
    }

    /// How rows of a history are read, and which of them can matter.
    struct Reach {
        var walk: Lane.Walk
        /// Rows that lie after this place, in the order of the walk.
        var after: Place?
        /// Rows that end at or after it.
        var endFloor: Int64?
        /// Rows that start at or before it.
        var startCeiling: Int64?
        /// Whether lanes are led by the latest end that their rows may have, not by their start.
        var isByLatestEnd = false

        init(_ walk: Lane.Walk, after: Place? = nil) { (self.walk, self.after) = (walk, after) }

        init(_ sort: RecordSort, after: SortPlace?) {
            walk = sort.walk
            isByLatestEnd = sort.isByEnd && sort.isDown
            guard let first = after?.first else { return }
            switch (sort.isByEnd, sort.isDown) {
            case (true, true): startCeiling = -first
            case (true, false): endFloor = first
            // All of those that begin together with the last one are looked at again.
            case (false, true): self.after = Place(key: -first, number: PageToken.bound)
            case (false, false): self.after = Place(key: first, number: -1)
            }
        }
    }

    /// The first `limit` rows after a place.
    ///
    /// - Parameter isSolo: whether no two of the lanes are of one form.
    func sorted(
        _ lanes: [LedLane], by sort: RecordSort, after: SortPlace?, limit: Int, isSolo: Bool, _ judge: RowJudge?,
        _ slice: PageSlice.Begun
    ) throws -> Sorted {
        var merge = try Merge(led: lanes, sort.walk, judge, termCache, keepsOpen: isSolo, in: db)
        defer { merge.close() }
        var best = FirstPlaces(limit)
        var (looked, begun): (Int, Int64?) = (0, after?.first)
        // How many rows had been read when the first keys went beyond where this search began.
        var passed: Int?
        while let front = merge.front {
            // No row that is still to be read has a lesser first key.
            let bound = sort.isDown ? -front.key : front.key
            begun = begun ?? bound
            let certain = best.count(before: bound)
            if certain == limit { return Sorted(places: best.places, next: best.places.last) }
            if let begun, bound > begun {
                let enough = 2 * (passed ?? looked)
                passed = passed ?? looked
                // Reading on until as much again is done as was needed to come here keeps a dense span from being read for each few rows.
                if looked >= enough, slice.isOver(looked) {
                    return Sorted(places: Array(best.places.prefix(certain)), next: .before(bound))
                }
            } else if slice.isTooMuch(looked) {
                throw StoreError(
                    .query,
                    "order: too many records lie so close together that this order cannot be made; ask by time, or of fewer types"
                )
            }
            let row = try merge.next { cursor in
                let (start, end) = cursor.span
                let place = sort.place(start: start, end: end, number: cursor.number)
                if let after, place <= after { return nil as SortPlace? }
                return try cursor.isFit(judge) ? place : nil
            }
            looked += 1
            if let place = row?.value { best.insert(place) }
        }
        return Sorted(places: best.places, next: best.hasMore ? best.places.last : nil)
    }

    func sortedPage(_ filter: Filter, _ keys: [SortKey], after: SortPlace?, _ slice: PageSlice.Begun) throws -> (
        records: [StoredRecord], next: SortPlace?
    ) {
        let (query, sort) = (filter.query, RecordSort(keys))
        let lanes = try history(filter, Reach(sort, after: after))
        let judge = RowJudge(query, termCache, in: db)
        let found = try sorted(
            lanes, by: sort, after: after, limit: query.limit, isSolo: false, judge, slice)
        return try records(found, sort)
    }

    /// The records of places, as many as a page holds.
    private func records(_ found: Sorted, _ sort: RecordSort) throws -> (records: [StoredRecord], next: SortPlace?) {
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

    /// Of each person and type the sample with the latest end, from a place on: the type, the person, and the place within their samples.
    ///
    /// - Returns: the records, and where to go on.
    func latestPage(_ filter: Filter, after: SortPlace?, _ slice: PageSlice.Begun) throws -> (
        records: [StoredRecord], next: SortPlace?
    ) {
        let (query, sort) = (filter.query, RecordSort([.latestEnd]))
        let judge = RowJudge(query, termCache, in: db)
        let forms = sampleForms(filter, sort.walk)
        var (found, bytes): ([StoredRecord], Int) = ([], 0)
        let ranges = try HistoryRange.samples(filter, in: db).sorted { ($0.type, $0.person) < ($1.type, $1.person) }
        for range in ranges {
            var inner: SortPlace?
            if let after {
                if (range.type, range.person) < (after.first, after.second) { continue }
                if (range.type, range.person) == (after.first, after.second) {
                    // What was found of it is in the page before.
                    guard after.number < PageToken.bound else { continue }
                    inner = .before(after.number)
                }
            }
            let here = { (place: Int64) in SortPlace(first: range.type, second: range.person, number: place) }
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
