/// Stored figures of hours, so that statistics of years need not read every sample.
///
/// They contain nothing beyond the samples: every answer is the same without them.
enum RollupSchema {
    static let version15 = """
        -- One row for each person and type with kept hours. The other columns say how they were computed: another unit, style, order of
        -- sources or start of hours begins a new row. not_valid: its days are to be removed.
        CREATE TABLE rollup (
            id INTEGER PRIMARY KEY,
            person INTEGER NOT NULL REFERENCES person (id),
            type INTEGER NOT NULL REFERENCES term (id),
            unit INTEGER NOT NULL REFERENCES term (id),
            style TEXT NOT NULL,
            priority TEXT NOT NULL,
            -- Minutes after a full hour of UTC at which hours begin, and after midnight at which days begin.
            phase INTEGER NOT NULL CHECK (phase BETWEEN 0 AND 59),
            -- How long after its start a sample may count, in microseconds, if the type is weighted by time.
            hold INTEGER NOT NULL,
            -- The first day since 1970 that is not kept; an earlier day without a row is empty.
            through INTEGER NOT NULL,
            not_valid INTEGER CHECK (not_valid = 1)
        ) STRICT;
        CREATE UNIQUE INDEX rollup_identity ON rollup (person, type) WHERE not_valid IS NULL;

        -- slot: the rollup and the day. total: the day's figures. hours: those of each hour that has any; NULL if a sample changed since.
        CREATE TABLE rollup_day (
            slot INTEGER PRIMARY KEY,
            total BLOB,
            hours BLOB
        ) STRICT;
        CREATE INDEX rollup_hole ON rollup_day (slot) WHERE hours IS NULL;
        """
}
