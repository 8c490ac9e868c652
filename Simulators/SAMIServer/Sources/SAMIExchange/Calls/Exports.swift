import Foundation
import GRDB
import WebFaults

extension Route {
    static let exportRoutes = [
        Route("POST messages/export") { try $0.requestExport($1, $1.object()) },
        // The form of the first iOS SDK: all parameters in the query (2014).
        Route("GET messages/export") { exchange, call in
            var body: JSONTree = [:]
            for (name, value) in call.request.query {
                body = body.with([["uid": "uids", "sdid": "sdids"][name] ?? name: .text(value)])
            }
            return try exchange.requestExport(call, body)
        },
        Route("GET messages/export/history") { try $0.exportHistory($1) },
        Route("GET messages/export/{id}/status") { try $0.exportStatus($1) },
        Route("GET messages/export/{id}/result") { try $0.exportResult($1) },
    ]
}

private struct ExportRow: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "export"
    var number: Int64?
    var id, uid: String
    var aid: String?
    var request, status, md5: String
    var messages: Int
    var requestedOn, expiresOn: Int64
    var archive: Data

    mutating func didInsert(_ inserted: InsertionSuccess) { number = inserted.rowID }

    func state(at now: Int64) -> KeyValuePairs<String, JSONTree?> {
        [
            "status": .text(now >= expiresOn ? "Expired" : status), "md5": .text(md5),
            "expirationDate": .whole(expiresOn), "fileSize": JSONTree(archive.count),
            "totalMessages": JSONTree(messages),
        ]
    }
}

extension Exchange {
    /// The checked parameters of an export.
    private struct Order {
        var ids: [(id: String, isUser: Bool)]
        var types: [String]
        var start, end: Int64
        var isDescending, isCSV, hasHeaders: Bool

        init(_ body: JSONTree) throws {
            func date(_ name: String) throws -> Int64 {
                guard let value = body[name] else { throw APIError.required(name) }
                guard let date = value.lenientInteger, date >= 0 else {
                    throw APIError.invalid(name, "Numeric field only")
                }
                return date
            }
            func list(_ name: String) throws -> [String] {
                let items = (body[name]?.text ?? "").split(separator: ",").map { String($0.replacing(" ", with: "")) }
                guard items.count <= 30 else { throw APIError.invalid(name, "Maximum length 30") }
                return items
            }
            (start, end) = (try date("startDate"), try date("endDate"))
            guard end >= start, end - start <= 31 * 86_400_000 else {
                throw APIError.invalid("endDate", "Maximum value \(start + 31 * 86_400_000)")
            }
            types = try list("sdtids")
            ids = try list("uids").map { ($0, true) } + list("sdids").map { ($0, false) }
            guard !ids.isEmpty else { throw APIError.required("uids") }
            let format = body["format"]?.text ?? "json"
            guard ["json", "csv", "csv1"].contains(format) else { throw APIError.invalid("format", "Invalid rule") }
            (isCSV, isDescending) = (format != "json", body["order"]?.text == "desc")
            hasHeaders = body["csvHeaders"]?.truth ?? true
        }
    }

    fileprivate func requestExport(_ call: Call, _ body: JSONTree) throws -> WebAnswer {
        let order = try Order(body)
        let row = try database.write { database in
            var archive = TarArchive(at: now / 1000)
            var count = 0
            for (id, isUser) in order.ids {
                if isUser {
                    try require(call.caller, mayActFor: id, database)
                } else {
                    _ = try device(id, for: call.caller, .read, database)
                }
                let rows = try MessageRow.fetchAll(
                    database,
                    sql: """
                        SELECT * FROM message WHERE \(isUser ? "uid" : "sdid") = ? AND ts BETWEEN ? AND ? AND visibleOn <= ?
                        ORDER BY ts \(order.isDescending ? "DESC" : "ASC")
                        """, arguments: [id, order.start, order.end, now]
                ).filter {
                    (order.types.isEmpty || order.types.contains($0.sdtid)) && call.caller.may(.read, $0.sdtid)
                }
                count += rows.count
                let name = "\(id)-\(rows.first?.ts ?? 0).\(order.isCSV ? "csv" : "json")"
                archive.add(name, order.isCSV ? Self.csv(rows, order.hasHeaders) : Self.json(rows))
            }
            let bytes = archive.gzipped()
            var row = ExportRow(
                id: Identifier.make(), uid: call.caller.user ?? "", aid: call.caller.application, request: body.json,
                status: "Success", md5: md5(bytes), messages: count, requestedOn: now, expiresOn: now + 86_400_000,
                archive: Data(bytes))
            try row.insert(database)
            return row
        }
        return .data(
            .members([
                "exportId": .text(row.id), "uids": body["uids"], "sdids": body["sdids"], "sdtids": body["sdtids"],
                "startDate": .whole(order.start), "endDate": .whole(order.end),
                "order": .text(order.isDescending ? "desc" : "asc"), "format": .text(body["format"]?.text ?? "json"),
            ]))
    }

    private static func json(_ rows: [MessageRow]) -> String {
        #"{"size":\#(rows.count),"data":["# + rows.map(\.text).joined(separator: ",") + "]}"
    }

    private static func csv(_ rows: [MessageRow], _ hasHeaders: Bool) -> String {
        let header = hasHeaders ? "mid,sdid,sdtid,uid,ts,cts,mv,data\n" : ""
        return header
            + rows.map { row in
                let data = row.data.replacing("\"", with: "\"\"")
                return "\(row.mid),\(row.sdid),\(row.sdtid),\(row.uid),\(row.ts),\(row.cts),\(row.mv),\"\(data)\"\n"
            }.joined()
    }

    private func export(_ call: Call, _ database: Database) throws -> ExportRow {
        let row = try ExportRow.filter(sql: "id = ?", arguments: [call.place("id")]).fetchOne(database)
        guard let row else { throw APIError.notFound }
        guard row.uid == call.caller.user ?? "", row.aid == call.caller.application else {
            throw APIError.forbidden("this is another's export")
        }
        return row
    }

    fileprivate func exportStatus(_ call: Call) throws -> WebAnswer {
        let row = try database.read { try export(call, $0) }
        return .api(JSONTree.members(["exportId": .text(row.id)]).with(row.state(at: now)))
    }

    fileprivate func exportResult(_ call: Call) throws -> WebAnswer {
        let row = try database.write { database in
            var row = try export(call, database)
            guard now < row.expiresOn else { throw APIError.notFound }
            row.status = "Served"
            try row.update(database)
            return row
        }
        return WebAnswer(
            200,
            fields: [
                ("Content-Type", "application/x-compressed"),
                ("Content-Disposition", "attachment; filename=\"\(row.id).tgz\""),
                ("X-SAMI-Total-Messages", "\(row.messages)"),
            ], body: Array(row.archive))
    }

    fileprivate func exportHistory(_ call: Call) throws -> WebAnswer {
        let page = try call.query.page()
        let rows = try database.read { database in
            try ExportRow.filter(sql: "uid = ?", arguments: [call.caller.user ?? ""]).order(sql: "number DESC")
                .fetchAll(database).filter { $0.aid == call.caller.application }
        }
        let items = rows.dropFirst(page.offset).prefix(page.count).map { row in
            let asked = JSONTree.written(row.request)
            let request = JSONTree.members([
                "requestDate": .whole(row.requestedOn), "startDate": asked["startDate"], "endDate": asked["endDate"],
                "order": asked["order"] ?? "asc", "format": asked["format"] ?? "json",
            ])
            return JSONTree.members(["exportId": .text(row.id), "request": request]).with(row.state(at: now))
        }
        return page.envelope("exports", Array(items), total: rows.count)
    }
}
