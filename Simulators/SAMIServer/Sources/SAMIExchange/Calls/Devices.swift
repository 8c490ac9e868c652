import GRDB
import WebFaults

extension Route {
    static let deviceRoutes = [
        Route("POST devices") { try $0.addDevice($1) },
        Route("GET devices/status") { try $0.statuses($1) },
        Route("GET devices/{did}") { try $0.showDevice($1) },
        Route("PUT devices/{did}") { try $0.changeDevice($1) },
        Route("DELETE devices/{did}") { try $0.removeDevice($1) },
        Route("GET devices/{did}/tokens") { try $0.deviceToken($1) },
        Route("PUT devices/{did}/tokens") { try $0.makeDeviceToken($1) },
        Route("DELETE devices/{did}/tokens") { try $0.removeDeviceToken($1) },
        Route("GET devices/{did}/presence") { try $0.presence($1) },
        Route("GET devices/{did}/status") { exchange, call in
            try exchange.database.read { database in
                let device = try exchange.device(call.place("did"), for: call.caller, .read, database)
                return .api(try exchange.status(device, database))
            }
        },
        Route("PUT devices/{did}/status") { try $0.setStatus($1) },
    ]
}

extension Exchange {
    private static let policies = ["LATEST", "DEVICE"]

    private func checkName(_ name: String) throws -> String {
        guard name.count >= 5 else { throw APIError.invalid("name", "Minimum length 5") }
        guard !name.unicodeScalars.contains("\0") else { throw APIError.invalid("name", "Text field only") }
        // The SDK's own page registers a phone by its UDID, which exceeds the documented maximum of 36.
        guard name.count <= 64 else { throw APIError.invalid("name", "Maximum length 64") }
        return name
    }

    fileprivate func addDevice(_ call: Call) throws -> WebAnswer {
        let body = try call.object()
        guard let dtid = body["dtid"]?.text else { throw APIError.required("dtid") }
        guard let uid = body["uid"]?.text else { throw APIError.required("uid") }
        guard let name = body["name"]?.text else { throw APIError.required("name") }
        let device = try database.write { database in
            try require(call.caller, mayActFor: uid, database)
            guard try DeviceTypeRow.exists(database, key: dtid) else { throw APIError.noDeviceType }
            guard call.caller.may(.write, dtid) else { throw APIError.forbidden("WRITE of device type \(dtid)") }
            var device = DeviceRow(
                id: Identifier.make(), uid: uid, dtid: dtid, name: try checkName(name),
                manifestVersion: try latestManifest(dtid, database), policy: "LATEST", needProviderAuth: false,
                properties: "{}", createdOn: now)
            try merge(body, into: &device, database)
            try device.insert(database)
            return device
        }
        tell(.deviceNew, of: device, by: call.caller)
        return .data(device.tree(dialect, withProperties: false))
    }

    /// Applies the members of the body; missing members stay unchanged.
    private func merge(_ body: JSONTree, into device: inout DeviceRow, _ database: Database) throws {
        if let name = body["name"]?.text { device.name = try checkName(name) }
        if let version = body["manifestVersion"], version != .null {
            guard let number = version.lenientInteger else {
                throw APIError.invalid("manifestVersion", "Numeric field only")
            }
            guard number > 0 else { throw APIError.invalid("manifestVersion", "Minimum value 1") }
            let latest = try latestManifest(device.dtid, database)
            guard number <= latest else { throw APIError.invalid("manifestVersion", "Maximum value \(latest)") }
            device.manifestVersion = number
        }
        if let policy = body["manifestVersionPolicy"]?.text {
            guard Self.policies.contains(policy) else {
                throw APIError.invalid("manifestVersionPolicy", "Invalid rule")
            }
            device.policy = policy
        }
    }

    fileprivate func showDevice(_ call: Call) throws -> WebAnswer {
        let query = call.query
        let withProperties = try query.flag("properties") || query.flag("includeProperties")
        let device = try database.read { try self.device(call.place("did"), for: call.caller, .read, $0) }
        return .data(
            device.tree(dialect, withProperties: withProperties, isConnected: sockets.isConnected(device.id)))
    }

    fileprivate func changeDevice(_ call: Call) throws -> WebAnswer {
        let body = try call.object()
        let device = try database.write { database in
            var device = try self.device(call.place("did"), for: call.caller, .write, database)
            try merge(body, into: &device, database)
            try device.update(database)
            return device
        }
        tell(.deviceUpdated, of: device, by: call.caller)
        return .data(device.tree(dialect, withProperties: false))
    }

    fileprivate func removeDevice(_ call: Call) throws -> WebAnswer {
        let device = try database.write { database in
            let device = try self.device(call.place("did"), for: call.caller, .write, database)
            try database.execute(sql: "DELETE FROM token WHERE did = ?", arguments: [device.id])
            _ = try device.delete(database)
            return device
        }
        tell(.deviceDeleted, of: device, by: call.caller)
        return .data(device.tree(dialect, withProperties: false))
    }

    // MARK: - Device tokens

    private func tree(_ token: TokenRow) -> JSONTree {
        .members([
            "accessToken": .text(token.token), "uid": .text(token.uid), "did": .text(token.did),
            "cid": .text(token.aid),
        ])
    }

    private func token(of device: DeviceRow, _ database: Database) throws -> TokenRow {
        guard let token = try TokenRow.filter(sql: "did = ?", arguments: [device.id]).fetchOne(database) else {
            throw APIError.notFound
        }
        return token
    }

    fileprivate func deviceToken(_ call: Call) throws -> WebAnswer {
        try database.read { database in
            let device = try self.device(call.place("did"), for: call.caller, .read, database)
            return .data(tree(try token(of: device, database)))
        }
    }

    fileprivate func makeDeviceToken(_ call: Call) throws -> WebAnswer {
        try database.write { database in
            let device = try self.device(call.place("did"), for: call.caller, .write, database)
            try database.execute(sql: "DELETE FROM token WHERE did = ?", arguments: [device.id])
            let token = TokenRow(
                token: Identifier.make(), kind: "device", uid: device.uid, aid: call.caller.application,
                did: device.id, scope: "read,write", flow: "device")
            try token.insert(database)
            return .data(tree(token))
        }
    }

    fileprivate func removeDeviceToken(_ call: Call) throws -> WebAnswer {
        try database.write { database in
            let device = try self.device(call.place("did"), for: call.caller, .write, database)
            let token = try self.token(of: device, database)
            _ = try token.delete(database)
            return .data(tree(token))
        }
    }

    // MARK: - Presence

    fileprivate func presence(_ call: Call) throws -> WebAnswer {
        let device = try database.read { try self.device(call.place("did"), for: call.caller, .read, $0) }
        return .api([
            "sdid": .text(device.id),
            "data": .members([
                "connected": .truth(sockets.isConnected(device.id)), "lastSeenOn": .whole(device.lastSeenOn),
            ]),
        ])
    }

    fileprivate func status(_ device: DeviceRow, _ database: Database) throws -> JSONTree {
        let lastMessage = try Int64.fetchOne(
            database, sql: "SELECT max(ts) FROM message WHERE sdid = ?", arguments: [device.id])
        let lastAction = try Int64.fetchOne(
            database, sql: "SELECT max(ts) FROM action WHERE ddid = ?", arguments: [device.id])
        let word = device.status ?? (sockets.isConnected(device.id) ? "online" : "unknown")
        return [
            "did": .text(device.id),
            "data": .members([
                "lastMessageTs": .whole(lastMessage), "lastActionTs": .whole(lastAction),
                "lastTimeOnline": .whole(device.lastSeenOn), "availability": .text(word),
            ]),
        ]
    }

    fileprivate func statuses(_ call: Call) throws -> WebAnswer {
        let ids = call.query.list("dids")
        guard !ids.isEmpty else { throw APIError.required("dids") }
        guard ids.count <= 100 else { throw APIError.invalid("dids", "Maximum length 100") }
        return try database.read { database in
            let all = try ids.map { try status(try device($0, for: call.caller, .read, database), database) }
            return .api(["data": .list(all), "count": JSONTree(all.count)])
        }
    }

    fileprivate func setStatus(_ call: Call) throws -> WebAnswer {
        guard let word = try call.object()["availability"]?.text else { throw APIError.required("availability") }
        guard ["online", "offline", "unknown"].contains(word) else {
            throw APIError.invalid("availability", "Invalid rule")
        }
        let (device, answer) = try database.write { database in
            var device = try self.device(call.place("did"), for: call.caller, .write, database)
            device.status = word
            if word == "online" { device.lastSeenOn = now }
            try device.update(database)
            return (device, WebAnswer.api(try status(device, database)))
        }
        if word != "unknown" {
            tell(word == "online" ? .deviceOnline : .deviceOffline, of: device, by: call.caller)
        }
        return answer
    }
}
