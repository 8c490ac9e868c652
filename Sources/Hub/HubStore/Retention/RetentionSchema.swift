import GRDB

/// The tables for accounting removed records, added in version 13 of the file format.
enum RetentionSchema {
    static let version13 = """
        -- How many of a stream's versions were removed.
        ALTER TABLE stream ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;

        -- What was removed in all: records, superseded versions, retractions among both, and departures.
        CREATE TABLE removed (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            records INTEGER NOT NULL DEFAULT 0,
            versions INTEGER NOT NULL DEFAULT 0,
            retractions INTEGER NOT NULL DEFAULT 0,
            departures INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO removed (id) VALUES (1);

        -- Samples whose statistics are kept already, and that are to be removed in this version.
        CREATE TABLE removal (
            number INTEGER PRIMARY KEY,
            seq INTEGER NOT NULL
        ) STRICT;
        """

    static let version14 = """
        -- What the hub's clock showed when it was last believed, and its rules were followed; NULL before that.
        ALTER TABLE meta ADD COLUMN clock INTEGER;
        """

    static let version16 = """
        -- The newest that was removed with its record: a retraction or departure, and any change after the first version. Who has asked since
        -- an older sequence cannot be told of it.
        ALTER TABLE removed ADD COLUMN last_taken INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE removed ADD COLUMN last_changed INTEGER NOT NULL DEFAULT 0;
        """

    static let version18 = """
        -- The same of each type, person (0: none) and source that a removed record ever had, instead of all together: what of that was removed
        -- concerns only who may read it and asks for it. `removed` has what was removed before.
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
