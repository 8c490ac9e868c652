import GRDB

/// The tables for accounting removed records, added in version 13 of the file format.
enum RetentionSchema {
    static let version13 = """
        -- The number of a stream's removed versions.
        ALTER TABLE stream ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;

        -- Totals of removed records, superseded versions, retractions among both, and departures.
        CREATE TABLE removed (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            records INTEGER NOT NULL DEFAULT 0,
            versions INTEGER NOT NULL DEFAULT 0,
            retractions INTEGER NOT NULL DEFAULT 0,
            departures INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO removed (id) VALUES (1);

        -- Samples whose statistics are kept already; this version of each is to be removed.
        CREATE TABLE removal (
            number INTEGER PRIMARY KEY,
            seq INTEGER NOT NULL
        ) STRICT;
        """

    static let version14 = """
        -- The hub's time when its clock was last trusted and its rules were applied; NULL before that.
        ALTER TABLE meta ADD COLUMN clock INTEGER;
        """

    static let version16 = """
        -- The newest sequences removed with their records: of a retraction or departure, and of any change after the first version.
        -- A query since an older sequence cannot return them.
        ALTER TABLE removed ADD COLUMN last_taken INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE removed ADD COLUMN last_changed INTEGER NOT NULL DEFAULT 0;
        """

    static let version18 = """
        -- The same for each type, person (0: none) and source that a removed record ever had: a removal concerns only queries that
        -- may read the record and ask for it. `removed` covers removals before this step.
        CREATE TABLE removed_of (
            type INTEGER NOT NULL,
            person INTEGER NOT NULL,
            source INTEGER NOT NULL,
            last_taken INTEGER NOT NULL,
            last_changed INTEGER NOT NULL,
            -- When the last of these records ended, in microseconds since 1970.
            ended INTEGER NOT NULL,
            PRIMARY KEY (type, person, source)
        ) STRICT, WITHOUT ROWID;
        """

    /// The number of removed records; 0 for a file of an older format.
    static func removedRecords(in db: Database) throws -> Int64 {
        guard try db.tableExists("removed") else { return 0 }
        return try Int64.fetchOne(db, sql: "SELECT records FROM removed") ?? 0
    }
}
