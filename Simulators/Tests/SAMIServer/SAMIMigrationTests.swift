import Foundation
import GRDB
import HubProcess
import Testing
import WebFaults

@testable import SAMIExchange

/// State files of earlier server versions.
@Suite struct SAMIMigrationTests {
    @Test func `A file of version 1 is migrated with all rows and remains usable`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/sami.sqlite"
        let before: [String: [String]]
        do {
            let old = try DatabaseQueue(path: path)
            before = try old.write { database in
                try database.execute(sql: Self.version1 + Self.rows)
                return try Self.all(database)
            }
            try old.close()
        }
        #expect(before.count == 14 && before.values.allSatisfy { !$0.isEmpty }, "a row of each table")
        #expect(chmod(path, 0o644) == 0)

        let bench = try SAMIBench { $0.state = path }
        var after = try bench.exchange.database.read { try Self.all($0) }
        #expect(
            after.removeValue(forKey: "deviceCode") == before["deviceCode"]?.map { $0 + "|NULL|5" },
            "a device that waits with a code has not asked yet, and asks every five seconds")
        #expect(after == before.filter { $0.key != "deviceCode" })
        for end in ["", "-wal", "-shm"] {
            let mode = try FileManager.default.attributesOfItem(atPath: path + end)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(path + end)")
        }

        #expect(try bench.call("GET", "/users/self", token: "t1")["data"]?["id"]?.text == "u1")
        #expect(try bench.call("GET", "/messages/last?sdids=d1&count=5", token: "t1")["size"]?.integer == 1)
        func poll(_ code: String) throws -> WebAnswer {
            try bench.send(
                "POST", "/token",
                form: [("grant_type", "device_code"), ("code", code), ("client_id", "a1"), ("client_secret", "s1")])
        }
        #expect(try poll("dc1").text == #"{"error":"authorization_pending"}"#)
        #expect(try poll("dc1").text == #"{"error":"slow_down"}"#)
        #expect(try poll("dc2").status == 200)
        #expect(try poll("dc3").text == #"{"error":"access_denied"}"#)
    }

    @Test func `Only the owner can read a new state file, which holds passwords and tokens`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/sami.sqlite"
        let bench = try SAMIBench { $0.state = path }
        _ = try bench.token()
        for end in ["", "-wal", "-shm"] {
            let mode = try FileManager.default.attributesOfItem(atPath: path + end)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(path + end)")
        }
    }

    /// All rows of all tables, with the columns in order.
    private static func all(_ database: Database) throws -> [String: [String]] {
        let tables = try String.fetchAll(
            database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'grdb_migrations'")
        return try Dictionary(
            uniqueKeysWithValues: tables.map { table in
                let rows = try Row.fetchAll(database, sql: "SELECT * FROM \"\(table)\" ORDER BY 1, 2")
                return (table, rows.map { row in row.databaseValues.map { "\($0)" }.joined(separator: "|") })
            })
    }

    // The schema of the program that wrote this version; do not change it.
    private static let version1 = """
            CREATE TABLE user (
                id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, email TEXT NOT NULL, fullName TEXT NOT NULL,
                identity TEXT NOT NULL, password TEXT NOT NULL, createdOn INTEGER NOT NULL, modifiedOn INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE application (
                id TEXT PRIMARY KEY, name TEXT NOT NULL, secret TEXT NOT NULL, redirect TEXT NOT NULL,
                grants TEXT NOT NULL, permissions TEXT NOT NULL
            ) STRICT;
            CREATE TABLE deviceType (
                id TEXT PRIMARY KEY, name TEXT NOT NULL, uniqueName TEXT NOT NULL, uid TEXT NOT NULL,
                description TEXT NOT NULL, rsp INTEGER NOT NULL, published INTEGER NOT NULL, lastUpdated INTEGER NOT NULL
            ) STRICT;
            CREATE INDEX deviceTypeByName ON deviceType (name);
            CREATE TABLE manifest (
                dtid TEXT NOT NULL REFERENCES deviceType (id), version INTEGER NOT NULL, properties TEXT NOT NULL,
                undeclared TEXT NOT NULL, PRIMARY KEY (dtid, version)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE device (
                number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, uid TEXT NOT NULL REFERENCES user (id),
                dtid TEXT NOT NULL REFERENCES deviceType (id), name TEXT NOT NULL, manifestVersion INTEGER NOT NULL,
                policy TEXT NOT NULL, needProviderAuth INTEGER NOT NULL, properties TEXT NOT NULL,
                createdOn INTEGER NOT NULL, lastSeenOn INTEGER, status TEXT
            ) STRICT;
            CREATE INDEX deviceByUser ON device (uid, number);
            CREATE TABLE token (
                token TEXT PRIMARY KEY, kind TEXT NOT NULL, uid TEXT, aid TEXT, did TEXT, scope TEXT NOT NULL,
                flow TEXT NOT NULL, expiresOn INTEGER, refresh TEXT UNIQUE, refreshExpiresOn INTEGER
            ) STRICT;
            CREATE INDEX tokenByDevice ON token (did) WHERE did IS NOT NULL;
            CREATE TABLE consent (
                uid TEXT NOT NULL, aid TEXT NOT NULL, PRIMARY KEY (uid, aid)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE code (
                code TEXT PRIMARY KEY, aid TEXT NOT NULL, uid TEXT NOT NULL, redirect TEXT NOT NULL, scope TEXT NOT NULL,
                challenge TEXT, expiresOn INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE deviceCode (
                code TEXT PRIMARY KEY, userCode TEXT NOT NULL UNIQUE, aid TEXT NOT NULL, uid TEXT, denied INTEGER NOT NULL,
                expiresOn INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE session (
                id TEXT PRIMARY KEY, uid TEXT NOT NULL, mark TEXT NOT NULL, expiresOn INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE appProperties (
                uid TEXT NOT NULL, aid TEXT NOT NULL, properties TEXT NOT NULL, PRIMARY KEY (uid, aid)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE message (
                number INTEGER PRIMARY KEY, mid TEXT NOT NULL UNIQUE, sdid TEXT NOT NULL, sdtid TEXT NOT NULL,
                uid TEXT NOT NULL, ts INTEGER NOT NULL, cts INTEGER NOT NULL, mv INTEGER NOT NULL, data TEXT NOT NULL,
                raw TEXT NOT NULL, visibleOn INTEGER NOT NULL
            ) STRICT;
            CREATE INDEX messageByTime ON message (sdid, ts, mid);
            CREATE TABLE action (
                number INTEGER PRIMARY KEY, mid TEXT NOT NULL UNIQUE, sdid TEXT, ddid TEXT NOT NULL, ddtid TEXT NOT NULL,
                uid TEXT NOT NULL, ts INTEGER NOT NULL, cts INTEGER NOT NULL, mv INTEGER NOT NULL, data TEXT NOT NULL
            ) STRICT;
            CREATE INDEX actionByTime ON action (ddid, ts, mid);
            CREATE TABLE export (
                number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, uid TEXT NOT NULL, aid TEXT, request TEXT NOT NULL,
                status TEXT NOT NULL, md5 TEXT NOT NULL, messages INTEGER NOT NULL, requestedOn INTEGER NOT NULL,
                expiresOn INTEGER NOT NULL, archive BLOB NOT NULL
            ) STRICT;

        """

    private static let rows = """
        INSERT INTO user VALUES ('u1', 'ada', 'ada@example.org', 'Ada Example', 'sa1', 'withings', 1700000000000, 1700000000001);
        INSERT INTO application VALUES ('a1', 'Health hub', 's1', 'http://127.0.0.1:8737/', 'token,code,device_code', '{"*":"read,write"}');
        INSERT INTO deviceType VALUES ('dt1', 'Withings Device', 'withings', 'u1', 'A scale.', 0, 1, 1700000000002);
        INSERT INTO manifest VALUES ('dt1', 1, '{"fields":{"weight":{"type":"Double","unit":"kg"}}}', '{}');
        INSERT INTO device VALUES (7, 'd1', 'u1', 'dt1', 'Bathroom scale', 1, 'LATEST', 0, '{}', 1700000000003, NULL, NULL);
        INSERT INTO token VALUES ('t1', 'user', 'u1', 'a1', NULL, 'read,write', 'token', 1800000000000, 'r1', 1801209600000);
        INSERT INTO token VALUES ('t2', 'device', 'u1', NULL, 'd1', 'read,write', 'device', NULL, NULL, NULL);
        INSERT INTO consent VALUES ('u1', 'a1');
        INSERT INTO code VALUES ('c1', 'a1', 'u1', 'http://127.0.0.1:8737/', 'read,write', NULL, 1800000000000);
        INSERT INTO deviceCode VALUES ('dc1', 'WAITING1', 'a1', NULL, 0, 1800000000000);
        INSERT INTO deviceCode VALUES ('dc2', 'ALLOWED2', 'a1', 'u1', 0, 1800000000000);
        INSERT INTO deviceCode VALUES ('dc3', 'DENIED33', 'a1', NULL, 1, 1800000000000);
        INSERT INTO session VALUES ('s1', 'u1', 'm1', 1800000000000);
        INSERT INTO appProperties VALUES ('u1', 'a1', '{"colour":"blue"}');
        INSERT INTO message VALUES (1, 'm1', 'd1', 'dt1', 'u1', 1750000000000, 1750000000100, 1, '{"weight":81.4}', '{"weight":81.4}', 1750000000000);
        INSERT INTO action VALUES (1, 'x1', NULL, 'd1', 'dt1', 'u1', 1750000000000, 1750000000100, 1, '{"actions":[]}');
        INSERT INTO export VALUES (1, 'e1', 'u1', 'a1', '{}', 'Success', '0cc175b9c0f1b6a831c399e269772661', 1, 1750000000000, 1800000000000, x'61');
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO grdb_migrations VALUES ('1');
        """
}
