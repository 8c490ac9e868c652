import GRDB
import Platform
import WebFaults

/// The storage of the service: a file that survives a kill at any time, or memory.
struct ExistState: Sendable {
    let queue: DatabaseQueue

    /// - Parameter path: a file, created if missing; `nil` for memory.
    init(path: String?) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        if let path {
            try PrivateFile.prepare(path)
            queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.inDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        } else {
            queue = try DatabaseQueue(configuration: configuration)
        }
        var migrator = DatabaseMigrator()
        migrator.registerMigration("first") { try $0.execute(sql: Self.schema) }
        try migrator.migrate(queue)
    }

    private static let schema = """
        CREATE TABLE user (
            name TEXT NOT NULL PRIMARY KEY, password TEXT NOT NULL, zone TEXT NOT NULL) STRICT;
        CREATE TABLE client (
            id TEXT NOT NULL PRIMARY KEY, secret TEXT NOT NULL, redirects TEXT NOT NULL, label TEXT NOT NULL) STRICT;
        CREATE TABLE code (
            code TEXT NOT NULL PRIMARY KEY, client TEXT NOT NULL REFERENCES client, user TEXT NOT NULL REFERENCES user,
            scopes TEXT NOT NULL, redirect TEXT NOT NULL, expires INTEGER NOT NULL) STRICT;
        -- A token without a client is a simple one: it reads, and never ends.
        CREATE TABLE token (
            access TEXT NOT NULL PRIMARY KEY, refresh TEXT UNIQUE, client TEXT REFERENCES client,
            user TEXT NOT NULL REFERENCES user, scopes TEXT NOT NULL, expires INTEGER) STRICT;
        CREATE TABLE attribute (
            id INTEGER NOT NULL PRIMARY KEY, user TEXT NOT NULL REFERENCES user, name TEXT NOT NULL, template TEXT,
            label TEXT NOT NULL, "group" TEXT NOT NULL, type INTEGER NOT NULL, manual INTEGER NOT NULL,
            active INTEGER NOT NULL, priority INTEGER NOT NULL, owner TEXT, UNIQUE (user, name)) STRICT;
        -- Which services say that they could provide an attribute.
        CREATE TABLE provider (
            attribute INTEGER NOT NULL REFERENCES attribute, service TEXT NOT NULL,
            PRIMARY KEY (attribute, service)) STRICT, WITHOUT ROWID;
        CREATE TABLE value (
            attribute INTEGER NOT NULL REFERENCES attribute, date TEXT NOT NULL, json TEXT NOT NULL,
            PRIMARY KEY (attribute, date)) STRICT, WITHOUT ROWID;
        CREATE TABLE call (
            number INTEGER NOT NULL PRIMARY KEY, time INTEGER NOT NULL, user TEXT, client TEXT, method TEXT NOT NULL,
            path TEXT NOT NULL, status INTEGER, fault TEXT, body TEXT) STRICT;
        CREATE INDEX call_limit ON call (user, client, time);
        """
}

/// An attribute of a user, in its stored form.
struct StoredExistAttribute: Sendable {
    let id: Int64
    let name: String
    let template: String?
    let label: String
    let group: String
    let type: ValueType
    let isManual: Bool
    let isActive: Bool
    let priority: Int
    let owner: String?

    init(_ row: Row) {
        (id, name, template, label) = (row["id"], row["name"], row["template"], row["label"])
        (group, type) = (row["group"], ValueType(rawValue: row["type"]) ?? .text)
        (isManual, isActive, priority, owner) = (row["manual"], row["active"], row["priority"], row["owner"])
    }

    static func find(_ name: String, of user: String, in database: Database) throws -> StoredExistAttribute? {
        try Row.fetchOne(database, sql: "SELECT * FROM attribute WHERE user = ? AND name = ?", arguments: [user, name])
            .map { StoredExistAttribute($0) }
    }

    static func all(of user: String, in database: Database) throws -> [StoredExistAttribute] {
        try Row.fetchAll(database, sql: "SELECT * FROM attribute WHERE user = ?", arguments: [user])
            .map { StoredExistAttribute($0) }
            .sorted {
                let (left, right) = (ExistGroup.byName[$0.group]?.priority, ExistGroup.byName[$1.group]?.priority)
                return (left ?? 99, $0.group, $0.priority, $0.name) < (right ?? 99, $1.group, $1.priority, $1.name)
            }
    }
}
