import GRDB
import Samples

/// Answers queries within one snapshot of the store.
struct SnapshotReader {
    let db: Database
    let termCache: TermCache
    /// The store's epoch and the last sequence number of the snapshot.
    let here: Samples.Cursor

    init(_ db: Database, _ termCache: TermCache) throws {
        self.db = db
        self.termCache = termCache
        here = Samples.Cursor(
            epoch: try StoreOpener.meta(db).epoch, sequence: try SequenceHead.read(in: db))
    }

    /// The last sequence number of the snapshot.
    var head: Int64 { here.sequence }

    // MARK: - Pages

    func page(_ asked: RecordQuery, within size: PageTimeLimit = .usual) throws -> RecordPage {
        var page = try plainPage(asked, within: size)
        if asked.marksMirrors {
            var marks = MirrorMarks(self, asked.allowance)
            try marks.mark(&page.records)
        }
        return page
    }

    private func plainPage(_ asked: RecordQuery, within size: PageTimeLimit) throws -> RecordPage {
        let slice = (asked.condition == nil ? size : size.ofJudgedRows).begun()
        var query = asked
        guard (1...RecordQuery.maximumPage).contains(query.limit) else {
            throw StoreError(.query, "limit \(query.limit): a page has 1 to 1,000 records")
        }
        guard query.numbers == nil || query.order == .sequence && query.numbers?.count ?? 0 <= RecordQuery.maximumPage
        else { throw StoreError(.query, "numbers: at most 1,000, in the order of change") }
        guard query.order != .latest || query.group == nil && !query.isImplausible else {
            throw StoreError(.query, "latest: cannot be combined with group or implausible")
        }
        let token = try token(of: query)
        query = query.bounded
        let filter = try Filter(query, in: db)
        try check(asked, filter)

        let head = token?.head ?? here.sequence
        var page = RecordPage(records: [], next: nil, cursor: Samples.Cursor(epoch: here.epoch, sequence: head))
        if filter.isEmpty { return page }
        let walk: Lane.Walk
        switch query.order {
        case .sequence: walk = .sequence
        case .time: walk = .time
        case .newestFirst: walk = .newestFirst
        case .sorted, .latest:
            let found =
                if case .sorted(let keys) = query.order {
                    try sortedPage(filter, keys, after: token?.sorted, slice)
                } else {
                    try latestPage(filter, after: token?.sorted, slice)
                }
            page.records = found.records
            page.next = found.next.map { place in
                PageToken(epoch: here.epoch, head: head, key: place.first, second: place.second, number: place.number)
                    .text(for: asked)
            }
            return page
        }

        let lanes =
            walk == .sequence
            ? try changes(filter, after: token?.key ?? query.since?.sequence ?? 0, through: head)
                .map { OffsetLane($0) }
            : try history(filter, Reach(walk, after: token.map { RowPosition(key: $0.key, number: $0.number) }))
        let judge = RowMatcher(query, termCache, in: db)
        var merge = try LaneMerge(led: lanes, walk, judge, termCache, in: db)
        var (bytes, looked) = (0, 0)
        var last = RowPosition(key: 0, number: 0)
        while let row = try merge.next() {
            looked += 1
            last = row.place
            if let record = row.record {
                bytes += record.estimatedBytes
                page.records.append(record)
            }
            guard page.records.count == query.limit || bytes >= RecordQuery.pageBytes || slice.isOver(looked) else {
                continue
            }
            guard let front = merge.front else { break }
            // A long sample also appears, skipped, among the short ones. A page must not end between the two.
            if front == last { continue }
            page.next = PageToken(epoch: here.epoch, head: head, key: last.key, number: last.number).text(for: asked)
            page.reached = query.order == .sequence ? last.key : nil
            break
        }
        return page
    }

    /// The lanes of a complete answer.
    func lanes(_ filter: Filter) throws -> [Lane] {
        switch filter.query.order {
        case .sequence: try changes(filter, after: 0, through: here.sequence)
        case .time: try history(filter, Reach(.time)).map(\.lane)
        case .newestFirst: try history(filter, Reach(.newestFirst)).map(\.lane)
        case .sorted(let keys): try history(filter, Reach(RecordSort(keys), after: nil)).map(\.lane)
        case .latest: try history(filter, Reach(RecordSort([.latestEnd]), after: nil)).map(\.lane)
        }
    }

    func token(of query: RecordQuery) throws -> PageToken? {
        guard let next = query.next else { return nil }
        guard let token = PageToken(next, for: query) else {
            throw StoreError(.token, "next: not given out for this query; begin again without it")
        }
        guard token.epoch == here.epoch, token.head <= here.sequence else {
            throw StoreError(.epoch, "next: the store was restored since; begin again without it")
        }
        return token
    }

    private func check(_ query: RecordQuery, _ filter: Filter) throws {
        guard let since = query.since else { return }
        guard query.order == .sequence else {
            throw StoreError(.query, "since: only the order of change has a since; leave out order")
        }
        guard since.epoch == here.epoch else {
            throw StoreError(
                .epoch, "since \(since): the store's epoch is \(here.epoch), it was restored; take a new snapshot")
        }
        guard since.sequence <= here.sequence else {
            throw StoreError(.cursor, "since \(since): the store's last sequence is \(here.sequence)")
        }
        let gaps = try RawStatement(cached: "SELECT 1 FROM gap WHERE last > ?1 AND first <= ?1", in: db)
        gaps.bind(1, since.sequence)
        defer { gaps.clear() }
        guard try !gaps.step() else {
            throw StoreError(
                .epoch,
                "since \(since): the last records before this cursor were lost when the machine went down; take a new snapshot"
            )
        }
        // A follower that starts at the beginning receives everything that exists.
        guard since.sequence > 0, try since.sequence < removedChanges(filter, query.canBeCeased) else { return }
        throw StoreError(
            .epoch,
            "since \(since): a retention rule has removed records that were taken back or changed after it; take a new snapshot"
        )
    }

    /// The newest change of records matching the query that retention has removed.
    ///
    /// Before schema 18, the newest of any record.
    ///
    /// - Parameter all: whether to include changes other than retractions and departures from a person or type.
    private func removedChanges(_ filter: Filter, _ all: Bool) throws -> Int64 {
        let recent = filter.query.allowance?.since.map { ["ended >= \($0)"] } ?? []
        let conditions = (filter.who + recent).map { " AND \($0)" }.joined()
        let statement = try RawStatement(
            new: """
                SELECT max(last_taken), max(last_changed) FROM (
                    SELECT last_taken, last_changed FROM removed
                    UNION ALL SELECT last_taken, last_changed FROM removed_of WHERE 1\(conditions))
                """, in: db)
        return try statement.step() ? max(statement.integer(0), all ? statement.integer(1) : 0) : 0
    }

    /// Lanes in the order of change: unchanged rows in the order of their numbers, changed rows by a separate index.
    private func changes(_ filter: Filter, after: Int64, through: Int64) throws -> [Lane] {
        let text = filter.query.group
        let range = "BETWEEN \(after + 1) AND \(through)"
        var lanes: [Lane] = []
        if let numbers = filter.numbers {
            let asked = ["number IN (\(numbers))", "+seq \(range)"]
            if let kinds = filter.sampleKinds {
                let fits = [kinds] + filter.who + filter.sampleCeasing
                lanes.append(Lane(.sample, "NOT INDEXED", asked, fits: fits, by: .sequence, text: text))
            }
            if let kinds = filter.dayKinds, text == nil {
                let fits = [kinds] + filter.who + filter.dayTimes
                lanes.append(Lane(.day, "NOT INDEXED", asked, fits: fits, by: .sequence))
            }
            lanes += ceased(filter, ("NOT INDEXED", "NOT INDEXED"), asked + ["seq <> number"])
            let left = ["d.ended IS NULL", "d.number IN (\(numbers))", "+d.seq \(range)"]
            return lanes + departures(filter, "INDEXED BY departure_open", left, text)
        }
        if let kinds = filter.sampleKinds {
            let fits = [kinds] + filter.who + filter.sampleCeasing
            if text != nil {
                let group = ["grouping = ?1", "+seq \(range)"]
                lanes.append(
                    Lane(.sample, "INDEXED BY sample_group", group, fits: fits, by: .sequence, text: text))
            } else if filter.query.isImplausible {
                let doubtful = ["implausible IS NOT NULL", "seq \(range)"]
                lanes.append(Lane(.sample, "INDEXED BY sample_implausible", doubtful, fits: fits, by: .sequence))
            } else {
                lanes += changes(.sample, "sample_moved", range, fits)
            }
        }
        if let kinds = filter.dayKinds, text == nil {
            lanes += changes(.day, "day_moved", range, [kinds] + filter.who + filter.dayTimes)
        }
        let moved = ("INDEXED BY sample_moved", "INDEXED BY day_moved")
        lanes += ceased(filter, moved, ["seq <> number", "seq \(range)"])
        return lanes + departures(filter, "", ["d.seq \(range)"], text)
    }

    private func changes(_ table: Lane.Table, _ moved: String, _ range: String, _ fits: [String]) -> [Lane] {
        [
            Lane(
                table, "NOT INDEXED", ["number \(range)"], fits: ["seq = number"] + fits, by: .sequence, sort: "number"),
            Lane(table, "INDEXED BY \(moved)", ["seq <> number", "seq \(range)"], fits: fits, by: .sequence),
        ]
    }

    /// Lanes of changed records that no longer match the query.
    ///
    /// A follower must receive them, because they may have matched before.
    ///
    /// Their state at the follower's last query is not determined: there may be many versions, and the follower may know one in the middle.
    private func ceased(_ filter: Filter, _ index: (sample: String, day: String), _ range: [String]) -> [Lane] {
        guard filter.query.since != nil, filter.query.canBeCeased else { return [] }
        var lanes: [Lane] = []
        if let kinds = filter.sampleKinds {
            lanes.append(
                Lane(
                    .sample, index.sample, range, fits: [kinds] + filter.who + filter.recent(.sample),
                    ceasing: filter.sampleCeasing,
                    by: .sequence, text: filter.query.group))
        }
        if let kinds = filter.dayKinds, filter.query.group == nil {
            lanes.append(
                Lane(
                    .day, index.day, range, fits: [kinds] + filter.who + filter.recent(.day), ceasing: filter.dayTimes,
                    by: .sequence))
        }
        return lanes
    }

    /// The lane of records that left the persons or types of a query; none if the query selects neither.
    private func departures(_ filter: Filter, _ index: String, _ range: [String], _ group: String?) -> [Lane] {
        guard let conditions = filter.departures else { return [] }
        // The record may have left its group too.
        let group = filter.query.since == nil ? group : nil
        let fits = ["d.ended IS NULL"] + conditions + (group == nil ? [] : ["s.grouping = ?1"])
        return [Lane(.departure, index, range, fits: fits, by: .sequence, sort: "d.seq", text: group)]
    }

    /// Lanes in order of time: one for each person and type with samples, and one for each series of days.
    func history(_ filter: Filter, _ reach: Reach) throws -> [OffsetLane] {
        let (query, walk) = (filter.query, reach.walk)
        let samples = filter.sampleKinds.map { kinds in [kinds] + filter.from + filter.sampleTimes + filter.guests }
        if let group = query.group {
            guard let samples else { return [] }
            let beyond =
                reach.after.map { ["(start, number) \(walk == .newestFirst ? "<" : ">") (\($0.key), \($0.number))"] }
                ?? []
            let lane = Lane(
                .sample, "INDEXED BY sample_group", ["grouping = ?1"] + beyond,
                fits: samples + filter.who + filter.doubtful, by: walk,
                text: group)
            return [OffsetLane(lane, lead: reach.isByLatestEnd ? try longest() : 0)]
        }
        var lanes: [OffsetLane] = []
        if let samples, query.isImplausible {
            let form = Lane(
                entered: .sample, "INDEXED BY sample_implausible_time", ["implausible IS NOT NULL"],
                fits: samples + filter.who, by: walk)
            let longest = try longest()
            let low = reach.endFloor.map { $0 - longest } ?? .min
            let lane = form.entered([], low: low, high: high(query, reach), after: reach.after)
            lanes.append(OffsetLane(lane, lead: reach.isByLatestEnd ? longest : 0))
        } else if samples != nil {
            let forms = sampleForms(filter, walk)
            for range in try HistoryRange.samples(filter, in: db) { lanes += sampleLanes(filter, range, forms, reach) }
        }
        if let kinds = filter.dayKinds {
            var dates = filter.dates
            if let floor = reach.endFloor { dates.low = max(dates.low, Filter.floor(floor) - 1) }
            if let ceiling = reach.startCeiling { dates.high = min(dates.high, Filter.floor(ceiling)) }
            let form = Lane(
                entered: .day, "INDEXED BY day_identity", [HistoryRange.day], fits: [kinds] + filter.from, by: walk)
            lanes += try HistoryRange.days(filter, in: db).map { range in
                let lane = form.entered(range.ids, low: dates.low, high: dates.high, after: reach.after)
                return OffsetLane(lane, lead: reach.isByLatestEnd ? Filter.dayLength - 1 : 0)
            }
        }
        return lanes
    }

    /// The longest duration of any sample so far.
    private func longest() throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT max(longest) FROM stream WHERE kind = 0") ?? 0
    }

    private func high(_ query: RecordQuery, _ reach: Reach) -> Int64 {
        min(query.to.map { $0 - 1 } ?? .max, reach.startCeiling ?? .max)
    }

    /// The lane forms for samples by person and type.
    func sampleForms(_ filter: Filter, _ walk: Lane.Walk) -> [OverlappingSamples: Lane] {
        guard let kinds = filter.sampleKinds else { return [:] }
        return Dictionary(
            uniqueKeysWithValues: OverlappingSamples.allCases.map { part in
                let fits = [kinds] + filter.from + filter.sampleTimes + filter.guests + part.limit
                return (
                    part,
                    Lane(
                        entered: .sample, "INDEXED BY \(part.index)", [HistoryRange.sample] + part.demand, fits: fits,
                        by: walk)
                )
            })
    }

    /// The lanes of one person and type, each of a different form.
    func sampleLanes(
        _ filter: Filter, _ range: HistoryRange, _ forms: [OverlappingSamples: Lane], _ reach: Reach
    ) -> [OffsetLane] {
        OverlappingSamples.lanes(
            filter.query, longest: range.longest, endFloor: reach.endFloor, isSplit: reach.isByLatestEnd
        ).compactMap { part, low, length in
            forms[part]?.entered(range.ids, low: low, high: high(filter.query, reach), after: reach.after).led(
                by: reach.isByLatestEnd ? length : 0)
        }
    }
}

extension Lane {
    fileprivate func led(by lead: Int64) -> OffsetLane { OffsetLane(self, lead: lead) }
}
