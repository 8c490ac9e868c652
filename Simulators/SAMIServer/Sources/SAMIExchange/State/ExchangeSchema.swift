import GRDB

/// The tables of a state file.
enum ExchangeSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(sql: version1)
        }
        migrator.registerMigration("2") { database in
            // The last request of a device without a browser, and the number of seconds it has to wait.
            try database.execute(
                sql: """
                    ALTER TABLE deviceCode ADD COLUMN askedOn INTEGER;
                    ALTER TABLE deviceCode ADD COLUMN interval INTEGER NOT NULL DEFAULT 5;
                    """)
        }
        return migrator
    }

    // Times are milliseconds since 1970. Objects whose members are never queried are stored as JSON.
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
}
