/// The rules by which records were assigned, added in version 4 of the file format.
enum PeopleSchema {
    static let version4 = """
        -- The person whose profile the device used for the value, if a person has since assigned the record to another: the name of
        -- that person, or the source's name for them.
        ALTER TABLE sample ADD COLUMN profile_of INTEGER REFERENCES term (id);
        ALTER TABLE sample_version ADD COLUMN profile_of INTEGER REFERENCES term (id);

        -- The rule (a number of `Ruling.Rule`) that assigned a version to its person or to none, and the odds. A version without a row
        -- was assigned by its source's account, by hand, or to the only person of the hub.
        CREATE TABLE ruling (
            seq INTEGER PRIMARY KEY,
            number INTEGER NOT NULL,
            rule INTEGER NOT NULL CHECK (rule BETWEEN 1 AND 3),
            probability REAL CHECK (probability BETWEEN 0 AND 1),
            odds TEXT
        ) STRICT;
        """
}
