import GRDB
import WebFaults

extension Route {
    static let messageRoutes = [
        Route("POST messages", counter: .messages) { try $0.post($1) },
        Route("POST message", counter: .messages) { try $0.post($1) },
        Route("POST actions", counter: .messages) { try $0.post($1) },
        Route("GET messages") { try $0.range($1) },
        Route("GET messages/last") { try $0.lastMessages($1) },
        Route("GET messages/raw") { try $0.rawMessages($1) },
        Route("GET messages/snapshots") { try $0.snapshots($1) },
        Route("GET actions") { try $0.actions($1) },
    ]
}

extension Exchange {
    fileprivate func post(_ call: Call) throws -> WebAnswer {
        guard call.request.body.count <= dialect.messageBytes else { throw APIError.tooLarge }
        var body = try call.object()
        if call.request.path.hasSuffix("/actions") { body = body.with(["type": "action"]) }
        let posting = try posting(body)
        let kept = try database.write { database in
            let caller =
                try body["token"]?.text.map { token in
                    guard let caller = try self.caller(token: token, database) else { throw APIError.unauthorized }
                    return caller
                } ?? call.caller
            if posting.isAction {
                return try keep(
                    posting, for: try device(posting.ddid ?? "", for: caller, .write, database), database)
            }
            let device = try self.device(posting.sdid ?? "", for: caller, .write, database)
            if try DeviceTypeRow.fetchOne(database, key: device.dtid)?.rsp == true {
                throw APIError.forbidden("the device type wants the secure protocol")
            }
            return try keep(posting, of: device, twice: call.isTwice, database)
        }
        tell(kept)
        return .data(["mid": .text(kept.mid)])
    }

    // MARK: - Reading

    /// The conditions of a request to `/messages`, without the page.
    private struct Terms {
        var conditions: [String] = ["sdid = ?", "visibleOn <= ?"]
        var arguments: [any DatabaseValueConvertible]
        var isDescending: Bool
        var count: Int

        /// Distinguishes the cursors of different queries.
        var mark: String { (conditions + arguments.map { "\($0.databaseValue)" }).joined(separator: "|") }
    }

    fileprivate func range(_ call: Call) throws -> WebAnswer {
        let query = call.query
        if let mid = query["mid"] { return try message(mid, call) }
        let sdid = try query.text("sdid")
        return try database.read { database in
            _ = try device(sdid, for: call.caller, .read, database)
            if let uid = query["uid"] { try require(call.caller, mayActFor: uid, database) }
            let terms = try terms(query, sdid)
            let (rows, next) = try page(terms, after: query["offset"], database)
            var tree = JSONTree.members([
                "uid": .text(query["uid"] ?? call.caller.user), "sdid": .text(sdid),
                "startDate": .whole(try query.date("startDate")), "endDate": .whole(try query.date("endDate")),
                "fieldPresence": .text(query["fieldPresence"]), "filter": .text(query["filter"]),
                "order": .text(terms.isDescending ? "desc" : "asc"), "count": JSONTree(terms.count),
                "size": JSONTree(rows.count),
            ])
            if let next { tree = tree.with(["next": .text(next)]) }
            return .messages(tree, rows.map(\.text))
        }
    }

    private func terms(_ query: QueryParameters, _ sdid: String) throws -> Terms {
        let (start, end) = (try query.date("startDate"), try query.date("endDate"))
        // Both or neither; without them the query must name a field.
        if start != nil || end != nil || query["fieldPresence"] == nil {
            guard start != nil else { throw APIError.required("startDate") }
            guard end != nil else { throw APIError.required("endDate") }
        }
        guard ["asc", "desc", nil].contains(query["order"]) else { throw APIError.invalid("order", "Invalid rule") }
        // Hides messages that are not visible at the time of this request.
        var terms = Terms(
            arguments: [sdid, now], isDescending: query["order"] == "desc",
            count: try query.integer("count", in: 1...dialect.pageMessages) ?? dialect.pageMessages)
        if let start, let end {
            terms.conditions.append("ts BETWEEN ? AND ?")
            terms.arguments += [start, end]
        }
        if let field = query["fieldPresence"] {
            terms.conditions.append(FieldFilter.presence)
            terms.arguments.append(field)
        }
        if let text = query["filter"] {
            for filter in try FieldFilter.read(text) {
                terms.conditions.append(filter.condition)
                terms.arguments += filter.arguments
            }
        }
        return terms
    }

    private func page(
        _ terms: Terms, after text: String?, _ database: Database
    ) throws -> (rows: [MessageRow], next: String?) {
        var (conditions, arguments) = (terms.conditions, terms.arguments)
        // The second argument is the time of the request, which differs from page to page.
        let mark = Terms(
            conditions: terms.conditions, arguments: [arguments[0]] + arguments.dropFirst(2),
            isDescending: terms.isDescending, count: 0
        ).mark
        if let text {
            guard let cursor = PageCursor(text), cursor.isFor(mark, isDescending: terms.isDescending) else {
                throw APIError.invalid("offset", "Invalid rule")
            }
            conditions.append(terms.isDescending ? "(ts, mid) < (?, ?)" : "(ts, mid) > (?, ?)")
            arguments += [cursor.ts, cursor.mid]
        }
        let direction = terms.isDescending ? "DESC" : "ASC"
        let rows = try MessageRow.fetchAll(
            database,
            sql: """
                SELECT * FROM message WHERE \(conditions.joined(separator: " AND "))
                ORDER BY ts \(direction), mid \(direction) LIMIT \(terms.count + 1)
                """, arguments: StatementArguments(arguments))
        guard rows.count > terms.count, let last = rows.dropLast().last else { return (rows, nil) }
        let cursor = PageCursor(ts: last.ts, mid: last.mid, mark: mark, isDescending: terms.isDescending)
        return (rows.dropLast(), cursor.text)
    }

    private func message(_ mid: String, _ call: Call) throws -> WebAnswer {
        try database.read { database in
            let row = try MessageRow.filter(sql: "mid = ?", arguments: [mid]).fetchOne(database)
            guard let row else { throw APIError.notFound }
            _ = try device(row.sdid, for: call.caller, .read, database)
            return .messages(["uid": .text(row.uid), "sdid": .text(row.sdid), "size": 1], [row.text])
        }
    }

    /// The newest messages first, `count` for each device.
    fileprivate func lastMessages(_ call: Call) throws -> WebAnswer {
        let query = call.query
        let ids = query.list("sdids")
        guard !ids.isEmpty else { throw APIError.required("sdids") }
        guard let count = try query.integer("count", in: 1...100) else { throw APIError.required("count") }
        let rows = try database.read { database in
            try ids.flatMap { sdid in
                _ = try device(sdid, for: call.caller, .read, database)
                var terms = Terms(arguments: [sdid, now], isDescending: true, count: count)
                if let field = query["fieldPresence"] {
                    terms.conditions.append(FieldFilter.presence)
                    terms.arguments.append(field)
                }
                return try page(terms, after: nil, database).rows
            }
        }
        let sorted = ids.count > 1 ? rows.sorted { ($0.ts, $0.mid) > ($1.ts, $1.mid) } : rows
        return .messages(
            .members([
                "sdids": .text(ids.joined(separator: ",")), "fieldPresence": .text(query["fieldPresence"]),
                "count": JSONTree(count), "size": JSONTree(sorted.count),
            ]), sorted.map(\.text))
    }

    /// The posted texts (until spring 2015).
    fileprivate func rawMessages(_ call: Call) throws -> WebAnswer {
        let query = call.query
        let sdid = try query.text("sdid")
        return try database.read { database in
            _ = try device(sdid, for: call.caller, .read, database)
            let (rows, next) = try page(try terms(query, sdid), after: query["offset"], database)
            return .messages(
                .members(["sdid": .text(sdid), "size": JSONTree(rows.count), "next": .text(next)]),
                rows.map(\.rawText))
        }
    }

    /// The last value of each field of each device.
    fileprivate func snapshots(_ call: Call) throws -> WebAnswer {
        let query = call.query
        let (ids, withTimes) = (query.list("sdids"), try query.flag("includeTimestamp"))
        guard !ids.isEmpty else { throw APIError.required("sdids") }
        guard ids.count <= 100 else { throw APIError.invalid("sdids", "Maximum length 100") }
        return try database.read { database in
            let all = try ids.map { sdid -> JSONTree in
                _ = try device(sdid, for: call.caller, .read, database)
                let rows = try Row.fetchAll(
                    database,
                    sql: """
                        SELECT key, ts, text FROM (
                            SELECT field.key AS key, ts,
                                CASE field.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'
                                    WHEN 'object' THEN field.value WHEN 'array' THEN field.value
                                    ELSE json_quote(field.value) END AS text,
                                row_number() OVER (PARTITION BY field.key ORDER BY ts DESC, mid DESC) AS place
                            FROM message, json_each(message.data) AS field WHERE sdid = ? AND visibleOn <= ?
                        ) WHERE place = 1 ORDER BY key
                        """, arguments: [sdid, now])
                let members = rows.map { row -> JSONTree.Member in
                    let value = JSONTree.written(row["text"])
                    return .init(row["key"], withTimes ? ["value": value, "ts": .whole(row["ts"] as Int64)] : value)
                }
                return ["sdid": .text(sdid), "data": .object(members)]
            }
            return .api([
                "sdids": .text(ids.joined(separator: ",")), "size": JSONTree(all.count), "data": .list(all),
            ])
        }
    }

    fileprivate func actions(_ call: Call) throws -> WebAnswer {
        let query = call.query
        let isDescending = query["order"] == "desc"
        let count = try query.integer("count", in: 1...dialect.pageMessages) ?? dialect.pageMessages
        return try database.read { database in
            var request = ActionRow.all()
            if let mid = query["mid"] { request = request.filter(sql: "mid = ?", arguments: [mid]) }
            if let ddid = query["ddid"] {
                _ = try device(ddid, for: call.caller, .read, database)
                request = request.filter(sql: "ddid = ?", arguments: [ddid])
            }
            guard let uid = query["uid"] ?? call.caller.user else { throw APIError.required("uid") }
            try require(call.caller, mayActFor: uid, database)
            request = request.filter(sql: "uid = ?", arguments: [uid])
            if let start = try query.date("startDate") { request = request.filter(sql: "ts >= ?", arguments: [start]) }
            if let end = try query.date("endDate") { request = request.filter(sql: "ts <= ?", arguments: [end]) }
            let direction = isDescending ? "DESC" : "ASC"
            let rows = try request.order(sql: "ts \(direction), mid \(direction)").limit(count).fetchAll(database)
            return .api(
                .members([
                    "uid": .text(uid), "ddid": .text(query["ddid"]), "order": .text(isDescending ? "desc" : "asc"),
                    "count": JSONTree(count), "size": JSONTree(rows.count), "data": .list(rows.map(\.tree)),
                ]))
        }
    }
}

extension WebAnswer {
    /// A flat list: the members of `tree`, and `data` with messages that are already JSON text.
    fileprivate static func messages(_ tree: JSONTree, _ messages: [String]) -> WebAnswer {
        .api(text: tree.json.dropLast() + #","data":["# + messages.joined(separator: ",") + "]}")
    }
}
