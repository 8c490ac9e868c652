import GRDB

/// The file format, as numbered migrations.
///
/// A released migration is never edited; each change is a new migration.
enum StoreSchema {
    /// The application id in the file header: `HHub`.
    static let applicationID: Int32 = 0x4848_7562

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in try db.execute(sql: version1) }
        migrator.registerMigration("v2") { db in try db.execute(sql: LedgerSchema.version2) }
        migrator.registerMigration("v3") { db in try db.execute(sql: ManualSchema.version3) }
        migrator.registerMigration("v4") { db in try db.execute(sql: PeopleSchema.version4) }
        migrator.registerMigration("v5") { db in try db.execute(sql: ManualSchema.version5) }
        migrator.registerMigration("v6") { db in try db.execute(sql: LedgerSchema.version6) }
        migrator.registerMigration("v7") { db in try db.execute(sql: version7) }
        migrator.registerMigration("v8") { db in try db.execute(sql: version8) }
        migrator.registerMigration("v9") { db in try db.execute(sql: SequenceGap.version9) }
        migrator.registerMigration("v10") { db in try db.execute(sql: BoundsSchema.version10) }
        migrator.registerMigration(ErasureSchema.name) { db in try db.execute(sql: ErasureSchema.version11) }
        migrator.registerMigration("v13") { db in try db.execute(sql: RetentionSchema.version13) }
        migrator.registerMigration("v14") { db in
            try db.execute(sql: ErasureSchema.version14)
            try db.execute(sql: RetentionSchema.version14)
        }
        migrator.registerMigration("v15") { db in try db.execute(sql: RollupSchema.version15) }
        migrator.registerMigration("v16") { db in try db.execute(sql: RetentionSchema.version16) }
        migrator.registerMigration("v18") { db in try db.execute(sql: RetentionSchema.version18) }
        migrator.registerMigration("v19") { db in try db.execute(sql: version19) }
        migrator.registerMigration("v20") { db in try db.execute(sql: ManualSchema.version20) }
        return migrator
    }

    /// Stores repeated metadata, such as the name of a watch, as a term like units and zones.
    ///
    /// A watch sends it with a million samples.
    private static let version19 = """
        ALTER TABLE sample ADD COLUMN shared_metadata INTEGER REFERENCES term (id);
        ALTER TABLE sample_version ADD COLUMN shared_metadata INTEGER REFERENCES term (id);
        """

    private static let version7 = """
        -- The implausible members of the sample (the bits of `SampleMembers`). Samples stored earlier are not checked.
        ALTER TABLE sample ADD COLUMN implausible INTEGER CHECK (implausible BETWEEN 1 AND 255);
        ALTER TABLE sample_version ADD COLUMN implausible INTEGER CHECK (implausible BETWEEN 1 AND 255);
        CREATE INDEX sample_implausible ON sample (number) WHERE implausible IS NOT NULL;
        """

    /// Counts a day's retraction in the stream of its series, on whose topic it is published, instead of that of its plugin.
    private static let version8 = """
        CREATE TEMP TABLE counted AS
            WITH version (type, person, source, seq) AS (
                SELECT type, person, source, seq FROM sample WHERE retracted IS NOT NULL
                UNION ALL SELECT type, person, source, seq FROM sample_version
                    WHERE retracted IS NOT NULL AND covered IS NULL
                UNION ALL SELECT d.type, d.person, s.source, d.seq FROM departure d JOIN sample s ON s.number = d.number
            ), carried (type, person, label, seq) AS (
                SELECT v.type, v.person, t.id, v.seq FROM version v
                    JOIN source s ON s.id = v.source JOIN term t ON t.text = s.plugin WHERE v.person IS NOT NULL
                UNION ALL SELECT type, person, series, seq FROM day WHERE retracted IS NOT NULL
                UNION ALL SELECT type, person, series, seq FROM day_version WHERE retracted IS NOT NULL
            )
            SELECT kind, type, person, label, last_seq, count, longest FROM stream WHERE kind <> 2
            UNION ALL SELECT 2, type, person, label, max(seq), count(*), 0 FROM carried GROUP BY type, person, label;
        DELETE FROM stream;
        -- Numbered from 1 without a gap, as the hub numbers them.
        INSERT INTO stream (kind, type, person, label, last_seq, count, longest) SELECT * FROM counted;
        DROP TABLE counted;
        """

    /// The columns shared by a sample and its superseded versions.
    ///
    /// Repeated words (types, units, zones, …) are small integers that refer to `term`. `value` and `unit` are canonical; `original_*` are set only
    /// if the source used another unit or value. A retraction keeps the columns of the sample that it retracts.
    /// `duration` is 0 for an instant, which SQLite stores without a byte.
    private static let sampleColumns = """
        source INTEGER NOT NULL REFERENCES source (id),
        key TEXT NOT NULL CHECK (key <> ''),
        type INTEGER NOT NULL REFERENCES term (id),
        kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 5),
        person INTEGER REFERENCES person (id),
        unassigned INTEGER REFERENCES term (id),
        start INTEGER NOT NULL,
        duration INTEGER NOT NULL CHECK (duration >= 0),
        start_offset INTEGER CHECK (start_offset BETWEEN -1439 AND 1439),
        end_offset INTEGER CHECK (end_offset BETWEEN -1439 AND 1439),
        zone INTEGER REFERENCES term (id),
        value REAL,
        unit INTEGER REFERENCES term (id),
        original_value REAL,
        original_unit INTEGER REFERENCES term (id),
        name INTEGER REFERENCES term (id),
        raw INTEGER,
        content TEXT,
        subject TEXT,
        grouping TEXT,
        provenance INTEGER NOT NULL CHECK (provenance BETWEEN 0 AND 2),
        method INTEGER REFERENCES term (id),
        method_version INTEGER REFERENCES term (id),
        basis TEXT,
        metadata TEXT,
        source_version INTEGER,
        origin INTEGER REFERENCES term (id),
        extra TEXT,
        recorded_at INTEGER NOT NULL,
        retracted INTEGER CHECK (retracted IN (1, 2)),
        retraction_reason TEXT,
        retraction_version INTEGER,
        CHECK ((person IS NULL) = (unassigned IS NOT NULL)),
        CHECK ((kind = 0) = (value IS NOT NULL AND unit IS NOT NULL)),
        CHECK ((original_value IS NULL) = (original_unit IS NULL))
        """

    /// The columns shared by a day value and its superseded versions; `date` counts days since 1970-01-01.
    private static let dayColumns = """
        person INTEGER NOT NULL REFERENCES person (id),
        type INTEGER NOT NULL REFERENCES term (id),
        series INTEGER NOT NULL REFERENCES term (id),
        date INTEGER NOT NULL,
        source INTEGER NOT NULL REFERENCES source (id),
        value REAL NOT NULL,
        unit INTEGER NOT NULL REFERENCES term (id),
        original_value REAL,
        original_unit INTEGER REFERENCES term (id),
        method INTEGER NOT NULL REFERENCES term (id),
        observed_on INTEGER,
        age INTEGER,
        basis TEXT,
        zone INTEGER REFERENCES term (id),
        metadata TEXT,
        extra TEXT,
        recorded_at INTEGER NOT NULL,
        retracted INTEGER CHECK (retracted IN (1, 2)),
        retraction_reason TEXT,
        retraction_version INTEGER,
        CHECK ((original_value IS NULL) = (original_unit IS NULL))
        """

    static let version1 = """
        CREATE TABLE meta (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            hub TEXT NOT NULL,
            epoch TEXT NOT NULL CHECK (length(epoch) = 8),
            created INTEGER NOT NULL
        ) STRICT;

        -- Repeated words, each stored once.
        CREATE TABLE term (
            id INTEGER PRIMARY KEY,
            text TEXT NOT NULL UNIQUE
        ) STRICT;

        CREATE TABLE person (
            id INTEGER PRIMARY KEY,
            uid TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL UNIQUE CHECK (name <> ''),
            created INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE source (
            id INTEGER PRIMARY KEY,
            plugin TEXT NOT NULL CHECK (plugin <> ''),
            device TEXT,
            account TEXT
        ) STRICT;
        -- NULLs are distinct in a plain UNIQUE; the number 0 equals no text.
        CREATE UNIQUE INDEX source_identity ON source (plugin, ifnull(device, 0), ifnull(account, 0));

        -- The current version of every sample. `number` is the sequence it was first stored under, `seq` that of this version.
        CREATE TABLE sample (
            number INTEGER PRIMARY KEY,
            seq INTEGER NOT NULL CHECK (seq >= number),
            \(sampleColumns)
        ) STRICT;
        CREATE UNIQUE INDEX sample_identity ON sample (source, key);
        CREATE INDEX sample_history ON sample (person, type, start);
        CREATE UNIQUE INDEX sample_moved ON sample (seq) WHERE seq <> number;
        CREATE INDEX sample_group ON sample (grouping) WHERE grouping IS NOT NULL;

        CREATE TABLE sample_version (
            number INTEGER NOT NULL REFERENCES sample (number),
            seq INTEGER NOT NULL,
            \(sampleColumns),
            PRIMARY KEY (number, seq)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE day (
            number INTEGER PRIMARY KEY,
            seq INTEGER NOT NULL CHECK (seq >= number),
            \(dayColumns)
        ) STRICT;
        CREATE UNIQUE INDEX day_identity ON day (person, type, series, date);
        CREATE UNIQUE INDEX day_moved ON day (seq) WHERE seq <> number;

        CREATE TABLE day_version (
            number INTEGER NOT NULL REFERENCES day (number),
            seq INTEGER NOT NULL,
            \(dayColumns),
            PRIMARY KEY (number, seq)
        ) STRICT, WITHOUT ROWID;

        -- The payload of a version, for sources whose settings keep it.
        CREATE TABLE payload (
            seq INTEGER PRIMARY KEY,
            number INTEGER NOT NULL,
            bytes BLOB NOT NULL
        ) STRICT;

        -- One row per feed topic, and per type of records that have no person yet (those share the topic `hub/inbox/`).
        -- kind: 0 sample, 1 day, 2 retraction, 3 inbox. label: the plugin, for days the series.
        CREATE TABLE stream (
            id INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
            type INTEGER REFERENCES term (id),
            person INTEGER REFERENCES person (id),
            label INTEGER REFERENCES term (id),
            last_seq INTEGER NOT NULL,
            count INTEGER NOT NULL CHECK (count > 0),
            longest INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX stream_identity ON stream (kind, ifnull(type, 0), ifnull(person, 0), ifnull(label, 0));

        CREATE TABLE account (
            instance TEXT PRIMARY KEY,
            received INTEGER NOT NULL,
            stored INTEGER NOT NULL,
            versions INTEGER NOT NULL,
            retractions INTEGER NOT NULL,
            duplicates INTEGER NOT NULL,
            rejected INTEGER NOT NULL,
            CHECK (received = stored + versions + retractions + duplicates + rejected)
        ) STRICT, WITHOUT ROWID;
        """
}
