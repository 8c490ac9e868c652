import GRDB

/// The tables of the ledger, added in version 2 of the file format.
enum LedgerSchema {
    static let version2 = """
        -- A durable subscription. "cursor": every version up to here that it wanted is settled or has a row in `delivery`.
        -- The account's law is a CHECK; `marked` are those of the pending that have a row.
        -- (counted, counting_to]: sequences whose matching versions are not yet counted as wanted.
        -- offered, busy: the last version that may have been given out without an answer; the head after a crash.
        -- forgotten: its rows are being deleted.
        CREATE TABLE sink (
            id INTEGER PRIMARY KEY,
            instance TEXT NOT NULL CHECK (instance <> ''),
            want TEXT NOT NULL CHECK (want <> ''),
            opened_at INTEGER NOT NULL,
            start INTEGER NOT NULL CHECK (start >= 0),
            "cursor" INTEGER NOT NULL CHECK ("cursor" >= start),
            counted INTEGER NOT NULL,
            counting_to INTEGER NOT NULL CHECK (counting_to >= counted),
            offered INTEGER NOT NULL DEFAULT 0,
            busy INTEGER NOT NULL DEFAULT 0 CHECK (busy IN (0, 1)),
            paused TEXT,
            plugin TEXT NOT NULL,
            systems TEXT,
            accounts TEXT,
            abilities INTEGER NOT NULL DEFAULT 0,
            zone TEXT NOT NULL,
            wanted INTEGER NOT NULL DEFAULT 0,
            delivered INTEGER NOT NULL DEFAULT 0 CHECK (delivered >= 0),
            pending INTEGER NOT NULL DEFAULT 0 CHECK (pending >= marked),
            retrying INTEGER NOT NULL DEFAULT 0 CHECK (retrying >= 0),
            refused INTEGER NOT NULL DEFAULT 0 CHECK (refused >= 0),
            superseded INTEGER NOT NULL DEFAULT 0 CHECK (superseded >= 0),
            skipped INTEGER NOT NULL DEFAULT 0 CHECK (skipped >= 0),
            marked INTEGER NOT NULL DEFAULT 0 CHECK (marked >= 0),
            last_delivered INTEGER,
            failed_at INTEGER,
            failure TEXT,
            forgotten INTEGER NOT NULL DEFAULT 0 CHECK (forgotten IN (0, 1)),
            CHECK (wanted = delivered + pending + retrying + refused + superseded + skipped)
        ) STRICT;
        CREATE UNIQUE INDEX sink_name ON sink (instance, want) WHERE forgotten = 0;

        -- The filter for the sequences after `after`; NULL means no restriction. head: that of the store when the filter began.
        CREATE TABLE sink_era (
            sink INTEGER NOT NULL REFERENCES sink (id),
            after INTEGER NOT NULL,
            head INTEGER NOT NULL,
            types TEXT,
            kinds TEXT,
            persons TEXT,
            PRIMARY KEY (sink, after)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE sink_skip (
            sink INTEGER NOT NULL REFERENCES sink (id),
            reason INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (sink, reason)
        ) STRICT, WITHOUT ROWID;

        -- State that the cursor does not show. state: 0 pending, 1 retry, 2 unauthorised, 3 delivered, 4 delivered ahead of the cursor,
        -- 5 refused, 6 skipped, 7 superseded; of the version `seq`. due: set while it is open. settled: the newest version whose fate
        -- is final. holds: the target has the record. offered: given out from this row, not answered. may_hold: the target may have
        -- an older version. departed: the version to retract at the sink if the current one is not for it.
        CREATE TABLE delivery (
            sink INTEGER NOT NULL REFERENCES sink (id),
            number INTEGER NOT NULL,
            seq INTEGER NOT NULL CHECK (seq >= number),
            state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 7),
            due INTEGER,
            attempts INTEGER NOT NULL,
            reason TEXT,
            at INTEGER,
            settled INTEGER NOT NULL,
            holds INTEGER NOT NULL CHECK (holds IN (0, 1)),
            offered INTEGER NOT NULL CHECK (offered IN (0, 1)),
            may_hold INTEGER NOT NULL CHECK (may_hold IN (0, 1)),
            departed INTEGER,
            delivered INTEGER,
            delivered_at INTEGER,
            receipt TEXT,
            PRIMARY KEY (sink, number),
            CHECK ((state <= 2) = (due IS NOT NULL))
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX delivery_due ON delivery (sink, due) WHERE due IS NOT NULL;
        CREATE INDEX delivery_early ON delivery (sink, seq) WHERE state = 4;
        """

    /// Waits that do not depend on the wall clock, added in version 6 of the file format.
    static let version6 = """
        -- The remaining wait of a retry when its answer was stored, in microseconds. "due" is by the clock of waits, which begins at the
        -- hub's time whenever a hub starts; 0 for rows that wait only for their turn.
        ALTER TABLE delivery ADD COLUMN wait INTEGER CHECK (wait >= 0);
        UPDATE delivery SET wait = min(max(due - ifnull(at, due), 0), 604800000000) WHERE state = 1;
        UPDATE delivery SET due = 0 WHERE state IN (0, 2);
        """

    /// Limits every wait to its requested length, counted from now.
    ///
    /// The clock used to write "due" may have been ahead.
    static func boundWaits(_ db: Database, now: Int64) throws {
        try db.execute(
            sql:
                "UPDATE delivery SET due = ?1 + wait WHERE sink IN (SELECT id FROM sink) AND due > ?1 AND due > ?1 + wait",
            arguments: [now])
    }
}
