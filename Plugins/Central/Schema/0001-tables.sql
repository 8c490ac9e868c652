-- Roles, and the tables of the centre. Applied by a superuser, in one transaction; hub-central-admin migrate notes it in central.migration.
-- A migration that has been given away is not changed any more: what changes later is another file.
DO $$ DECLARE r text; BEGIN
    FOREACH r IN ARRAY ARRAY['central_owner', 'central_desk', 'central_watch', 'hub', 'invited', 'staff'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN EXECUTE format('CREATE ROLE %I NOLOGIN', r); END IF;
    END LOOP;
END $$;
ALTER ROLE central_desk CREATEROLE;
-- The desk does what the owner may. It makes hubs, invitations and readers, and ends their sessions; it and the owner's metrics_v1 look at replicas.
GRANT central_owner, pg_signal_backend, pg_monitor TO central_desk;
GRANT pg_monitor TO central_owner;
GRANT hub, invited, staff TO central_desk WITH ADMIN OPTION;

CREATE SCHEMA central AUTHORIZATION central_owner;
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;
-- Functions are everyone's by default; here each is granted by name.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

CREATE TABLE migration (no int PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now());

-- The store's own identity: another one after a restore from a backup, as a hub's epoch is. It stands in every receipt.
CREATE TABLE incarnation (no int PRIMARY KEY, began timestamptz NOT NULL DEFAULT now(), why text NOT NULL);
INSERT INTO incarnation VALUES (1, now(), 'first');

-- Hubs, their epochs, their persons.
CREATE TABLE hub (
    hub_no   int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hub_id   text UNIQUE,                       -- the hub's random id, from WELCOME; null until its first hello
    login    name NOT NULL UNIQUE,              -- the role, and the name in the certificate
    state    text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'stopped', 'erased')),
    era      smallint NOT NULL DEFAULT 0,       -- the ordinal of its present epoch
    batch    bigint NOT NULL DEFAULT 0,         -- the number of its newest batch that is in
    versions bigint NOT NULL DEFAULT 0,         -- how many it has stored: what was had already does not count
    software text, backlog bigint, skew interval, heard timestamptz, enrolled timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);                       -- updated by every batch: room for HOT
CREATE TABLE era (
    hub_no int REFERENCES hub, era smallint, epoch text NOT NULL, began timestamptz NOT NULL DEFAULT now(), reconciled timestamptz,
    PRIMARY KEY (hub_no, era), UNIQUE (hub_no, epoch));
CREATE TABLE person (
    hub_no int REFERENCES hub, person_no smallint, person_id text NOT NULL,
    PRIMARY KEY (hub_no, person_no), UNIQUE (hub_no, person_id));
CREATE TABLE type (
    type_no int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, unit text, cumulative boolean NOT NULL DEFAULT false);

-- Studies and consent.
CREATE TABLE study (
    study_no  int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
    title     text NOT NULL, words text NOT NULL DEFAULT '',    -- for the people who are asked
    reader    name NOT NULL UNIQUE,
    types     int[] NOT NULL,
    rows      boolean NOT NULL DEFAULT true,                    -- false: its readers see figures about groups alone
    min_group int NOT NULL DEFAULT 5 CHECK (min_group >= 2),
    ends      date, ended timestamptz, made timestamptz NOT NULL DEFAULT now());
CREATE TABLE offer (hub_no int REFERENCES hub, study_no int REFERENCES study, PRIMARY KEY (hub_no, study_no));
-- A pseudonym is random: nothing computes it, and who deletes the row has cut the tie. The salt makes the numbers of records in a study, so
-- that two studies cannot put their rows side by side.
CREATE TABLE consent (
    study_no int REFERENCES study, hub_no int, person_no smallint, types int[] NOT NULL, since date NOT NULL, until date,
    pseudonym uuid NOT NULL DEFAULT gen_random_uuid(), salt uuid NOT NULL DEFAULT gen_random_uuid(), text_hash bytea,
    given timestamptz NOT NULL DEFAULT now(), withdrawn timestamptz,
    PRIMARY KEY (study_no, hub_no, person_no), UNIQUE (study_no, pseudonym), FOREIGN KEY (hub_no, person_no) REFERENCES person);
CREATE INDEX consent_person ON consent (hub_no, person_no);

-- Records: one row for each identity, the newest version. By hub, because everything that is asked of it names hubs.
CREATE TABLE record (
    hub_no    int NOT NULL,
    ident     uuid NOT NULL,                    -- SHA-256 of what identifies the record at the hub, cut to 128 bits
    era       smallint NOT NULL, seq bigint NOT NULL,
    changed   bigint NOT NULL,                  -- the transaction: what followers page by
    person_no smallint, type_no int,
    kind      "char" NOT NULL,                  -- q c o w h t: kinds of samples; d: day; r: taken back; x: erased in the house
    offset_min smallint,
    flags     smallint NOT NULL DEFAULT 0,      -- 1 edited, 2 derived, 4 filled, 8 its clock is suspect, 16 no longer at the hub
    start_at  timestamptz, end_at timestamptz,  -- end_at null: an instant
    value     float8, word text, body jsonb,
    PRIMARY KEY (hub_no, ident)
) PARTITION BY HASH (hub_no);
-- What was superseded, by month of arrival: a month is dropped whole.
CREATE TABLE history (LIKE record, superseded timestamptz NOT NULL DEFAULT now()) PARTITION BY RANGE (superseded);

-- The planner's samples of these columns would keep values of rows that are long gone, and no question filters by them.
CREATE FUNCTION forget_statistics(place regclass) RETURNS void LANGUAGE plpgsql SET search_path = central, pg_temp AS $$ BEGIN
    EXECUTE format('ALTER TABLE %s ALTER value SET STATISTICS 0, ALTER word SET STATISTICS 0, ALTER body SET STATISTICS 0', place);
END $$;
SELECT forget_statistics('record'), forget_statistics('history');
DO $$ BEGIN
    FOR i IN 0..15 LOOP
        EXECUTE format('CREATE TABLE record_%s PARTITION OF record FOR VALUES WITH (MODULUS 16, REMAINDER %s) WITH (fillfactor = 95)', i, i);
        PERFORM forget_statistics(format('record_%s', i)::regclass);
    END LOOP;
END $$;
CREATE TABLE history_rest PARTITION OF history DEFAULT;
SELECT forget_statistics('history_rest');
CREATE INDEX record_asked ON record (hub_no, person_no, type_no, start_at);
CREATE INDEX record_seq ON record (hub_no, seq);
CREATE INDEX record_changed ON record USING brin (changed) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX history_record ON history (hub_no, ident);
CREATE INDEX history_person ON history (hub_no, person_no);

-- What a study no longer has although the row is there: it was erased, or is another person's now. For those who follow.
CREATE TABLE gone (study_no int NOT NULL, record uuid NOT NULL, changed bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
CREATE INDEX gone_changed ON gone (study_no, changed);

CREATE TABLE erasure (
    erasure_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, hub_no int NOT NULL REFERENCES hub, person_no smallint NOT NULL,
    asked timestamptz NOT NULL DEFAULT now(), done timestamptz, rows bigint NOT NULL DEFAULT 0, remains bigint, files timestamptz);
CREATE INDEX erasure_open ON erasure (hub_no, person_no) WHERE done IS NULL;
-- Files that have bytes of deleted rows, and since which transaction. Without a key: hubs must not wait for each other here.
CREATE TABLE scrub (relation oid NOT NULL, xid xid8 NOT NULL DEFAULT pg_current_xact_id(), at timestamptz NOT NULL DEFAULT now());

-- Invitations, and requests for certificates: by an invitation, or by a hub that renews.
CREATE TABLE invite (
    role name PRIMARY KEY, login name NOT NULL, studies int[] NOT NULL, replaces boolean NOT NULL DEFAULT false,
    until timestamptz NOT NULL, made timestamptz NOT NULL DEFAULT now());
CREATE TABLE request (
    request_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, asker name NOT NULL, hub_id text, csr text NOT NULL,
    asked timestamptz NOT NULL DEFAULT now(), signed timestamptz, certificate text, ca text, refused text);
CREATE INDEX request_asker ON request (asker);
CREATE INDEX request_open ON request (request_no) WHERE signed IS NULL AND refused IS NULL;
