import Foundation
import GRDB
import WebFaults

extension Route {
    static let analyticsRoutes = [
        Route("GET messages/analytics/aggregates") { try $0.aggregates($1) },
        Route("GET messages/analytics/histogram") { try $0.histogram($1) },
        Route("GET messages/presence") { try $0.fieldPresence($1) },
    ]
}

/// The buckets of a histogram, in UTC.
private enum Interval: String {
    case minute, hour, day, month, year

    /// The widest range of one query, in milliseconds.
    func widest(forPresence: Bool) -> Int64 {
        let day: Int64 = 86_400_000
        return switch self {
        case .minute: 3_600_000
        case .hour: day
        case .day: 31 * day
        case .month: 366 * day
        case .year: forPresence ? 3_653 * day : 366 * day
        }
    }

    /// The start of the bucket that contains this instant.
    func start(_ ts: Int64) -> Int64 {
        switch self {
        case .minute: return ts / 60_000 * 60_000
        case .hour: return ts / 3_600_000 * 3_600_000
        case .day: return ts / 86_400_000 * 86_400_000
        case .month, .year:
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = .gmt
            let date = Date(timeIntervalSince1970: Double(ts) / 1000)
            let begin = calendar.dateInterval(of: self == .month ? .month : .year, for: date)?.start ?? date
            return Int64(begin.timeIntervalSince1970 * 1000)
        }
    }
}

/// The statistics of a set of values.
private struct Summary {
    let values: [Double]

    var members: KeyValuePairs<String, JSONTree?> {
        let (count, sum) = (Double(values.count), values.reduce(0, +))
        let mean = values.isEmpty ? 0 : sum / count
        // The variance of the population; SAMI's definition is unknown (reference §11).
        let variance = values.isEmpty ? 0 : values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / count
        return [
            "count": JSONTree(values.count), "min": .real(values.min() ?? 0), "max": .real(values.max() ?? 0),
            "mean": .real(mean), "sum": .real(sum), "variance": .real(variance),
        ]
    }
}

extension Exchange {
    private struct Span {
        var sdid, field: String
        var start, end: Int64
    }

    private func values(_ span: Span, _ database: Database) throws -> [(ts: Int64, value: Double)] {
        let until = options.analyticsLag ? min(span.end, now - 60_000) : span.end
        return try Row.fetchAll(
            database,
            sql: """
                SELECT ts, value FROM message, json_each(message.data)
                WHERE sdid = ? AND ts BETWEEN ? AND ? AND visibleOn <= ? AND key = ? COLLATE NOCASE
                    AND type IN ('integer', 'real') ORDER BY ts
                """, arguments: [span.sdid, span.start, until, now, span.field]
        ).map { ($0["ts"], $0["value"]) }
    }

    private func span(_ call: Call, widest: Int64) throws -> Span {
        let query = call.query
        let span = Span(
            sdid: try query.text("sdid"), field: try query.text("field"), start: try query.requiredDate("startDate"),
            end: try query.requiredDate("endDate"))
        try check(span.start, span.end, widest: widest)
        return span
    }

    private func check(_ start: Int64, _ end: Int64, widest: Int64) throws {
        guard end >= start else { throw APIError.invalid("endDate", "Minimum value \(start)") }
        guard end - start <= widest else { throw APIError.invalid("endDate", "Maximum value \(start + widest)") }
    }

    private func interval(_ query: QueryParameters) throws -> Interval {
        guard let interval = Interval(rawValue: try query.text("interval").lowercased()) else {
            throw APIError.invalid("interval", "Invalid rule")
        }
        return interval
    }

    fileprivate func aggregates(_ call: Call) throws -> WebAnswer {
        var span = try span(call, widest: 31 * 86_400_000)
        (span.start, span.end) = (Interval.minute.start(span.start), Interval.minute.start(span.end))
        let values = try database.read { database in
            _ = try device(span.sdid, for: call.caller, .read, database)
            return try self.values(span, database).map(\.value)
        }
        return .api([
            "sdid": .text(span.sdid), "startDate": .text("\(span.start)"), "endDate": .text("\(span.end)"),
            "field": .text(span.field), "size": 1, "data": [.members(Summary(values: values).members)],
        ])
    }

    fileprivate func histogram(_ call: Call) throws -> WebAnswer {
        let interval = try interval(call.query)
        let span = try span(call, widest: interval.widest(forPresence: false))
        let values = try database.read { database in
            _ = try device(span.sdid, for: call.caller, .read, database)
            return try self.values(span, database)
        }
        let buckets = Dictionary(grouping: values) { interval.start($0.ts) }.sorted { $0.key < $1.key }
        let data = buckets.map { start, values in
            JSONTree.members(Summary(values: values.map(\.value)).members).with(["ts": .whole(start)])
        }
        return .api([
            "sdid": .text(span.sdid), "startDate": .text("\(span.start)"), "endDate": .text("\(span.end)"),
            "field": .text(span.field), "interval": .text(call.query["interval"] ?? ""), "size": JSONTree(data.count),
            "data": .list(data),
        ])
    }

    /// The buckets that contain any messages.
    fileprivate func fieldPresence(_ call: Call) throws -> WebAnswer {
        let query = call.query
        let interval = try interval(query)
        let (start, end) = (try query.requiredDate("startDate"), try query.requiredDate("endDate"))
        try check(start, end, widest: interval.widest(forPresence: true))
        let times = try database.read { database in
            var (condition, arguments) = (
                "ts BETWEEN ? AND ? AND visibleOn <= ?", [start, end, now] as StatementArguments
            )
            if let sdid = query["sdid"] {
                _ = try device(sdid, for: call.caller, .read, database)
                condition += " AND sdid = ?"
                arguments += [sdid]
            } else {
                guard let uid = call.caller.user else { throw APIError.required("sdid") }
                condition += " AND uid = ?"
                arguments += [uid]
            }
            if let field = query["fieldPresence"] {
                condition += " AND \(FieldFilter.presence)"
                arguments += [field]
            }
            return try Int64.fetchAll(
                database, sql: "SELECT ts FROM message WHERE \(condition)", arguments: arguments)
        }
        let starts = Set(times.map(interval.start)).sorted()
        return .api(
            .members([
                "sdid": .text(query["sdid"]), "fieldPresence": .text(query["fieldPresence"]),
                "interval": .text(interval.rawValue.uppercased()), "startDate": .whole(start), "endDate": .whole(end),
                "size": JSONTree(starts.count), "data": .list(starts.map { ["startDate": .whole($0)] }),
            ]))
    }
}
