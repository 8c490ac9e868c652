-- Batches as arrays, which PostgreSQL reads faster than JSON. take_v1 stays for older plugins.
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;

-- The day on the record's local clock.
CREATE FUNCTION local_day(moment timestamptz, offset_min smallint) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (moment AT TIME ZONE 'UTC' + coalesce(offset_min, 0) * interval '1 minute')::date
$$;
CREATE OR REPLACE FUNCTION covers(since date, until date, moment timestamptz, offset_min smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT central.local_day(moment, offset_min) BETWEEN since AND coalesce(until, 'infinity')
$$;

-- Returns the hub that has logged in, and locks its row until the end of the transaction. take_v2 writes the row at its end.
CREATE FUNCTION sender() RETURNS hub LANGUAGE sql SET search_path = central, pg_temp AS $$ SELECT * FROM hub WHERE login = session_user FOR UPDATE $$;
-- The reason why the hub may not give records of this epoch; null if it may.
CREATE FUNCTION refused(h hub, epoch text) RETURNS jsonb LANGUAGE sql STABLE SET search_path = central, pg_temp AS $$
    SELECT coalesce(refused(h), CASE WHEN NOT EXISTS (SELECT FROM era x WHERE x.hub_no = h.hub_no AND x.era = h.era AND x.epoch = refused.epoch) THEN '{"refused":"epoch"}'::jsonb END)
$$;

-- A position in all arrays is one record. If an array is null, no record has that member.
CREATE FUNCTION take_v2(epoch text, batch bigint, backlog bigint, i uuid[], s bigint[], k text[], n bigint[] DEFAULT NULL, p text[] DEFAULT NULL, t text[] DEFAULT NULL,
    a timestamptz[] DEFAULT NULL, e timestamptz[] DEFAULT NULL, o smallint[] DEFAULT NULL, f smallint[] DEFAULT NULL, v float8[] DEFAULT NULL, w text[] DEFAULT NULL,
    b jsonb[] DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE h hub; refusal jsonb; lengths int[]; answer text; stored int; erased uuid[]; BEGIN
    h := sender(); refusal := refused(h, epoch);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    lengths := ARRAY[coalesce(cardinality(i), 0), coalesce(cardinality(s), 0), coalesce(cardinality(k), 0), cardinality(n), cardinality(p), cardinality(t), cardinality(a),
        cardinality(e), cardinality(o), cardinality(f), cardinality(v), cardinality(w), cardinality(b)];
    IF 1000 < ANY (lengths) OR pg_column_size(ROW(i, s, k, n, p, t, a, e, o, f, v, w, b)) > 8388608 THEN RETURN '{"refused":"limit"}'; END IF;
    IF lengths[1] <> ANY (lengths) THEN RAISE 'the arrays are not of one length' USING ERRCODE = 'array_subscript_error'; END IF;
    WITH agreed AS MATERIALIZED (
        SELECT x.p, x.t, q.person_no, y.type_no, range_agg(daterange(c.since, nullif(c.until, '5874897-12-31'), '[]')) AS days    -- (a range to the last day that there is would have to name the next)
        FROM (SELECT DISTINCT u.p, u.t FROM unnest(p, t) AS u(p, t)) x JOIN person q ON q.hub_no = h.hub_no AND q.person_id = x.p JOIN type y ON y.id = x.t
        JOIN consent c ON c.hub_no = h.hub_no AND c.person_no = q.person_no AND y.type_no = ANY (c.types) AND c.withdrawn IS NULL
            AND c.since <= coalesce(c.until, 'infinity')
        GROUP BY x.p, x.t, q.person_no, y.type_no),
    sent AS MATERIALIZED (
        SELECT r.row, r.i AS ident, r.s AS seq, nullif(r.n, r.s) AS number, r.k::"char" AS kind, c.person_no, c.type_no, d.o AS offset_min, (coalesce(r.f, 0) & 15)::smallint AS flags,
            d.a AS start_at, d.e AS end_at, d.v AS value, d.w AS word, d.b AS body,
            CASE WHEN r.k IN ('r', 'x') THEN NULL
                WHEN coalesce(r.k NOT IN ('q', 'c', 'o', 'w', 'h', 't', 'd'), true) OR c.days IS NULL AND NOT EXISTS (SELECT FROM type y WHERE y.id = r.t) THEN 't'
                WHEN c.days IS NULL THEN 'c' WHEN c.days @> local_day(d.a, d.o) THEN NULL ELSE 'c' END AS wrong
        FROM unnest(i, s, k, n, p, t, a, e, o, f, v, w, b) WITH ORDINALITY AS r(i, s, k, n, p, t, a, e, o, f, v, w, b, row)
        -- Of what was taken back or erased in the house nothing is taken but which record it is.
        LEFT JOIN LATERAL (SELECT r.p, r.t, r.a, r.e, r.o, r.v, r.w, r.b WHERE r.k NOT IN ('r', 'x')) d ON true
        LEFT JOIN agreed c ON c.p = d.p AND c.t = d.t),
    -- A record that leaves one consent and stays in another has one seq for both: what it is counts before that it left, here and below.
    newest AS (SELECT DISTINCT ON (ident) * FROM sent WHERE wrong IS NULL ORDER BY ident, seq DESC, kind IN ('r', 'x')),
    done AS (
        INSERT INTO record AS x (hub_no, ident, era, seq, changed, person_no, type_no, kind, offset_min, flags, start_at, end_at, value, word, body, number)
        SELECT h.hub_no, ident, h.era, seq, pg_current_xact_id()::text::bigint, person_no, type_no, kind, offset_min, flags, start_at, end_at, value, word, body, number
        -- As the hub sends them, by seq and mostly by time: so two of the indices grow at their end, whose pages are then full.
        FROM newest ORDER BY row
        ON CONFLICT (hub_no, ident) DO UPDATE SET era = EXCLUDED.era, seq = EXCLUDED.seq, changed = EXCLUDED.changed, kind = EXCLUDED.kind,
            flags = EXCLUDED.flags, value = EXCLUDED.value, word = EXCLUDED.word, body = EXCLUDED.body, number = EXCLUDED.number,
            -- What was taken back stays where it was, so that those who follow are told.
            person_no = CASE WHEN EXCLUDED.kind = 'r' THEN x.person_no ELSE EXCLUDED.person_no END,
            type_no = CASE WHEN EXCLUDED.kind = 'r' THEN x.type_no ELSE EXCLUDED.type_no END,
            offset_min = CASE WHEN EXCLUDED.kind = 'r' THEN x.offset_min ELSE EXCLUDED.offset_min END,
            start_at = CASE WHEN EXCLUDED.kind = 'r' THEN x.start_at ELSE EXCLUDED.start_at END,
            end_at = CASE WHEN EXCLUDED.kind = 'r' THEN x.end_at ELSE EXCLUDED.end_at END
        WHERE (x.era, x.seq) < (EXCLUDED.era, EXCLUDED.seq) OR (x.era, x.seq) = (EXCLUDED.era, EXCLUDED.seq) AND x.kind = 'r' AND EXCLUDED.kind NOT IN ('r', 'x')
        RETURNING x.ident, x.seq, x.kind)          -- (xmax = 0, the usual test for a new row, is refused on a partitioned table)
    SELECT string_agg(coalesce(z.wrong, CASE WHEN d.ident IS NOT NULL THEN 's' ELSE 'h' END), '' ORDER BY z.row), (SELECT count(*) FROM done),
        array_agg(d.ident) FILTER (WHERE d.kind = 'x') INTO answer, stored, erased
    FROM sent z LEFT JOIN done d ON d.ident = z.ident AND d.seq = z.seq AND z.wrong IS NULL;
    IF erased IS NOT NULL THEN
        WITH old AS (DELETE FROM history x WHERE x.hub_no = h.hub_no AND x.ident = ANY (erased) RETURNING tableoid)
        INSERT INTO scrub (relation) SELECT tableoid FROM old
            UNION SELECT tableoid FROM record x WHERE x.hub_no = h.hub_no AND x.ident = ANY (erased);
    END IF;
    UPDATE hub x SET batch = greatest(x.batch, take_v2.batch), versions = x.versions + stored, backlog = take_v2.backlog, heard = now()
        WHERE x.hub_no = h.hub_no;
    RETURN jsonb_build_object('answer', coalesce(answer, ''), 'receipt', format('c%s/%s/%s', (SELECT max(no) FROM incarnation), h.hub_no, take_v2.batch),
        'pause', 0);
END $$;

-- The same for an array of JSON objects.
CREATE OR REPLACE FUNCTION take_v1(epoch text, batch bigint, records jsonb, backlog bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE refusal jsonb; BEGIN
    refusal := refused(sender(), epoch);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    IF jsonb_array_length(records) > 1000 OR pg_column_size(records) > 8388608 THEN RETURN '{"refused":"limit"}'; END IF;
    RETURN (SELECT take_v2(epoch, batch, backlog, array_agg(r.i), array_agg(r.s), array_agg(r.k), array_agg(r.n), array_agg(r.p), array_agg(r.t), array_agg(r.a),
            array_agg(r.e), array_agg(r.o), array_agg(r.f), array_agg(r.v), array_agg(r.w), array_agg(r.b))
        FROM jsonb_to_recordset(records) AS r(i uuid, s bigint, k text, p text, t text, a timestamptz, e timestamptz, o smallint, f smallint, v float8, w text, b jsonb, n bigint));
END $$;

-- The available functions.
CREATE FUNCTION serves() RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT '["hello_v1","take_v1","digest_v1","swept_v1","studies_v1","consent_v1","withdraw_v1","erasure_v1","renew_v1","digest_v2","erased_v1","take_v2"]'::jsonb
$$;
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
        'serves', serves(),
        'wants', (SELECT coalesce(jsonb_agg(jsonb_build_object('study', s.name, 'person', p.person_id, 'since', c.since, 'until', c.until,
                -- Of an earlier incarnation: without types it is none that the house has, which therefore repeats what it says now, whatever its age.
                'types', (SELECT coalesce(jsonb_agg(t.id ORDER BY t.id), '[]') FROM type t WHERE t.type_no = ANY (c.types) AND c.confirmed = incarnation_v1()))), '[]')
            FROM consent c JOIN person p USING (hub_no, person_no) JOIN study s USING (study_no) WHERE c.hub_no = h.hub_no AND c.withdrawn IS NULL));
END $$;
GRANT EXECUTE ON FUNCTION take_v2 TO hub;
GRANT EXECUTE ON FUNCTION local_day TO staff;
