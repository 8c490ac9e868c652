import GRDB
import Samples

/// Answers questions within one snapshot of the store.
struct Reader {
    let db: Database
    let termCache: TermCache
    private let here: Samples.Cursor

    init(_ db: Database, _ termCache: TermCache) throws {
        self.db = db
        self.termCache = termCache
        here = Samples.Cursor(epoch: try Opening.meta(db).epoch, sequence: try Int64.fetchOne(db, sql: Head.sql) ?? 0)
    }

    /// How many sequences one page may look through for the few that a narrow query wants, so that no snapshot stays open for long.
    static let window: Int64 = 200_000

    /// The last sequence of the snapshot.
    var head: Int64 { here.sequence }

    // MARK: - Pages

    func page(_ asked: RecordQuery) throws -> RecordPage {
        var query = asked
        guard (1...RecordQuery.maximumPage).contains(query.limit) else {
            throw StoreError(.query, "limit \(query.limit): a page has 1 to 1,000 records")
        }
        guard query.numbers == nil || query.order == .sequence && query.numbers?.count ?? 0 <= RecordQuery.maximumPage
        else { throw StoreError(.query, "numbers: at most 1,000, in the order of change") }
        let token = try token(of: query)
        try check(query.since, in: query.order)
        // Beyond all that RFC 3339 can write there is nothing, and sums of times cannot overflow.
        let times = (Timestamp.range.lowerBound - 1)...(Timestamp.range.upperBound + 1)
        query.from = query.from.map { min(max($0, times.lowerBound), times.upperBound) }
        query.to = query.to.map { min(max($0, times.lowerBound), times.upperBound) }

        let head = token?.head ?? here.sequence
        let filter = try Filter(query, in: db)
        var page = RecordPage(records: [], next: nil, cursor: Samples.Cursor(epoch: here.epoch, sequence: head))
        if filter.isEmpty { return page }

        var merge: Merge
        var windowEnd: Int64?
        if query.order == .sequence {
            let after = token?.key ?? query.since?.sequence ?? 0
            let (end, overflow) = after.addingReportingOverflow(
                query.group == nil && query.numbers == nil && !query.isImplausible ? Reader.window : head)
            let bound = overflow ? head : min(head, end)
            windowEnd = bound < head ? bound : nil
            merge = Merge(lanes: try changes(filter, after: after, through: bound))
        } else {
            merge = Merge(lanes: try history(filter, after: token.map { ($0.key, $0.number) }))
        }

        var bytes = 0
        var last = (key: Int64(0), number: Int64(0))
        while let front = merge.front() {
            if page.records.count == query.limit || bytes >= RecordQuery.pageBytes {
                page.next = PageToken(epoch: here.epoch, head: head, key: last.key, number: last.number).text(
                    for: asked)
                return page
            }
            let record = try merge.lanes[front.lane].take(termCache, db)
            bytes += record.estimatedBytes
            page.records.append(record)
            last = front.place
        }
        if let windowEnd {
            page.next = PageToken(epoch: here.epoch, head: head, key: windowEnd, number: 0).text(for: asked)
        }
        return page
    }

    /// The lanes of a whole answer.
    func lanes(_ filter: Filter, _ order: RecordQuery.Order) throws -> [RowCursor] {
        order == .sequence ? try changes(filter, after: 0, through: here.sequence) : try history(filter, after: nil)
    }

    private func token(of query: RecordQuery) throws -> PageToken? {
        guard let next = query.next else { return nil }
        guard let token = PageToken(next, for: query) else {
            throw StoreError(.token, "next: not given out for this query; begin again without it")
        }
        guard token.epoch == here.epoch, token.head <= here.sequence else {
            throw StoreError(.epoch, "next: the store was restored since; begin again without it")
        }
        return token
    }

    private func check(_ since: Samples.Cursor?, in order: RecordQuery.Order) throws {
        guard let since else { return }
        guard order == .sequence else {
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
                "since \(since): what the hub had stored up to there was lost when the machine went down; take a new snapshot"
            )
        }
    }

    /// The order of change: rows never changed lie in the order of their numbers, the others in an index of their own.
    private func changes(_ filter: Filter, after: Int64, through: Int64) throws -> [RowCursor] {
        let text = filter.query.group
        let range = "BETWEEN \(after + 1) AND \(through)"
        var lanes: [RowCursor] = []
        if let numbers = filter.numbers {
            let asked = ["number IN (\(numbers))", "+seq \(range)"] + filter.who
            if let kinds = filter.sampleKinds {
                let conditions = asked + [kinds] + filter.sampleTimes + (text == nil ? [] : ["grouping = ?1"])
                lanes.append(try RowCursor(.sample, "NOT INDEXED", conditions, by: .sequence, text: text, in: db))
            }
            if let kinds = filter.dayKinds, text == nil {
                lanes.append(
                    try RowCursor(.day, "NOT INDEXED", asked + [kinds] + filter.dayTimes, by: .sequence, in: db))
            }
            if let departures = try departures(filter, "d.number IN (\(numbers)) AND d.seq \(range)", text) {
                lanes.append(departures)
            }
            return lanes
        }
        if let kinds = filter.sampleKinds {
            let conditions = [kinds] + filter.who + filter.sampleTimes
            if text != nil {
                lanes.append(
                    try RowCursor(
                        .sample, "INDEXED BY sample_group", ["grouping = ?1", "+seq \(range)"] + conditions,
                        by: .sequence,
                        text: text, in: db))
            } else if filter.query.isImplausible {
                lanes.append(
                    try RowCursor(
                        .sample, "INDEXED BY sample_implausible", ["+seq \(range)"] + conditions, by: .sequence, in: db)
                )
            } else {
                lanes.append(
                    try RowCursor(
                        .sample, "NOT INDEXED", ["number \(range)", "seq = number"] + conditions, by: .sequence,
                        sort: "number", in: db))
                lanes.append(
                    try RowCursor(
                        .sample, "INDEXED BY sample_moved", ["seq <> number", "seq \(range)"] + conditions,
                        by: .sequence, in: db))
            }
        }
        if let kinds = filter.dayKinds, text == nil {
            let conditions = [kinds] + filter.who + filter.dayTimes
            lanes.append(
                try RowCursor(
                    .day, "NOT INDEXED", ["number \(range)", "seq = number"] + conditions, by: .sequence,
                    sort: "number", in: db))
            lanes.append(
                try RowCursor(
                    .day, "INDEXED BY day_moved", ["seq <> number", "seq \(range)"] + conditions, by: .sequence, in: db)
            )
        }
        if let departures = try departures(filter, "d.seq \(range)", text) { lanes.append(departures) }
        return lanes
    }

    /// A follower of some persons or types alone must learn what has left them; `nil` where the question is about neither.
    private func departures(_ filter: Filter, _ range: String, _ group: String?) throws -> RowCursor? {
        guard let conditions = filter.departures else { return nil }
        let all = [range] + conditions + (group == nil ? [] : ["s.grouping = ?1"])
        return try RowCursor(.departure, "", all, by: .sequence, sort: "d.seq", text: group, in: db)
    }

    /// The order of time: one lane for each person and type that has samples, and for each series of days.
    private func history(_ filter: Filter, after: (key: Int64, number: Int64)?) throws -> [RowCursor] {
        let query = filter.query
        let down = query.order == .newestFirst
        let beyond = after.map { after in
            let (past, least) = down ? ("<", "<=") : (">", ">=")
            return (
                ["start \(least) \(after.key)", "(start \(past) \(after.key) OR number \(past) \(after.number))"],
                [
                    "date \(least) \(Filter.floor(after.key) + (down ? 1 : 0))",
                    "(date * \(Filter.dayLength), number) \(past) (\(after.key), \(after.number))",
                ]
            )
        }
        let samples = filter.sampleKinds.map { kinds in [kinds] + filter.from + filter.sampleTimes + (beyond?.0 ?? []) }
        if let group = query.group {
            guard let samples else { return [] }
            return [
                try RowCursor(
                    .sample, "INDEXED BY sample_group", ["grouping = ?1"] + filter.who + samples, by: query.order,
                    text: group, in: db)
            ]
        }
        var lanes: [RowCursor] = []
        if let samples, query.isImplausible {
            lanes.append(
                try RowCursor(
                    .sample, "INDEXED BY sample_implausible", filter.who + samples, by: query.order, in: db))
        } else if let samples {
            for range in try HistoryRange.samples(filter, in: db) {
                var conditions = [range.condition] + samples
                if let from = query.from, !query.strictStart { conditions.append("start >= \(from - range.longest)") }
                lanes.append(try RowCursor(.sample, "INDEXED BY sample_history", conditions, by: query.order, in: db))
            }
        }
        if let kinds = filter.dayKinds {
            let conditions = [kinds] + filter.from + filter.dayTimes + (beyond?.1 ?? [])
            for range in try HistoryRange.days(filter, in: db) {
                lanes.append(
                    try RowCursor(
                        .day, "INDEXED BY day_identity", [range.condition] + conditions, by: query.order, in: db))
            }
        }
        return lanes
    }
}
