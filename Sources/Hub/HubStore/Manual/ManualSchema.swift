/// The tables and columns for manual changes, added in version 3 of the file format.
///
/// They are separate from the records' own columns, so a record without manual changes costs two empty columns.
enum ManualSchema {
    static let version3 = """
        -- 1 if a person, not a rule, assigned it. `edited`: the members that a person changed (the bits of `SampleMembers`).
        ALTER TABLE sample ADD COLUMN assigned INTEGER CHECK (assigned = 1);
        ALTER TABLE sample ADD COLUMN edited INTEGER CHECK (edited BETWEEN 1 AND 255);
        ALTER TABLE sample_version ADD COLUMN assigned INTEGER CHECK (assigned = 1);
        ALTER TABLE sample_version ADD COLUMN edited INTEGER CHECK (edited BETWEEN 1 AND 255);
        -- 1 if the source sent it while a person's edit or retraction covered the record: kept, but on no topic.
        ALTER TABLE sample_version ADD COLUMN covered INTEGER CHECK (covered = 1);
        CREATE UNIQUE INDEX sample_version_covered ON sample_version (seq) WHERE covered IS NOT NULL;

        -- The versions made by persons, their kind (the numbers of `ManualChangeKind`) and reason.
        CREATE TABLE deed (
            seq INTEGER PRIMARY KEY,
            number INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 6),
            reason TEXT
        ) STRICT;

        -- A record left a person (NULL: the inbox). A follower of only that person's records learns it from here, under a separate
        -- sequence, until the record comes back to that person under the sequence `ended`.
        CREATE TABLE departure (
            seq INTEGER PRIMARY KEY,
            number INTEGER NOT NULL REFERENCES sample (number),
            type INTEGER NOT NULL REFERENCES term (id),
            person INTEGER REFERENCES person (id),
            recorded_at INTEGER NOT NULL,
            ended INTEGER CHECK (ended > seq)
        ) STRICT;
        CREATE UNIQUE INDEX departure_open ON departure (number, ifnull(person, 0)) WHERE ended IS NULL;
        """

    /// Lets a record also leave its type, when its source reports a new type.
    static let version5 = """
        -- 1 if the record changed its type, not its person.
        ALTER TABLE departure ADD COLUMN retyped INTEGER CHECK (retyped = 1);
        DROP INDEX departure_open;
        CREATE UNIQUE INDEX departure_open ON departure (number, ifnull(person, 0), type) WHERE ended IS NULL;
        """

    /// Moves a guest's readings out of the inbox and makes manual assignments undoable.
    ///
    /// Before, the reason `guest`, which only a person can give, was no separate state: such readings waited in the inbox.
    static let version20 = """
        UPDATE meta SET inbox = (SELECT count(*) FROM sample WHERE person IS NULL AND retracted IS NULL
                AND unassigned IS NOT ifnull((SELECT id FROM term WHERE text = 'guest'), 0)),
            implausible = (SELECT count(*) FROM sample WHERE implausible IS NOT NULL AND retracted IS NULL
                AND unassigned IS NOT ifnull((SELECT id FROM term WHERE text = 'guest'), 0));

        -- As before, with another kind.
        CREATE TABLE deed_of_20 (
            seq INTEGER PRIMARY KEY,
            number INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 7),
            reason TEXT
        ) STRICT;
        INSERT INTO deed_of_20 (seq, number, kind, reason) SELECT seq, number, kind, reason FROM deed;
        DROP TABLE deed;
        ALTER TABLE deed_of_20 RENAME TO deed;
        """
}
