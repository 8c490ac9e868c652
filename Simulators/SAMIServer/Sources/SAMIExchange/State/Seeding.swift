import GRDB
import WebFaults

extension Exchange {
    /// Fills a new state file, so that the article's walk-through works immediately.
    func seed(_ database: Database) throws {
        guard try UserRow.fetchCount(database) == 0 else {
            if let redirect = options.redirect {
                try database.execute(
                    sql: "UPDATE application SET redirect = ? WHERE id = ?",
                    arguments: [redirect, Fixtures.application])
            }
            return
        }
        try UserRow(
            id: Fixtures.user, name: Fixtures.userName, email: "ada@example.org", fullName: "Ada Example",
            identity: "sa000001", password: Fixtures.password, createdOn: now, modifiedOn: now
        ).insert(database)
        try ApplicationRow(
            id: Fixtures.application, name: "Health hub", secret: Fixtures.secret,
            redirect: options.redirect ?? Fixtures.redirect,
            grants: "token,code,client_credentials,device_code", permissions: #"{"*":"read,write"}"#
        ).insert(database)
        for type in Fixtures.deviceTypes {
            try insert(
                DeviceTypeRow(
                    id: type.id, name: type.name, uniqueName: type.uniqueName, uid: Fixtures.user,
                    description: type.description, rsp: false, published: true, lastUpdated: now),
                properties: type.properties, undeclared: type.undeclared, database)
        }
        var scale = DeviceRow(
            id: Fixtures.scale, uid: Fixtures.user, dtid: Fixtures.withings, name: "Bathroom scale",
            manifestVersion: 1, policy: "LATEST", needProviderAuth: false, properties: "{}", createdOn: now)
        try scale.insert(database)
    }

    /// Inserts a device type with the first version of its manifest.
    func insert(
        _ type: DeviceTypeRow, properties: JSONTree, undeclared: JSONTree, _ database: Database
    ) throws {
        try type.insert(database)
        try insertManifest(type.id, properties: properties, undeclared: undeclared, database)
    }

    /// Inserts the next version of a manifest.
    @discardableResult
    func insertManifest(
        _ dtid: String, properties: JSONTree, undeclared: JSONTree, _ database: Database
    ) throws -> Int64 {
        let version = try latestManifest(dtid, database) + 1
        try database.execute(
            sql: "INSERT INTO manifest (dtid, version, properties, undeclared) VALUES (?, ?, ?, ?)",
            arguments: [dtid, version, properties.json, undeclared.json])
        return version
    }

    /// Invented weighings of a Withings scale, one every `step` milliseconds up to `end`; every tenth message has no weight.
    func invent(_ count: Int, sdid: String, until end: Int64, step: Int64, _ database: Database) throws {
        guard let device = try DeviceRow.filter(sql: "id = ?", arguments: [sdid]).fetchOne(database) else {
            throw APIError.notFound
        }
        let version = try latestManifest(device.dtid, database)
        for number in 0..<count {
            let time = end - Int64(count - 1 - number) * step
            let data =
                number % 10 == 9
                ? #"{"groupId":\#(number),"category":1,"attrib":0,"height":1.72}"#
                : #"{"groupId":\#(number),"category":1,"attrib":0,"weight":\#(Self.weight(number))}"#
            var message = MessageRow(
                mid: Identifier.make(), sdid: sdid, sdtid: device.dtid, uid: device.uid, ts: time, cts: time + 100,
                mv: version, data: data, raw: data, visibleOn: time)
            try message.insert(database)
        }
    }

    /// Adds `count` invented messages of the first scale, one for each hour up to now.
    public func invent(_ count: Int) throws {
        try database.write { try invent(count, sdid: Fixtures.scale, until: now, step: 3_600_000, $0) }
    }

    /// A weight from 78.0 to 82.9, always the same for the same number.
    private static func weight(_ number: Int) -> String {
        let tenths = 780 + (number &* 7919) % 50
        return "\(tenths / 10).\(tenths % 10)"
    }
}
