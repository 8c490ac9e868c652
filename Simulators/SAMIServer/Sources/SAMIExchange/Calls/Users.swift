import GRDB
import WebFaults

extension Route {
    static let userRoutes = [
        Route("GET users/self") { try $0.myself($1) },
        Route("GET users/{uid}/devices") { try $0.devices($1) },
        Route("GET users/{uid}/devicetypes") { try $0.deviceTypes(ofUser: $1) },
        Route("GET users/{uid}/properties") { try $0.properties($1) },
        Route("POST users/{uid}/properties") { try $0.setProperties($1) },
        Route("PUT users/{uid}/properties") { try $0.setProperties($1) },
        Route("DELETE users/{uid}/properties") { try $0.removeProperties($1) },
        Route("GET users/{uid}/trials") { exchange, call in
            try exchange.database.read { try exchange.require(call.caller, mayActFor: call.place("uid"), $0) }
            return try call.query.page().envelope("trials", [], total: 0)
        },
    ]
}

extension Exchange {
    fileprivate func myself(_ call: Call) throws -> WebAnswer {
        guard let uid = call.caller.user else { throw APIError.forbidden("an application is not a user") }
        let user = try database.read { try UserRow.fetchOne($0, key: uid) }
        guard let user else { throw APIError.noUser }
        return .data(user.tree(dialect))
    }

    fileprivate func devices(_ call: Call) throws -> WebAnswer {
        let (query, uid) = (call.query, call.place("uid"))
        let (page, withProperties) = (try query.page(), try query.flag("includeProperties"))
        return try database.read { database in
            try require(call.caller, mayActFor: uid, database)
            var request = DeviceRow.filter(sql: "uid = ?", arguments: [uid])
            if let dtid = query["dtid"] { request = request.filter(sql: "dtid = ?", arguments: [dtid]) }
            // A device that the application may neither read nor write is not listed.
            let visible = try request.order(sql: "number").fetchAll(database).filter {
                call.caller.may(.read, $0.dtid) || call.caller.may(.write, $0.dtid)
            }
            let items = visible.dropFirst(page.offset).prefix(page.count).map {
                $0.tree(
                    dialect, withProperties: withProperties, isListed: true, isConnected: sockets.isConnected($0.id))
            }
            return page.envelope("devices", Array(items), total: visible.count)
        }
    }

    fileprivate func deviceTypes(ofUser call: Call) throws -> WebAnswer {
        let (page, uid) = (try call.query.page(), call.place("uid"))
        return try database.read { database in
            try require(call.caller, mayActFor: uid, database)
            let all = try DeviceTypeRow.filter(sql: "uid = ?", arguments: [uid]).order(sql: "rowid").fetchAll(database)
            let items = try all.dropFirst(page.offset).prefix(page.count).map {
                $0.tree(latest: try latestManifest($0.id, database), isOwn: true, dialect)
            }
            return page.envelope("deviceTypes", items, total: all.count)
        }
    }

    // MARK: - An application's data for a user

    private func application(_ call: Call) throws -> String {
        guard let own = call.caller.application else { throw APIError.forbidden("a device has no application") }
        if let aid = call.query["aid"] {
            guard aid.utf8.count <= (dialect.isLater ? 64 : 36) else {
                throw APIError.invalid("aid", "Maximum length 36")
            }
            guard aid == own else { throw APIError.forbidden("this is another application") }
        }
        return own
    }

    fileprivate func properties(_ call: Call) throws -> WebAnswer {
        let (uid, aid) = (call.place("uid"), try application(call))
        return try database.read { database in
            try require(call.caller, mayActFor: uid, database)
            let text = try String.fetchOne(
                database, sql: "SELECT properties FROM appProperties WHERE uid = ? AND aid = ?", arguments: [uid, aid])
            guard let text else { throw APIError.notFound }
            return .data(["uid": .text(uid), "aid": .text(aid), "properties": .text(text)])
        }
    }

    fileprivate func setProperties(_ call: Call) throws -> WebAnswer {
        let (uid, aid) = (call.place("uid"), try application(call))
        guard let text = try call.object()["properties"]?.text else { throw APIError.required("properties") }
        guard text.count <= 10_000 else { throw APIError.invalid("properties", "Maximum length 10000") }
        return try database.write { database in
            try require(call.caller, mayActFor: uid, database)
            try database.execute(
                sql: "INSERT OR REPLACE INTO appProperties (uid, aid, properties) VALUES (?, ?, ?)",
                arguments: [uid, aid, text])
            return .data(["uid": .text(uid), "aid": .text(aid), "properties": .text(text)])
        }
    }

    fileprivate func removeProperties(_ call: Call) throws -> WebAnswer {
        let (uid, aid) = (call.place("uid"), try application(call))
        return try database.write { database in
            try require(call.caller, mayActFor: uid, database)
            try database.execute(
                sql: "DELETE FROM appProperties WHERE uid = ? AND aid = ?", arguments: [uid, aid])
            guard database.changesCount > 0 else { throw APIError.notFound }
            return .data(["uid": .text(uid), "aid": .text(aid), "properties": ""])
        }
    }
}
