import GRDB
import WebFaults

/// A person with an account.
struct UserRow: Codable, FetchableRecord, PersistableRecord, Sendable {
    static let databaseTableName = "user"
    var id, name, email, fullName, identity, password: String
    var createdOn, modifiedOn: Int64

    func tree(_ dialect: Dialect) -> JSONTree {
        // SAMI counted these in seconds, contrary to its documentation; ARTIK Cloud in milliseconds.
        let unit: Int64 = dialect.isLater ? 1 : 1000
        return .members([
            "id": .text(id), "name": .text(name), "email": .text(email), "fullName": .text(fullName),
            "saIdentity": dialect.isLater ? nil : .text(identity), "createdOn": .whole(createdOn / unit),
            "modifiedOn": .whole(modifiedOn / unit),
        ])
    }
}

struct ApplicationRow: Codable, FetchableRecord, PersistableRecord, Sendable {
    static let databaseTableName = "application"
    var id, name, secret, redirect: String
    /// A comma-separated list of `code`, `token`, `client_credentials` and `device_code`.
    var grants: String
    /// A JSON object: device type id, or `*`, to `read`, `write` or `read,write`.
    var permissions: String

    func mayUse(_ grant: String) -> Bool { grants.split(separator: ",").contains { $0 == grant } }

    /// Rights by device type id.
    var rights: [String: String] {
        Dictionary(
            (JSONTree.written(permissions).members ?? []).map { ($0.name, $0.value.text ?? "") },
            uniquingKeysWith: { first, _ in first })
    }
}

struct DeviceTypeRow: Codable, FetchableRecord, PersistableRecord, Sendable {
    static let databaseTableName = "deviceType"
    var id, name, uniqueName, uid, description: String
    var rsp, published: Bool
    var lastUpdated: Int64

    func tree(latest: Int64, isOwn: Bool, _ dialect: Dialect) -> JSONTree {
        let tree: JSONTree = [
            "id": .text(id), "uid": .text(uid), "name": .text(name), "uniqueName": .text(uniqueName),
            "published": .truth(published), "approved": true, "latestVersion": .whole(latest), "vid": "0",
            "rsp": .truth(rsp), "description": .text(description),
        ]
        guard dialect.isLater else { return tree }
        return tree.with([
            "hasCloudConnector": false, "inStore": .truth(published), "ownedByCurrentUser": .truth(isOwn),
            "protected": false, "lastUpdated": .whole(lastUpdated), "tags": [],
        ])
    }
}

struct DeviceRow: Codable, FetchableRecord, MutablePersistableRecord, Sendable {
    static let databaseTableName = "device"
    var number: Int64?
    var id, uid, dtid, name: String
    var manifestVersion: Int64
    var policy: String
    var needProviderAuth: Bool
    var properties: String
    var createdOn: Int64
    var lastSeenOn: Int64?
    var status: String?

    mutating func didInsert(_ inserted: InsertionSuccess) { number = inserted.rowID }

    /// - Parameter isListed: whether the device is part of a list, in which SAMI omitted the owner.
    func tree(
        _ dialect: Dialect, withProperties: Bool, isListed: Bool = false, isConnected: Bool = false
    ) -> JSONTree {
        let tree = JSONTree.members([
            "id": .text(id), "uid": isListed && !dialect.isLater ? nil : .text(uid), "dtid": .text(dtid),
            "name": .text(name), "manifestVersion": .whole(manifestVersion),
            "manifestVersionPolicy": .text(policy), "needProviderAuth": .truth(needProviderAuth),
            "properties": withProperties ? .written(properties) : nil,
        ])
        guard dialect.isLater else { return tree }
        return tree.with([
            "createdOn": .whole(createdOn), "connected": .truth(isConnected),
            "cloudAuthorization": needProviderAuth ? "UNAUTHORIZED" : "NO_AUTHORIZATION",
        ])
    }
}

struct TokenRow: Codable, FetchableRecord, PersistableRecord, Sendable {
    static let databaseTableName = "token"
    var token: String
    /// `user`, `application` or `device`.
    var kind: String
    var uid, aid, did: String?
    var scope: String
    /// The grant that produced it: `code` and `token` are refreshed in different ways.
    var flow: String
    var expiresOn: Int64?
    var refresh: String?
    var refreshExpiresOn: Int64?
}

struct MessageRow: Codable, FetchableRecord, MutablePersistableRecord, Sendable {
    static let databaseTableName = "message"
    var number: Int64?
    var mid, sdid, sdtid, uid: String
    var ts, cts, mv: Int64
    /// The normalised fields, and the posted text.
    var data, raw: String
    /// The time from which `/messages` shows it.
    var visibleOn: Int64

    mutating func didInsert(_ inserted: InsertionSuccess) { number = inserted.rowID }

    /// The JSON text: a page has a thousand of them, and their data is already JSON.
    var text: String {
        """
        {"mid":\(JSONTree.text(mid).json),"data":\(data),"ts":\(ts),"cts":\(cts),"sdid":\(JSONTree.text(sdid).json),\
        "sdtid":\(JSONTree.text(sdtid).json),"uid":\(JSONTree.text(uid).json),"mv":\(mv)}
        """
    }

    /// The JSON before normalisation: the payload as a string (reference §5.8).
    var rawText: String {
        let tree: JSONTree = [
            "mid": .text(mid), "data": .text(raw), "ts": .whole(ts), "cts": .whole(cts), "sdid": .text(sdid),
        ]
        return tree.json
    }
}

struct ActionRow: Codable, FetchableRecord, MutablePersistableRecord, Sendable {
    static let databaseTableName = "action"
    var number: Int64?
    var mid: String
    var sdid: String?
    var ddid, ddtid, uid: String
    var ts, cts, mv: Int64
    var data: String

    mutating func didInsert(_ inserted: InsertionSuccess) { number = inserted.rowID }

    var tree: JSONTree {
        .members([
            "mid": .text(mid), "data": .written(data), "ts": .whole(ts), "cts": .whole(cts), "sdid": .text(sdid),
            "ddid": .text(ddid), "ddtid": .text(ddtid), "uid": .text(uid), "mv": .whole(mv),
        ])
    }

    /// The frame for the socket of its destination.
    var frame: String { tree.with(["type": "action"]).json }
}
