import GRDB

/// The tables of erased records and of the current erasure, added in version 11 of the file format.
enum ErasureSchema {
    /// Before this version, pages may contain data that was removed from them.
    ///
    /// Stores of earlier formats are copied once.
    static let name = "v11"

    static let version11 = """
        -- Erased records; each is an empty retraction in its own table. identity: a keyed hash of the source's name for the record, so
        -- that a repeat does not bring it back; NULL if a person has allowed that. named: 1 while the row still has its plain
        -- identity, because sinks must still be notified.
        CREATE TABLE erased (
            number INTEGER PRIMARY KEY,
            identity BLOB,
            at INTEGER NOT NULL,
            named INTEGER CHECK (named = 1)
        ) STRICT;
        CREATE UNIQUE INDEX erased_identity ON erased (identity) WHERE identity IS NOT NULL;
        CREATE INDEX erased_named ON erased (number) WHERE named IS NOT NULL;

        -- 1 if the person's name and uid are removed too, as soon as no sink needs them for its notification.
        ALTER TABLE person ADD COLUMN erased INTEGER CHECK (erased = 1);

        -- The current erasure. stage: 0 selection (a restart drops it), 1 records, 2 words, 3 the log and copies.
        -- copies: 1 if older copies of the store are removed too.
        CREATE TABLE erasure (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            stage INTEGER NOT NULL CHECK (stage BETWEEN 0 AND 3),
            copies INTEGER NOT NULL CHECK (copies IN (0, 1)),
            total INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE erasure_record (number INTEGER PRIMARY KEY) STRICT;
        -- Words and sources of erased records; they are removed if no other record has them.
        CREATE TABLE erasure_word (id INTEGER PRIMARY KEY) STRICT;
        CREATE TABLE erasure_source (id INTEGER PRIMARY KEY) STRICT;

        -- The key of the hashed identities of erased records.
        ALTER TABLE meta ADD COLUMN erasure_key BLOB;
        """

    static let version14 = """
        -- Records that could not be erased, and erased records whose identity could not be removed. They do not block others, and
        -- are tried again.
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
