-- Roles, and the tables of the centre. A superuser applies each file in one transaction; hub-central-admin migrate notes it in central.migration.
-- A released migration is not changed any more: a later change is a new file.
DO $$ DECLARE r text; BEGIN
    FOREACH r IN ARRAY ARRAY['central_owner', 'central_desk', 'central_watch', 'hub', 'invited', 'staff'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN EXECUTE format('CREATE ROLE %I NOLOGIN', r); END IF;
    END LOOP;
END $$;
ALTER ROLE central_desk CREATEROLE;
-- The desk has the owner's rights. It also creates hubs, invitations and readers, and ends their sessions. It and the owner's metrics_v1 read the state of replicas.
GRANT central_owner, pg_signal_backend, pg_monitor TO central_desk;
GRANT pg_monitor TO central_owner;
GRANT hub, invited, staff TO central_desk WITH ADMIN OPTION;

CREATE SCHEMA central AUTHORIZATION central_owner;
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;
-- By default everyone may call a function; here each is granted by name.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

CREATE TABLE migration (no int PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now());

-- The identity of this store. It changes after a restore from a backup, like a hub's epoch, and is part of every receipt.
CREATE TABLE incarnation (no int PRIMARY KEY, began timestamptz NOT NULL DEFAULT now(), why text NOT NULL);
INSERT INTO incarnation VALUES (1, now(), 'first');

-- Hubs, their epochs, their persons.
CREATE TABLE hub (
    hub_no   int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hub_id   text UNIQUE,                       -- the hub's random id, from WELCOME; null until its first hello
    login    name NOT NULL UNIQUE,              -- the role, and the name in the certificate
    state    text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'stopped', 'erased')),
    era      smallint NOT NULL DEFAULT 0,       -- the ordinal of its present epoch
    batch    bigint NOT NULL DEFAULT 0,         -- the number of its newest stored batch
    versions bigint NOT NULL DEFAULT 0,         -- number of stored versions, without repeats
    software text, backlog bigint, skew interval, heard timestamptz, enrolled timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);                       -- every batch updates it: room for HOT
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
    rows      boolean NOT NULL DEFAULT true,                    -- false: its readers see only figures about groups
    min_group int NOT NULL DEFAULT 5 CHECK (min_group >= 2),
    ends      date, ended timestamptz, made timestamptz NOT NULL DEFAULT now());
CREATE TABLE offer (hub_no int REFERENCES hub, study_no int REFERENCES study, PRIMARY KEY (hub_no, study_no));
-- A pseudonym is random and computed from nothing: if the row is deleted, the link to the person is gone. The numbers of records in a study are
-- made with the salt, so that two studies cannot match their rows.
CREATE TABLE consent (
    study_no int REFERENCES study, hub_no int, person_no smallint, types int[] NOT NULL, since date NOT NULL, until date,
    pseudonym uuid NOT NULL DEFAULT gen_random_uuid(), salt uuid NOT NULL DEFAULT gen_random_uuid(), text_hash bytea,
    given timestamptz NOT NULL DEFAULT now(), withdrawn timestamptz,
    PRIMARY KEY (study_no, hub_no, person_no), UNIQUE (study_no, pseudonym), FOREIGN KEY (hub_no, person_no) REFERENCES person);
CREATE INDEX consent_person ON consent (hub_no, person_no);

-- Records: one row for each identity, with the newest version. The table is divided by hub, because every query names hubs.
CREATE TABLE record (
    hub_no    int NOT NULL,
    ident     uuid NOT NULL,                    -- SHA-256 of the fields that identify the record at the hub, cut to 128 bits
    era       smallint NOT NULL, seq bigint NOT NULL,
    changed   bigint NOT NULL,                  -- the transaction, by which followers page
    person_no smallint, type_no int,
    kind      "char" NOT NULL,                  -- q c o w h t: kinds of samples; d: day; r: retracted; x: erased in the house
    offset_min smallint,
    flags     smallint NOT NULL DEFAULT 0,      -- 1 edited, 2 derived, 4 filled, 8 its clock is suspect, 16 no longer at the hub
    start_at  timestamptz, end_at timestamptz,  -- end_at null: an instant
    value     float8, word text, body jsonb,
    PRIMARY KEY (hub_no, ident)
) PARTITION BY HASH (hub_no);
-- Superseded versions, divided by month of arrival, so that a month is dropped whole.
CREATE TABLE history (LIKE record, superseded timestamptz NOT NULL DEFAULT now()) PARTITION BY RANGE (superseded);

-- The planner's statistics of these columns would keep values of deleted rows, and no query filters by them.
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

-- Records that a study no longer has although the row exists: they were erased, or belong to another person now. For followers.
CREATE TABLE gone (study_no int NOT NULL, record uuid NOT NULL, changed bigint NOT NULL, at timestamptz NOT NULL DEFAULT now());
CREATE INDEX gone_changed ON gone (study_no, changed);

CREATE TABLE erasure (
    erasure_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, hub_no int NOT NULL REFERENCES hub, person_no smallint NOT NULL,
    asked timestamptz NOT NULL DEFAULT now(), done timestamptz, rows bigint NOT NULL DEFAULT 0, remains bigint, files timestamptz);
CREATE INDEX erasure_open ON erasure (hub_no, person_no) WHERE done IS NULL;
-- Files with bytes of deleted rows, and the transaction since which they have them. There is no key, so that hubs do not wait for each other here.
CREATE TABLE scrub (relation oid NOT NULL, xid xid8 NOT NULL DEFAULT pg_current_xact_id(), at timestamptz NOT NULL DEFAULT now());

-- Invitations, and requests for certificates by invitations or by hubs that renew theirs.
CREATE TABLE invite (
    role name PRIMARY KEY, login name NOT NULL, studies int[] NOT NULL, replaces boolean NOT NULL DEFAULT false,
    until timestamptz NOT NULL, made timestamptz NOT NULL DEFAULT now());
CREATE TABLE request (
    request_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, asker name NOT NULL, hub_id text, csr text NOT NULL,
    asked timestamptz NOT NULL DEFAULT now(), signed timestamptz, certificate text, ca text, refused text);
CREATE INDEX request_asker ON request (asker);
CREATE INDEX request_open ON request (request_no) WHERE signed IS NULL AND refused IS NULL;
