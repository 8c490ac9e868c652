import GRDB
public import WebFaults

/// Control requests of tests and people to the exchange itself, below `/control/`.
extension Exchange {
    public func control(_ request: WebRequest) throws -> WebAnswer? {
        do {
            switch (request.method, request.path.dropFirst("/control/".count)) {
            case ("GET", "state"): return .json(try database.read { try state($0) })
            case ("POST", "users"): return .json(try database.write { try addUser(try body(request), $0) })
            case ("POST", "applications"):
                return .json(try database.write { try addApplication(try body(request), $0) })
            case ("POST", "devicetypes"): return .json(try database.write { try addDeviceType(try body(request), $0) })
            case ("POST", "tokens"): return .json(try database.write { try addToken(try body(request), $0) })
            case ("POST", "history"): return .json(try database.write { try addHistory(try body(request), $0) })
            case ("DELETE", "tokens"):
                // The tokens expire now, and can be renewed.
                try database.write {
                    try $0.execute(sql: "UPDATE token SET expiresOn = ? WHERE kind = 'user'", arguments: [now - 1])
                }
                return .json(["expired": true])
            case ("DELETE", "sockets"):
                sockets.cutAll()
                return .json(["cut": true])
            case ("PUT", "limits"):
                guard let isOn = request.json?.truth else { throw WebFaultsError("limits: expected true or false") }
                limits.isOn = isOn
                return .json(["limits": .truth(isOn)])
            default: return nil
            }
        } catch let error as APIError {
            throw WebFaultsError("\(error.message): \(error.tree.json)")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            throw WebFaultsError(
                "it exists already, or refers to something that does not exist: \(error.message ?? "")")
        }
    }

    private func body(_ request: WebRequest) throws -> JSONTree {
        guard let tree = request.json, tree.members != nil else { throw WebFaultsError("expected a JSON object") }
        return tree
    }

    private func text(_ name: String, _ tree: JSONTree) throws -> String {
        guard let text = tree[name]?.text, !text.isEmpty else { throw WebFaultsError("\(name): expected text") }
        return text
    }

    private func state(_ database: Database) throws -> JSONTree {
        var counts: [JSONTree.Member] = []
        for table in ["user", "application", "deviceType", "device", "token", "message", "action"] {
            counts.append(.init(table, JSONTree(try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? 0)))
        }
        return [
            "dialect": .text(dialect.name), "limits": .truth(limits.isOn), "sockets": JSONTree(sockets.count),
            "counts": .object(counts),
        ]
    }

    private func addUser(_ tree: JSONTree, _ database: Database) throws -> JSONTree {
        let name = try text("name", tree)
        let user = UserRow(
            id: tree["id"]?.text ?? Identifier.make(), name: name, email: tree["email"]?.text ?? "\(name)@example.org",
            fullName: tree["fullName"]?.text ?? name, identity: "sa-\(name)", password: try text("password", tree),
            createdOn: now, modifiedOn: now)
        try user.insert(database)
        return ["id": .text(user.id)]
    }

    private func addApplication(_ tree: JSONTree, _ database: Database) throws -> JSONTree {
        let application = ApplicationRow(
            id: tree["id"]?.text ?? Identifier.make(), name: try text("name", tree),
            secret: tree["secret"]?.text ?? Identifier.make(), redirect: try text("redirect", tree),
            grants: tree["grants"]?.text ?? "token,code,client_credentials",
            permissions: (tree["permissions"] ?? ["*": "read,write"]).json)
        try application.insert(database)
        return ["id": .text(application.id), "secret": .text(application.secret)]
    }

    private func addDeviceType(_ tree: JSONTree, _ database: Database) throws -> JSONTree {
        let properties = tree["properties"] ?? [:]
        if let complaint = ExchangeManifest.complaint(about: properties) {
            throw WebFaultsError("properties: \(complaint)")
        }
        let undeclared = tree["undeclared"] ?? [:]
        // An existing id gets the next version of its manifest.
        if let id = tree["id"]?.text, try DeviceTypeRow.exists(database, key: id) {
            let version = try insertManifest(id, properties: properties, undeclared: undeclared, database)
            return ["id": .text(id), "version": .whole(version)]
        }
        let name = try text("name", tree)
        let type = DeviceTypeRow(
            id: tree["id"]?.text ?? "dt" + Identifier.make(), name: name, uniqueName: tree["uniqueName"]?.text ?? name,
            uid: tree["uid"]?.text ?? Fixtures.user, description: tree["description"]?.text ?? "",
            rsp: tree["rsp"]?.truth ?? false, published: tree["published"]?.truth ?? true, lastUpdated: now)
        try insert(type, properties: properties, undeclared: undeclared, database)
        return ["id": .text(type.id), "version": 1]
    }

    /// Creates a user's token without a browser.
    private func addToken(_ tree: JSONTree, _ database: Database) throws -> JSONTree {
        let name = tree["user"]?.text ?? Fixtures.user
        let user = try UserRow.filter(sql: "id = ? OR name = ?", arguments: [name, name]).fetchOne(database)
        guard let user else { throw WebFaultsError("user: there is no \(name)") }
        let aid = tree["application"]?.text ?? Fixtures.application
        guard try ApplicationRow.exists(database, key: aid) else {
            throw WebFaultsError("application: there is no \(aid)")
        }
        let row = try userToken(
            user.id, aid, scope: tree["scope"]?.text ?? "read,write", flow: "token", database)
        return .members([
            "access_token": .text(row.token), "refresh_token": .text(row.refresh),
            "expires_in": .whole(seconds(left: row)),
        ])
    }

    private func addHistory(_ tree: JSONTree, _ database: Database) throws -> JSONTree {
        guard let count = tree["count"]?.integer, (1...1_000_000).contains(count) else {
            throw WebFaultsError("count: expected 1 to 1000000")
        }
        let (end, step) = (tree["until"]?.lenientInteger ?? now, tree["step"]?.lenientInteger ?? 3_600_000)
        guard (0...10_000_000_000_000).contains(end) else {
            throw WebFaultsError("until: expected 0 to 10000000000000 milliseconds since 1970")
        }
        guard (1...100_000_000_000).contains(step) else {
            throw WebFaultsError("step: expected 1 to 100000000000 milliseconds")
        }
        try invent(count, sdid: tree["sdid"]?.text ?? Fixtures.scale, until: end, step: step, database)
        return ["count": JSONTree(count)]
    }
}
