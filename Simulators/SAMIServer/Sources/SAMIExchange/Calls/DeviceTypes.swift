import GRDB
import WebFaults

extension Route {
    static let deviceTypeRoutes = [
        Route("GET devicetypes") { try $0.deviceTypes($1) },
        Route("GET devicetypes/{dtid}") { try $0.deviceType($1) },
        Route("GET devicetypes/{dtid}/manifests/{version}/properties") { try $0.manifestProperties($1) },
        Route("GET devicetypes/{dtid}/availablemanifestversions") { try $0.manifestVersions($1) },
        Route("GET applications/{aid}/devicetypes") { try $0.deviceTypes(ofApplication: $1) },
    ]
}

extension Exchange {
    /// Whether a type is published to all, or belongs to the caller.
    private func isVisible(_ type: DeviceTypeRow, to caller: Caller) -> Bool {
        type.published || type.uid == caller.user
    }

    private func page(
        _ types: [DeviceTypeRow], _ call: Call, _ database: Database
    ) throws -> WebAnswer {
        let page = try call.query.page()
        let items = try types.dropFirst(page.offset).prefix(page.count).map {
            $0.tree(
                latest: try latestManifest($0.id, database), isOwn: $0.uid == call.caller.user, dialect)
        }
        return page.envelope("deviceTypes", items, total: types.count)
    }

    fileprivate func deviceTypes(_ call: Call) throws -> WebAnswer {
        let name = try call.query.text("name")
        return try database.read { database in
            var types = try DeviceTypeRow.filter(sql: "name = ?", arguments: [name]).order(sql: "rowid")
                .fetchAll(database)
            if types.isEmpty, options.findsByPrefix {
                types = try DeviceTypeRow.order(sql: "rowid").fetchAll(database).filter { $0.name.hasPrefix(name) }
            }
            return try page(types.filter { isVisible($0, to: call.caller) }, call, database)
        }
    }

    /// The device types that the application may read or write.
    fileprivate func deviceTypes(ofApplication call: Call) throws -> WebAnswer {
        guard call.caller.application == call.place("aid") else {
            throw APIError.forbidden("this is another application")
        }
        return try database.read { database in
            let types = try DeviceTypeRow.order(sql: "rowid").fetchAll(database)
            return try page(
                types.filter { call.caller.may(.read, $0.id) || call.caller.may(.write, $0.id) }, call, database)
        }
    }

    private func visibleType(_ call: Call, _ database: Database) throws -> DeviceTypeRow {
        guard let type = try DeviceTypeRow.fetchOne(database, key: call.place("dtid")),
            isVisible(type, to: call.caller)
        else { throw APIError.noDeviceType }
        return type
    }

    fileprivate func deviceType(_ call: Call) throws -> WebAnswer {
        try database.read { database in
            let type = try visibleType(call, database)
            return .data(
                type.tree(
                    latest: try latestManifest(type.id, database), isOwn: type.uid == call.caller.user, dialect))
        }
    }

    fileprivate func manifestProperties(_ call: Call) throws -> WebAnswer {
        try database.read { database in
            let type = try visibleType(call, database)
            let word = call.place("version")
            guard let version = word == "latest" ? try latestManifest(type.id, database) : Int64(word) else {
                throw APIError.invalid("version", "Numeric field only")
            }
            guard let found = try manifest(type.id, version: version, database) else { throw APIError.notFound }
            return .api(text: #"{"data":{"properties":\#(found.properties),"version":\#(version)}}"#)
        }
    }

    fileprivate func manifestVersions(_ call: Call) throws -> WebAnswer {
        try database.read { database in
            let type = try visibleType(call, database)
            let versions = try Int64.fetchAll(
                database, sql: "SELECT version FROM manifest WHERE dtid = ? ORDER BY version", arguments: [type.id])
            return .data(["versions": .list(versions.map { .whole($0) })])
        }
    }
}
