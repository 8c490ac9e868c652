/// The rules by which records were assigned, added in version 4 of the file format.
enum PeopleSchema {
    static let version4 = """
        -- Whose profile the device had been told when it computed the value, where a person has since said that it was somebody else:
        -- the name of that other person, or what the source called them.
        ALTER TABLE sample ADD COLUMN profile_of INTEGER REFERENCES term (id);
        ALTER TABLE sample_version ADD COLUMN profile_of INTEGER REFERENCES term (id);

        -- The rule (a number of `Ruling.Rule`) by which a version came to its person or to nobody, and what was weighed up. A version
        -- without a row was given by its source's own account, to the only person there was, or by hand.
        CREATE TABLE ruling (
            seq INTEGER PRIMARY KEY,
            number INTEGER NOT NULL,
            rule INTEGER NOT NULL CHECK (rule BETWEEN 1 AND 3),
            probability REAL CHECK (probability BETWEEN 0 AND 1),
            odds TEXT
        ) STRICT;
        """
}
