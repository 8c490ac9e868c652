import Foundation
import GRDB
import Samples
public import WebFaults

/// A user who exists from the start.
public struct ExistUser: Sendable {
    public var name, password, zone: String

    public init(_ name: String, password: String, zone: String) {
        (self.name, self.password, self.zone) = (name, password, zone)
    }
}

/// A program that was registered by its developer.
public struct ExistClient: Sendable {
    public var id, secret, label: String
    public var redirects: [String]

    public init(_ id: String, secret: String, label: String, redirects: [String]) {
        (self.id, self.secret, self.label, self.redirects) = (id, secret, label, redirects)
    }
}

// Control requests to the stand-in, below /control/ and before it listens.
extension SimulatedExist {
    /// Adds users and clients; existing ones are updated.
    public func register(_ users: [ExistUser], _ clients: [ExistClient]) throws {
        try state.queue.write { database in
            for user in users { try Self.add(user, in: database) }
            for client in clients {
                try database.execute(
                    sql: """
                        INSERT INTO client VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
                        secret = excluded.secret, redirects = excluded.redirects, label = excluded.label
                        """,
                    arguments: [client.id, client.secret, client.redirects.joined(separator: "\n"), client.label])
            }
        }
    }

    private static func add(_ user: ExistUser, in database: Database) throws {
        guard TimeZone(identifier: user.zone) != nil else {
            throw WebFaultsError(
                "user \(user.name): there is no zone '\(user.zone)'; expected one such as Europe/Berlin")
        }
        try database.execute(
            sql: """
                INSERT INTO user VALUES (?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET password = excluded.password, zone = excluded.zone
                """, arguments: [user.name, user.password, user.zone])
    }

    public func control(_ request: WebRequest) throws -> WebAnswer? {
        switch (request.method, request.path.dropFirst("/control/".count)) {
        case ("GET", "state"): return .json(try wholeState())
        case ("GET", "calls"): return .json(try diary(after: request.query("after").flatMap { Int64($0) } ?? 0))
        case ("GET", "switches"): return .json(switches().json)
        case ("PUT", "switches"):
            var new = switches()
            for member in request.json?.members ?? [] {
                try new.set(member.name, member.value.text ?? member.value.json)
            }
            switches.replace(new)
            return .json(new.json)
        case ("POST", let action):
            guard let order = request.json, order.members != nil else {
                throw WebFaultsError("expected a JSON object, such as {\"user\":\"mira\"}")
            }
            return try state.queue.write { try act(String(action), order, in: $0) }
        default: return nil
        }
    }

    private func act(_ action: String, _ order: JSONTree, in database: Database) throws -> WebAnswer? {
        func text(_ name: String) throws -> String {
            guard let text = order[name]?.text, !text.isEmpty else {
                throw WebFaultsError("\(action): \(name): expected a text")
            }
            return text
        }
        switch action {
        case "steal":
            try database.execute(
                sql: "UPDATE attribute SET owner = ? WHERE user = ? AND name = ?",
                arguments: [try text("to"), try text("user"), try text("attribute")])
            guard database.changesCount == 1 else { throw WebFaultsError("steal: there is no such attribute") }
        case "revoke": try database.execute(sql: "DELETE FROM token WHERE user = ?", arguments: [try text("user")])
        case "expire":
            try database.execute(
                sql: "UPDATE token SET expires = ? WHERE user = ? AND client IS NOT NULL",
                arguments: [clock.now(), try text("user")])
        case "users":
            try Self.add(
                ExistUser(try text("user"), password: try text("password"), zone: try text("zone")), in: database)
        case "zone":
            let password = try String.fetchOne(
                database, sql: "SELECT password FROM user WHERE name = ?", arguments: [try text("user")])
            guard let password else { throw WebFaultsError("zone: there is no such user") }
            try Self.add(ExistUser(try text("user"), password: password, zone: try text("zone")), in: database)
        case "personal-token":
            let all = ExistGroup.scopes.sorted().joined(separator: " ")
            let life = Int64(switches().tokenLife) * 1_000_000
            let (access, refresh) = try Self.insertToken(
                try text("client"), try text("user"), all, until: clock.now() + life, in: database)
            return .json(["access_token": .text(access), "refresh_token": .text(refresh)])
        default: return nil
        }
        return .json([:])
    }

    /// The users with their attributes and all values by date.
    private func wholeState() throws -> JSONTree {
        try state.queue.read { database in
            let users = try Row.fetchAll(database, sql: "SELECT name, zone FROM user ORDER BY rowid")
            return [
                "users": .list(
                    try users.map { row in
                        let name: String = row["name"]
                        let attributes = try StoredExistAttribute.all(of: name, in: database).map {
                            attribute -> JSONTree in
                            [
                                "name": .text(attribute.name), "label": .text(attribute.label),
                                "owner": JSONTree(attribute.owner), "active": .truth(attribute.isActive),
                                "values": .object(
                                    try values(of: attribute, in: database).map {
                                        .init($0.date, JSONTree(Array($0.json.utf8)) ?? nil)
                                    }),
                            ]
                        }
                        return ["name": .text(name), "zone": .text(row["zone"]), "attributes": .list(attributes)]
                    })
            ]
        }
    }

    func values(
        of attribute: StoredExistAttribute, in database: Database
    ) throws -> [(date: String, json: String)] {
        try Row.fetchAll(
            database, sql: "SELECT date, json FROM value WHERE attribute = ? ORDER BY date", arguments: [attribute.id]
        ).map { ($0["date"], $0["json"]) }
    }

    /// The log of all calls in order, with times of the stand-in's clock.
    private func diary(after number: Int64) throws -> JSONTree {
        try state.queue.read { database in
            .list(
                try Row.fetchAll(
                    database, sql: "SELECT * FROM call WHERE number > ? ORDER BY number", arguments: [number]
                )
                .map { row in
                    let (status, body): (Int?, String?) = (row["status"], row["body"])
                    let (number, time): (Int64, Int64) = (row["number"], row["time"])
                    return [
                        "number": .number("\(number)"), "time": .text(Timestamp(microseconds: time).text),
                        "user": JSONTree(row["user"] as String?), "client": JSONTree(row["client"] as String?),
                        "method": .text(row["method"]), "path": .text(row["path"]),
                        "status": status.map { JSONTree($0) } ?? nil, "fault": JSONTree(row["fault"] as String?),
                        "body": body.flatMap { JSONTree(Array($0.utf8)) } ?? nil,
                    ]
                })
        }
    }
}
