/// Limits on the cost that a writer causes for others, added in version 10 of the file format.
enum BoundsSchema {
    static let version10 = """
        -- The number of samples in the inbox, and of those with implausible members: `Tallies`.
        ALTER TABLE meta ADD COLUMN inbox INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE meta ADD COLUMN implausible INTEGER NOT NULL DEFAULT 0;
        UPDATE meta SET inbox = (SELECT count(*) FROM sample WHERE person IS NULL AND retracted IS NULL),
            implausible = (SELECT count(*) FROM sample INDEXED BY sample_implausible
                WHERE implausible IS NOT NULL AND retracted IS NULL);

        -- What each instance has stored since this step, as limited by `InstanceLimits`.
        ALTER TABLE account ADD COLUMN streams INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE account ADD COLUMN sources INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE account ADD COLUMN words INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE account ADD COLUMN extra_bytes INTEGER NOT NULL DEFAULT 0;

        -- The number of replaced versions, for records that have any.
        CREATE TABLE revision (
            number INTEGER PRIMARY KEY,
            count INTEGER NOT NULL CHECK (count > 0)
        ) STRICT;
        INSERT INTO revision (number, count) SELECT number, count(*) FROM sample_version GROUP BY number;
        INSERT INTO revision (number, count) SELECT number, count(*) FROM day_version GROUP BY number;

        -- Samples longer than an hour, and longer than 32 days: a query of a time span searches the few long ones separately, and
        -- the others only as far before the span as they can last (`Overhang`).
        CREATE INDEX sample_long ON sample (person, type, start) WHERE duration > 3600000000;
        CREATE INDEX sample_endless ON sample (person, type, start) WHERE duration > 2764800000000;

        -- In the order of change, and in the order of time.
        DROP INDEX sample_implausible;
        CREATE INDEX sample_implausible ON sample (seq) WHERE implausible IS NOT NULL;
        CREATE INDEX sample_implausible_time ON sample (start) WHERE implausible IS NOT NULL;
        """
}
