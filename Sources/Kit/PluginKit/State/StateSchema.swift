import GRDB

/// The tables of `state.db` and their migrations.
///
/// `user_version` is the number of migrations that were applied. A released migration is never edited; a change is a
/// new one at the end.
enum StateSchema {
    /// "HHps": distinguishes a plugin's state from other SQLite files.
    static let applicationID: Int32 = 0x4848_7073

    static let migrations: [String] = [
        """
        CREATE TABLE state (
            key TEXT NOT NULL PRIMARY KEY,
            value ANY NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE spool (
            id INTEGER NOT NULL PRIMARY KEY,
            groupID INTEGER NOT NULL CHECK (groupID <= id),
            body BLOB NOT NULL
        ) STRICT;

        CREATE TABLE refused (
            id INTEGER NOT NULL PRIMARY KEY,
            groupID INTEGER NOT NULL CHECK (groupID <= id),
            body BLOB NOT NULL,
            code TEXT NOT NULL,
            reason TEXT NOT NULL,
            time INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE counters (
            one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
            spooled INTEGER NOT NULL,
            stored INTEGER NOT NULL CHECK (stored >= 0),
            duplicate INTEGER NOT NULL CHECK (duplicate >= 0),
            pending INTEGER NOT NULL CHECK (pending >= 0),
            refused INTEGER NOT NULL CHECK (refused >= 0),
            dropped INTEGER NOT NULL CHECK (dropped >= 0),
            cleared INTEGER NOT NULL CHECK (cleared >= 0),
            requeued INTEGER NOT NULL CHECK (requeued >= 0),
            pendingBytes INTEGER NOT NULL CHECK (pendingBytes >= 0),
            refusedBytes INTEGER NOT NULL CHECK (refusedBytes >= 0),
            lastID INTEGER NOT NULL,
            CHECK (spooled = stored + duplicate + pending + refused + dropped + cleared)
        ) STRICT;

        INSERT INTO counters VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        """
    ]

    /// Migrates the file to the current schema, or refuses it without changing it.
    static func prepare(_ database: Database, path: String, limits: PluginState.Limits) throws {
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let application = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let tables = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM sqlite_schema") ?? 0
        guard application == applicationID || (application == 0 && version == 0 && tables == 0) else {
            throw PluginStateError(
                .corrupt,
                "opening the plugin's state failed: \(path) is an SQLite file of another program; "
                    + "move it away, or give the plugin a separate directory")
        }
        guard version <= migrations.count else {
            throw PluginStateError(
                .newerSchema,
                "opening the plugin's state failed: \(path) has schema \(version), and this version of the plugin knows "
                    + "schemas up to \(migrations.count); install the newer version again")
        }
        // FULL: a commit is on the disk when it returns. GRDB's WAL set-up would choose NORMAL.
        guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
            throw PluginStateError(
                .io,
                "opening the plugin's state failed: SQLite cannot keep a write-ahead log beside \(path); "
                    + "put the directory on a local file system")
        }
        try database.execute(sql: "PRAGMA synchronous = FULL")
        // Data that the hub has, and may erase, must not stay in free pages. Some systems' SQLite does this by default.
        try database.execute(sql: "PRAGMA secure_delete = ON")
        // Truncate the log after a burst instead of keeping its largest size.
        try database.execute(sql: "PRAGMA journal_size_limit = 4194304")
        let pageSize = try Int64.fetchOne(database, sql: "PRAGMA page_size") ?? 4096
        try database.execute(sql: "PRAGMA max_page_count = \(max(1, limits.fileBytes / pageSize))")

        for number in version..<migrations.count {
            try database.inTransaction(.immediate) {
                try database.execute(sql: migrations[number])
                try database.execute(sql: "PRAGMA application_id = \(applicationID)")
                try database.execute(sql: "PRAGMA user_version = \(number + 1)")
                return .commit
            }
        }
        try checkCounters(database, path: path)
    }

    /// Checks that the counters agree with the rows, because the counters decide whether the spool is full.
    private static func checkCounters(_ database: Database, path: String) throws {
        let agree = try Bool.fetchOne(
            database,
            sql: """
                SELECT (pending, pendingBytes) = (SELECT COUNT(*), IFNULL(SUM(LENGTH(body)), 0) FROM spool)
                   AND (refused, refusedBytes) = (SELECT COUNT(*), IFNULL(SUM(LENGTH(body)), 0) FROM refused)
                   AND lastID >= (SELECT IFNULL(MAX(id), 0) FROM spool)
                FROM counters
                """)
        guard agree == true else {
            throw PluginStateError(
                .corrupt,
                "opening the plugin's state failed: the counters in \(path) disagree with its rows; "
                    + "keep a copy of the directory, then restore it from a backup or move it away to start empty")
        }
    }
}
