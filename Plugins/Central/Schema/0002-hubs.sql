-- The functions that a hub calls (Docs/Central.md, The contract). Every function writes the hub's own row, even if it only reads or all records
-- of a batch are repeats. So each call has a commit record, and its commit waits for the replicas. Otherwise a leader that was cut off could
-- return rows that are lost a moment later.
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;

-- Whether a moment is on one of these days, by its local clock. Used alike for records that are taken, shown and erased.
CREATE FUNCTION covers(since date, until date, moment timestamptz, offset_min smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (moment AT TIME ZONE 'UTC' + coalesce(offset_min, 0) * interval '1 minute')::date BETWEEN since AND coalesce(until, 'infinity')
$$;
CREATE FUNCTION my_hub() RETURNS int LANGUAGE sql STABLE SECURITY DEFINER SET search_path = central, pg_temp AS $$
    SELECT hub_no FROM hub WHERE login = session_user
$$;
-- The settings of this session and this server that would make receipts untrue. `single` is reported and accepted.
CREATE FUNCTION lies() RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT array_remove(ARRAY[
        CASE WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN 'synchronous_commit' END,
        CASE WHEN current_setting('fsync') <> 'on' THEN 'fsync' END,
        CASE WHEN current_setting('full_page_writes') <> 'on' THEN 'full_page_writes' END,
        CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'single' END], NULL)
$$;
-- Returns the hub that has logged in, and locks its row until the end of the transaction, also while the commit waits. So a hub has one batch at a time.
CREATE FUNCTION enter() RETURNS hub LANGUAGE sql SET search_path = central, pg_temp AS $$
    UPDATE hub SET heard = now() WHERE login = session_user RETURNING *
$$;
-- The reason why the hub is refused; null if it is accepted.
CREATE FUNCTION refused(h hub) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN h.hub_no IS NULL THEN '{"refused":"login"}'
        WHEN h.state <> 'active' THEN jsonb_build_object('refused', h.state)
        WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN '{"refused":"settings"}' END
$$;

CREATE FUNCTION hello_v1(hub_id text, epoch text, software text, at timestamptz) RETURNS jsonb
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
        'serves', '["hello_v1","take_v1","digest_v1","swept_v1","studies_v1","consent_v1","withdraw_v1","erasure_v1","renew_v1"]'::jsonb,
        'wants', (SELECT coalesce(jsonb_agg(jsonb_build_object('study', s.name, 'person', p.person_id, 'since', c.since, 'until', c.until,
                'types', (SELECT jsonb_agg(t.id ORDER BY t.id) FROM type t WHERE t.type_no = ANY (c.types)))), '[]')
            FROM consent c JOIN person p USING (hub_no, person_no) JOIN study s USING (study_no) WHERE c.hub_no = h.hub_no AND c.withdrawn IS NULL));
END $$;

CREATE FUNCTION take_v1(epoch text, batch bigint, records jsonb, backlog bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE h hub; e smallint; answer text; stored int; erased uuid[]; BEGIN
    SELECT * INTO h FROM hub WHERE login = session_user FOR UPDATE;
    IF NOT FOUND OR h.state <> 'active' THEN RETURN jsonb_build_object('refused', coalesce(h.state, 'login')); END IF;
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN RETURN '{"refused":"settings"}'; END IF;
    SELECT x.era INTO e FROM era x WHERE x.hub_no = h.hub_no AND x.epoch = take_v1.epoch;
    IF e IS DISTINCT FROM h.era THEN RETURN '{"refused":"epoch"}'; END IF;
    IF jsonb_array_length(records) > 1000 OR pg_column_size(records) > 8388608 THEN RETURN '{"refused":"limit"}'; END IF;
    WITH sent AS MATERIALIZED (
        SELECT r.n, r.i AS ident, r.s AS seq, r.k::"char" AS kind, p.person_no, t.type_no, d.o AS offset_min, (coalesce(r.f, 0) & 15)::smallint AS flags,
            d.a AS start_at, d.e AS end_at, d.v AS value, d.w AS word, d.b AS body,
            CASE WHEN r.k IN ('r', 'x') THEN NULL
                WHEN t.type_no IS NULL OR r.k NOT IN ('q', 'c', 'o', 'w', 'h', 't', 'd') THEN 't'
                WHEN NOT EXISTS (SELECT FROM consent c WHERE c.hub_no = h.hub_no AND c.person_no = p.person_no AND c.withdrawn IS NULL
                    AND t.type_no = ANY (c.types) AND covers(c.since, c.until, d.a, d.o)) THEN 'c' END AS wrong
        FROM ROWS FROM (jsonb_to_recordset(records) AS (i uuid, s bigint, k text, p text, t text, a timestamptz, e timestamptz, o smallint, f smallint, v float8, w text, b jsonb))
            WITH ORDINALITY AS r(i, s, k, p, t, a, e, o, f, v, w, b, n)
        -- Of what was taken back or erased in the house nothing is taken but which record it is.
        LEFT JOIN LATERAL (SELECT r.p, r.t, r.a, r.e, r.o, r.v, r.w, r.b WHERE r.k NOT IN ('r', 'x')) d ON true
        LEFT JOIN person p ON p.hub_no = h.hub_no AND p.person_id = d.p
        LEFT JOIN type t ON t.id = d.t),
    newest AS (SELECT DISTINCT ON (ident) * FROM sent WHERE wrong IS NULL ORDER BY ident, seq DESC),
    done AS (
        INSERT INTO record AS x (hub_no, ident, era, seq, changed, person_no, type_no, kind, offset_min, flags, start_at, end_at, value, word, body)
        SELECT h.hub_no, ident, e, seq, pg_current_xact_id()::text::bigint, person_no, type_no, kind, offset_min, flags, start_at, end_at, value, word, body
        FROM newest ORDER BY ident
        ON CONFLICT (hub_no, ident) DO UPDATE SET era = EXCLUDED.era, seq = EXCLUDED.seq, changed = EXCLUDED.changed, kind = EXCLUDED.kind,
            flags = EXCLUDED.flags, value = EXCLUDED.value, word = EXCLUDED.word, body = EXCLUDED.body,
            -- What was taken back stays where it was, so that those who follow are told.
            person_no = CASE WHEN EXCLUDED.kind = 'r' THEN x.person_no ELSE EXCLUDED.person_no END,
            type_no = CASE WHEN EXCLUDED.kind = 'r' THEN x.type_no ELSE EXCLUDED.type_no END,
            offset_min = CASE WHEN EXCLUDED.kind = 'r' THEN x.offset_min ELSE EXCLUDED.offset_min END,
            start_at = CASE WHEN EXCLUDED.kind = 'r' THEN x.start_at ELSE EXCLUDED.start_at END,
            end_at = CASE WHEN EXCLUDED.kind = 'r' THEN x.end_at ELSE EXCLUDED.end_at END
        -- A record that leaves one consent and stays in another has one seq for both: what it is counts before that it left.
        WHERE (x.era, x.seq) < (EXCLUDED.era, EXCLUDED.seq) OR (x.era, x.seq) = (EXCLUDED.era, EXCLUDED.seq) AND x.kind = 'r' AND EXCLUDED.kind NOT IN ('r', 'x')
        RETURNING x.ident, x.seq, x.kind)          -- (xmax = 0, the usual test for a new row, is refused on a partitioned table)
    SELECT string_agg(coalesce(s.wrong, CASE WHEN d.ident IS NOT NULL THEN 's' ELSE 'h' END), '' ORDER BY s.n), count(d.ident),
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

-- Copies superseded versions into the history, except erased ones, and notes for followers the records that left a person or a type.
CREATE FUNCTION keep_history() RETURNS trigger LANGUAGE plpgsql SET search_path = central, pg_temp AS $$ BEGIN
    INSERT INTO history SELECT OLD.*;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_history AFTER UPDATE ON record FOR EACH ROW
    WHEN (NEW.kind <> 'x' AND OLD.kind <> 'x' AND (OLD.era, OLD.seq) IS DISTINCT FROM (NEW.era, NEW.seq)) EXECUTE FUNCTION keep_history();
CREATE FUNCTION tell_gone() RETURNS trigger LANGUAGE plpgsql SET search_path = central, pg_temp AS $$ BEGIN
    INSERT INTO gone (study_no, record, changed) SELECT c.study_no, md5(c.salt::text || OLD.ident)::uuid, NEW.changed FROM consent c
        WHERE c.hub_no = OLD.hub_no AND c.person_no = OLD.person_no AND c.withdrawn IS NULL AND OLD.type_no = ANY (c.types);
    RETURN NULL;
END $$;
CREATE TRIGGER tell_gone AFTER UPDATE ON record FOR EACH ROW
    WHEN ((OLD.person_no, OLD.type_no) IS DISTINCT FROM (NEW.person_no, NEW.type_no)) EXECUTE FUNCTION tell_gone();

CREATE FUNCTION digest_v1(from_seq bigint, to_seq bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE h hub; refusal jsonb; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    RETURN (SELECT jsonb_build_object('rows', count(*), 'digest',
            coalesce(bit_xor(('x' || left(encode(sha256(convert_to(ident || ' ' || seq, 'UTF8')), 'hex'), 16))::bit(64)::bigint), 0))
        FROM record r WHERE r.hub_no = h.hub_no AND r.seq BETWEEN from_seq AND to_seq AND r.flags & 16 = 0);
END $$;

CREATE FUNCTION swept_v1(head bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE h hub; refusal jsonb; n bigint; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    UPDATE record r SET flags = flags | 16::smallint, changed = pg_current_xact_id()::text::bigint
        WHERE r.hub_no = h.hub_no AND r.era < h.era AND r.seq > head AND r.flags & 16 = 0;
    GET DIAGNOSTICS n = ROW_COUNT;
    UPDATE era x SET reconciled = now() WHERE x.hub_no = h.hub_no AND x.era = h.era;
    RETURN jsonb_build_object('rows', n);
END $$;

CREATE FUNCTION studies_v1() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE h hub; refusal jsonb; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('study', s.name, 'title', s.title, 'words', s.words, 'group', s.min_group, 'rows', s.rows, 'ends', s.ends,
            'types', (SELECT jsonb_agg(t.id ORDER BY t.id) FROM type t WHERE t.type_no = ANY (s.types))) ORDER BY s.name), '[]')
        FROM study s JOIN offer USING (study_no) WHERE hub_no = h.hub_no AND s.ended IS NULL AND (s.ends IS NULL OR s.ends >= current_date));
END $$;

CREATE FUNCTION consent_v1(study text, person_id text, types text[], since date, until date, text_hash bytea) RETURNS jsonb
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
    RETURN '{"consented":true}';
END $$;

CREATE FUNCTION withdraw_v1(study text, person_id text, erase boolean) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE h hub; refusal jsonb; p smallint; r bigint; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    SELECT x.person_no INTO p FROM person x WHERE x.hub_no = h.hub_no AND x.person_id = withdraw_v1.person_id;
    IF NOT FOUND THEN RETURN '{"refused":"person"}'; END IF;
    IF NOT EXISTS (SELECT FROM consent c JOIN study s USING (study_no) WHERE s.name = withdraw_v1.study AND c.hub_no = h.hub_no AND c.person_no = p)
        THEN RETURN '{"refused":"consent"}'; END IF;
    UPDATE consent c SET withdrawn = now(), pseudonym = gen_random_uuid(), salt = gen_random_uuid() FROM study s
        WHERE s.name = withdraw_v1.study AND c.study_no = s.study_no AND c.hub_no = h.hub_no AND c.person_no = p AND c.withdrawn IS NULL;
    IF erase THEN
        SELECT erasure_no INTO r FROM erasure x WHERE x.hub_no = h.hub_no AND x.person_no = p AND x.done IS NULL;
        IF NOT FOUND THEN INSERT INTO erasure (hub_no, person_no) VALUES (h.hub_no, p) RETURNING erasure_no INTO r; END IF;
    END IF;
    RETURN jsonb_build_object('withdrawn', true, 'erasure', r);
END $$;

CREATE FUNCTION erasure_v1(no bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE h hub; refusal jsonb; r jsonb; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    SELECT jsonb_build_object('state', CASE WHEN done IS NULL THEN 'asked' ELSE 'done' END, 'asked', asked, 'done', done,
            'rows', CASE WHEN remains IS NOT NULL THEN rows END, 'left', remains, 'files', files)
        INTO r FROM erasure x WHERE x.erasure_no = no AND x.hub_no = h.hub_no;
    RETURN coalesce(r, '{"refused":"login"}');
END $$;
