import GRDB

/// The tables of erased records and of the current erasure, added in version 11 of the file format.
enum ErasureSchema {
    /// Before this version, pages may contain data that was removed from them.
    ///
    /// Stores of earlier formats are copied once.
    static let name = "v11"

    static let version11 = """
        -- Records that were erased: in their own table each is an empty retraction. identity: what a source called the record, as a keyed
        -- hash, so that a repeat does not bring it back; NULL where a person has allowed that. named: 1 while the row still has its
        -- identity in plain, because sinks are to be told.
        CREATE TABLE erased (
            number INTEGER PRIMARY KEY,
            identity BLOB,
            at INTEGER NOT NULL,
            named INTEGER CHECK (named = 1)
        ) STRICT;
        CREATE UNIQUE INDEX erased_identity ON erased (identity) WHERE identity IS NOT NULL;
        CREATE INDEX erased_named ON erased (number) WHERE named IS NOT NULL;

        -- 1 where the person's name and uid go too, once no sink has to be told by them.
        ALTER TABLE person ADD COLUMN erased INTEGER CHECK (erased = 1);

        -- The erasure under way. stage: 0 being chosen (a restart drops it), 1 records, 2 words, 3 what the log and copies hold.
        -- copies: 1 where older copies of the store are to go.
        CREATE TABLE erasure (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            stage INTEGER NOT NULL CHECK (stage BETWEEN 0 AND 3),
            copies INTEGER NOT NULL CHECK (copies IN (0, 1)),
            total INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE erasure_record (number INTEGER PRIMARY KEY) STRICT;
        -- Words and sources of erased records, which go too where no other record has them.
        CREATE TABLE erasure_word (id INTEGER PRIMARY KEY) STRICT;
        CREATE TABLE erasure_source (id INTEGER PRIMARY KEY) STRICT;

        -- What the identities of erased records are hashed with.
        ALTER TABLE meta ADD COLUMN erasure_key BLOB;
        """

    static let version14 = """
        -- Records that could not be erased, and erased ones of which the identity could not be taken away: they hold up no other, and are
        -- tried again.
        CREATE TABLE erasure_fault (
            number INTEGER PRIMARY KEY,
            reason TEXT NOT NULL
        ) STRICT;
        """

    /// Creates the store's own key, if it has none.
    static func makeKey(_ db: Database) throws {
        try db.execute(sql: "UPDATE meta SET erasure_key = randomblob(32) WHERE erasure_key IS NULL")
    }
}
