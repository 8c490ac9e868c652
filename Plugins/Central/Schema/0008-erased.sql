-- Erasures in the house that the centre cannot learn of otherwise, and the persons that a study sees after the centre was restored.
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;

-- The hub's number of the record, if it differs from its seq. A hub no longer has the identity of an erased record, and names it by this number.
ALTER TABLE record ADD number bigint;
ALTER TABLE history ADD number bigint;
CREATE INDEX record_number ON record (hub_no, number) WHERE number IS NOT NULL;
CREATE OR REPLACE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql SET search_path = central, pg_temp AS $$ BEGIN
    INSERT INTO history (hub_no, ident, era, seq, changed, person_no, type_no, kind, offset_min, flags, start_at, end_at, value, word, body, number)
        VALUES (OLD.hub_no, OLD.ident, OLD.era, OLD.seq, OLD.changed, OLD.person_no, OLD.type_no, OLD.kind, OLD.offset_min, OLD.flags, OLD.start_at, OLD.end_at, OLD.value, OLD.word, OLD.body, OLD.number);
    RETURN NULL;
END $$;

-- As before, with the number.
CREATE OR REPLACE FUNCTION take_v1(epoch text, batch bigint, records jsonb, backlog bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE h hub; e smallint; answer text; stored int; erased uuid[]; BEGIN
    SELECT * INTO h FROM hub WHERE login = session_user FOR UPDATE;
    IF NOT FOUND OR h.state <> 'active' THEN RETURN jsonb_build_object('refused', coalesce(h.state, 'login')); END IF;
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN RETURN '{"refused":"settings"}'; END IF;
    SELECT x.era INTO e FROM era x WHERE x.hub_no = h.hub_no AND x.epoch = take_v1.epoch;
    IF e IS DISTINCT FROM h.era THEN RETURN '{"refused":"epoch"}'; END IF;
    IF jsonb_array_length(records) > 1000 OR pg_column_size(records) > 8388608 THEN RETURN '{"refused":"limit"}'; END IF;
    WITH sent AS MATERIALIZED (
        SELECT r.row, r.i AS ident, r.s AS seq, nullif(r.n, r.s) AS number, r.k::"char" AS kind, p.person_no, t.type_no, d.o AS offset_min, (coalesce(r.f, 0) & 15)::smallint AS flags,
            d.a AS start_at, d.e AS end_at, d.v AS value, d.w AS word, d.b AS body,
            CASE WHEN r.k IN ('r', 'x') THEN NULL
                WHEN t.type_no IS NULL OR r.k NOT IN ('q', 'c', 'o', 'w', 'h', 't', 'd') THEN 't'
                WHEN NOT EXISTS (SELECT FROM consent c WHERE c.hub_no = h.hub_no AND c.person_no = p.person_no AND c.withdrawn IS NULL
                    AND t.type_no = ANY (c.types) AND covers(c.since, c.until, d.a, d.o)) THEN 'c' END AS wrong
        FROM ROWS FROM (jsonb_to_recordset(records) AS (i uuid, s bigint, k text, p text, t text, a timestamptz, e timestamptz, o smallint, f smallint, v float8, w text, b jsonb, n bigint))
            WITH ORDINALITY AS r(i, s, k, p, t, a, e, o, f, v, w, b, n, row)
        -- Of what was taken back or erased in the house nothing is taken but which record it is.
        LEFT JOIN LATERAL (SELECT r.p, r.t, r.a, r.e, r.o, r.v, r.w, r.b WHERE r.k NOT IN ('r', 'x')) d ON true
        LEFT JOIN person p ON p.hub_no = h.hub_no AND p.person_id = d.p
        LEFT JOIN type t ON t.id = d.t),
    newest AS (SELECT DISTINCT ON (ident) * FROM sent WHERE wrong IS NULL ORDER BY ident, seq DESC),
    done AS (
        INSERT INTO record AS x (hub_no, ident, era, seq, changed, person_no, type_no, kind, offset_min, flags, start_at, end_at, value, word, body, number)
        SELECT h.hub_no, ident, e, seq, pg_current_xact_id()::text::bigint, person_no, type_no, kind, offset_min, flags, start_at, end_at, value, word, body, number
        FROM newest ORDER BY ident
        ON CONFLICT (hub_no, ident) DO UPDATE SET era = EXCLUDED.era, seq = EXCLUDED.seq, changed = EXCLUDED.changed, kind = EXCLUDED.kind,
            flags = EXCLUDED.flags, value = EXCLUDED.value, word = EXCLUDED.word, body = EXCLUDED.body, number = EXCLUDED.number,
            -- What was taken back stays where it was, so that those who follow are told.
            person_no = CASE WHEN EXCLUDED.kind = 'r' THEN x.person_no ELSE EXCLUDED.person_no END,
            type_no = CASE WHEN EXCLUDED.kind = 'r' THEN x.type_no ELSE EXCLUDED.type_no END,
            offset_min = CASE WHEN EXCLUDED.kind = 'r' THEN x.offset_min ELSE EXCLUDED.offset_min END,
            start_at = CASE WHEN EXCLUDED.kind = 'r' THEN x.start_at ELSE EXCLUDED.start_at END,
            end_at = CASE WHEN EXCLUDED.kind = 'r' THEN x.end_at ELSE EXCLUDED.end_at END
        -- A record that leaves one consent and stays in another has one seq for both: what it is counts before that it left.
        WHERE (x.era, x.seq) < (EXCLUDED.era, EXCLUDED.seq) OR (x.era, x.seq) = (EXCLUDED.era, EXCLUDED.seq) AND x.kind = 'r' AND EXCLUDED.kind NOT IN ('r', 'x')
        RETURNING x.ident, x.seq, x.kind)          -- (xmax = 0, the usual test for a new row, is refused on a partitioned table)
    SELECT string_agg(coalesce(s.wrong, CASE WHEN d.ident IS NOT NULL THEN 's' ELSE 'h' END), '' ORDER BY s.row), count(d.ident),
        array_agg(d.ident) FILTER (WHERE d.kind = 'x') INTO answer, stored, erased
    FROM sent s LEFT JOIN done d ON d.ident = s.ident AND d.seq = s.seq AND s.wrong IS NULL;
    IF erased IS NOT NULL THEN
        WITH old AS (DELETE FROM history x WHERE x.hub_no = h.hub_no AND x.ident = ANY (erased) RETURNING tableoid)
        INSERT INTO scrub (relation) SELECT tableoid FROM old
            UNION SELECT tableoid FROM record x WHERE x.hub_no = h.hub_no AND x.ident = ANY (erased);
    END IF;
    UPDATE hub x SET batch = greatest(x.batch, take_v1.batch), versions = x.versions + stored, backlog = take_v1.backlog, heard = now()
        WHERE x.hub_no = h.hub_no;
    RETURN jsonb_build_object('answer', coalesce(answer, ''), 'receipt', format('c%s/%s/%s', (SELECT max(no) FROM incarnation), h.hub_no, take_v1.batch),
        'pause', 0);
END $$;

-- Like digest_v1, without erased records, which erased_v1 reports.
CREATE FUNCTION digest_v2(from_seq bigint, to_seq bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE h hub; refusal jsonb; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    RETURN (SELECT jsonb_build_object('rows', count(*), 'digest',
            coalesce(bit_xor(('x' || left(encode(sha256(convert_to(ident || ' ' || seq, 'UTF8')), 'hex'), 16))::bit(64)::bigint), 0))
        FROM record r WHERE r.hub_no = h.hub_no AND r.seq BETWEEN from_seq AND to_seq AND r.flags & 16 = 0 AND r.kind <> 'x');
END $$;

-- The records that were erased in the house: their numbers, and the seq of the retraction that remains of each. A hub gives take_v1 a record that
-- was erased while it stood. It gives no sink a second retraction of a record that was retracted before, and does not repeat an erasure from
-- before a restore of the centre.
CREATE FUNCTION erased_v1(epoch text, numbers bigint[], seqs bigint[]) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE h hub; refusal jsonb; erased uuid[]; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    -- Before the comparison after a restore of the hub, a number may be of a record that the hub has lost.
    IF NOT EXISTS (SELECT FROM era x WHERE x.hub_no = h.hub_no AND x.era = h.era AND x.epoch = erased_v1.epoch AND x.reconciled IS NOT NULL) THEN
        RETURN '{"refused":"epoch"}';
    END IF;
    IF cardinality(numbers) > 1000 OR cardinality(numbers) <> cardinality(seqs) THEN RETURN '{"refused":"limit"}'; END IF;
    WITH told AS (SELECT * FROM unnest(numbers, seqs) AS x(number, seq)),
    named AS (
        SELECT r.ident, x.seq FROM told x JOIN record r ON r.hub_no = h.hub_no AND r.number = x.number WHERE r.kind <> 'x' AND r.flags & 16 = 0
        -- What has its number for its seq was never changed; what has the seq is the retraction, of a plugin that does not tell numbers.
        UNION SELECT r.ident, x.seq FROM (SELECT number AS place, seq FROM told UNION ALL SELECT seq, seq FROM told) x
            JOIN record r ON r.hub_no = h.hub_no AND r.seq = x.place WHERE r.kind <> 'x' AND r.flags & 16 = 0),
    done AS (
        UPDATE record r SET era = h.era, seq = greatest(r.seq, x.seq), changed = pg_current_xact_id()::text::bigint, kind = 'x', flags = 0, person_no = NULL,
            type_no = NULL, offset_min = NULL, start_at = NULL, end_at = NULL, value = NULL, word = NULL, body = NULL, number = NULL
        FROM named x WHERE r.hub_no = h.hub_no AND r.ident = x.ident RETURNING r.ident)
    SELECT array_agg(ident) INTO erased FROM done;
    IF erased IS NOT NULL THEN
        WITH old AS (DELETE FROM history x WHERE x.hub_no = h.hub_no AND x.ident = ANY (erased) RETURNING tableoid)
        INSERT INTO scrub (relation) SELECT tableoid FROM old
            UNION SELECT tableoid FROM record x WHERE x.hub_no = h.hub_no AND x.ident = ANY (erased);
        UPDATE hub x SET versions = x.versions + cardinality(erased) WHERE x.hub_no = h.hub_no;
    END IF;
    RETURN jsonb_build_object('rows', coalesce(cardinality(erased), 0));
END $$;
GRANT EXECUTE ON FUNCTION digest_v2, erased_v1 TO hub;

-- The incarnation in which the house last sent this consent. A restored centre has consents that were withdrawn since, so it shows a study no
-- person before the house has sent the consent again.
ALTER TABLE consent ADD confirmed int NOT NULL DEFAULT incarnation_v1();
CREATE OR REPLACE VIEW study_person WITH (security_barrier) AS
    SELECT s.name AS study, c.pseudonym, (SELECT array_agg(t.id ORDER BY t.id) FROM type t WHERE t.type_no = ANY (c.types)) AS types, c.since, c.until
    FROM my_study s JOIN consent c USING (study_no) WHERE s.rows AND c.withdrawn IS NULL AND c.confirmed = (SELECT max(no) FROM incarnation);
CREATE OR REPLACE VIEW agreed WITH (security_barrier) AS
    SELECT s.study_no, s.name AS study, s.rows, s.min_group, md5(c.salt::text || r.ident)::uuid AS record, c.pseudonym, t.id AS type, t.unit, t.cumulative,
        r.kind, r.start_at, r.end_at, r.offset_min, r.value, r.word, r.flags, r.body, r.changed
    FROM my_study s JOIN consent c USING (study_no) JOIN record r ON r.hub_no = c.hub_no AND r.person_no = c.person_no AND r.type_no = ANY (c.types)
        JOIN type t ON t.type_no = r.type_no
    WHERE c.withdrawn IS NULL AND c.confirmed = (SELECT max(no) FROM incarnation) AND covers(c.since, c.until, r.start_at, r.offset_min);

CREATE OR REPLACE FUNCTION hello_v1(hub_id text, epoch text, software text, at timestamptz) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$
DECLARE h hub; refusal jsonb; e era; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL AND refusal ->> 'refused' <> 'settings' THEN RETURN refusal; END IF;
    IF h.hub_id IS DISTINCT FROM hello_v1.hub_id THEN
        IF h.hub_id IS NOT NULL OR EXISTS (SELECT FROM hub x WHERE x.hub_id = hello_v1.hub_id) THEN RETURN '{"refused":"another hub"}'; END IF;
        UPDATE hub x SET hub_id = left(hello_v1.hub_id, 64) WHERE x.hub_no = h.hub_no;
    END IF;
    SELECT * INTO e FROM era x WHERE x.hub_no = h.hub_no AND x.epoch = hello_v1.epoch;
    IF FOUND AND e.era < h.era THEN RETURN '{"refused":"epoch"}'; END IF;     -- a clone, or an old disk that was put back
    IF NOT FOUND THEN
        INSERT INTO era (hub_no, era, epoch, reconciled) VALUES (h.hub_no, h.era + 1, left(hello_v1.epoch, 64), CASE WHEN h.era = 0 THEN now() END)
            RETURNING * INTO e;
    END IF;
    UPDATE hub x SET era = e.era, software = left(hello_v1.software, 64), skew = clock_timestamp() - at WHERE x.hub_no = h.hub_no;
    RETURN jsonb_build_object(
        'incarnation', (SELECT max(no) FROM incarnation), 'batch', h.batch, 'versions', h.versions, 'era', e.era, 'reconcile', e.reconciled IS NULL,
        'state', h.state, 'skew', round(extract(epoch FROM clock_timestamp() - at), 3), 'time', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        'settings', to_jsonb(lies()),
        'serves', '["hello_v1","take_v1","digest_v1","swept_v1","studies_v1","consent_v1","withdraw_v1","erasure_v1","renew_v1","digest_v2","erased_v1"]'::jsonb,
        'wants', (SELECT coalesce(jsonb_agg(jsonb_build_object('study', s.name, 'person', p.person_id, 'since', c.since, 'until', c.until,
                -- Of an earlier incarnation: without types it is none that the house has, which therefore repeats what it says now, whatever its age.
                'types', (SELECT coalesce(jsonb_agg(t.id ORDER BY t.id), '[]') FROM type t WHERE t.type_no = ANY (c.types) AND c.confirmed = incarnation_v1()))), '[]')
            FROM consent c JOIN person p USING (hub_no, person_no) JOIN study s USING (study_no) WHERE c.hub_no = h.hub_no AND c.withdrawn IS NULL));
END $$;

CREATE OR REPLACE FUNCTION consent_v1(study text, person_id text, types text[], since date, until date, text_hash bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$
DECLARE h hub; refusal jsonb; s study; p smallint; agreed int[]; last date; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    SELECT x.* INTO s FROM study x JOIN offer USING (study_no)
        WHERE x.name = consent_v1.study AND hub_no = h.hub_no AND x.ended IS NULL AND (x.ends IS NULL OR x.ends >= current_date);
    IF NOT FOUND THEN RETURN '{"refused":"study"}'; END IF;
    SELECT array_agg(t.type_no ORDER BY t.type_no) INTO agreed FROM type t WHERE t.id = ANY (consent_v1.types) AND t.type_no = ANY (s.types);
    IF agreed IS NULL OR cardinality(agreed) <> (SELECT count(DISTINCT x) FROM unnest(consent_v1.types) x) THEN RETURN '{"refused":"types"}'; END IF;
    last := least(consent_v1.until, s.ends);
    SELECT x.person_no INTO p FROM person x WHERE x.hub_no = h.hub_no AND x.person_id = consent_v1.person_id;
    IF NOT FOUND THEN
        SELECT coalesce(max(x.person_no), 0) + 1 INTO p FROM person x WHERE x.hub_no = h.hub_no;
        IF p > 1000 OR length(consent_v1.person_id) > 64 THEN RETURN '{"refused":"limit"}'; END IF;
        INSERT INTO person VALUES (h.hub_no, p, consent_v1.person_id);
    END IF;
    -- Other types or days: another pseudonym, so that those who follow read the person from the beginning and drop what they had.
    INSERT INTO consent AS c (study_no, hub_no, person_no, types, since, until, text_hash)
        VALUES (s.study_no, h.hub_no, p, agreed, consent_v1.since, last, consent_v1.text_hash)
    ON CONFLICT (study_no, hub_no, person_no) DO UPDATE SET types = EXCLUDED.types, since = EXCLUDED.since, until = EXCLUDED.until, text_hash = EXCLUDED.text_hash,
        given = now(), withdrawn = NULL, pseudonym = EXCLUDED.pseudonym, salt = EXCLUDED.salt
        WHERE (c.types, c.since, c.until, c.text_hash, c.withdrawn) IS DISTINCT FROM (EXCLUDED.types, EXCLUDED.since, EXCLUDED.until, EXCLUDED.text_hash, NULL::timestamptz);
    UPDATE consent c SET confirmed = incarnation_v1()
        WHERE c.study_no = s.study_no AND c.hub_no = h.hub_no AND c.person_no = p AND c.confirmed <> incarnation_v1();
    RETURN '{"consented":true}';
END $$;
