-- The desk's functions: months, erasures, figures.
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;

-- Creates the tables of the next months, and drops those that ended more than `keep` months ago. Moves rows from the rest table into their months.
CREATE PROCEDURE months_v1(keep int) LANGUAGE plpgsql SET search_path = central, pg_temp AS $$ DECLARE m date; p text; BEGIN
    IF keep < 1 THEN RAISE 'keep at least 1 month of history, not %', keep USING ERRCODE = 'invalid_parameter_value'; END IF;
    FOR m IN SELECT generate_series(date_trunc('month', least(now(), (SELECT min(superseded) FROM history_rest)) AT TIME ZONE 'UTC'),
            date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months', '1 month')::date LOOP
        p := 'history_' || to_char(m, 'YYYYMM');
        CONTINUE WHEN to_regclass(p) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE history INCLUDING DEFAULTS)', p);
        EXECUTE format('WITH moved AS (DELETE FROM history_rest WHERE superseded >= %L AND superseded < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
            m || ' 00:00Z', (m + interval '1 month')::date || ' 00:00Z', p);
        EXECUTE format('ALTER TABLE history ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', p, m || ' 00:00Z', (m + interval '1 month')::date || ' 00:00Z');
        PERFORM forget_statistics(p::regclass);
    END LOOP;
    FOR p IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'history'::regclass
        AND c.relname ~ '^history_\d{6}$' AND to_date(right(c.relname, 6), 'YYYYMM') < date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => keep) LOOP
        EXECUTE format('DROP TABLE %I', p);
    END LOOP;
END $$;
CALL months_v1(24);

-- Whether a consent that was not withdrawn covers the record of a row.
CREATE FUNCTION is_covered(hub int, person smallint, type int, moment timestamptz, offset_min smallint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM central.consent c WHERE c.hub_no = hub AND c.person_no = person AND c.withdrawn IS NULL
        AND type = ANY (c.types) AND central.covers(c.since, c.until, moment, offset_min))
$$;
-- Carries out the requested erasures in pieces with a commit each. Then it counts the remaining rows; an erasure is done when there are none.
CREATE PROCEDURE erase_v1(piece int DEFAULT 5000) LANGUAGE plpgsql AS $$ DECLARE j central.erasure; place text; n bigint; BEGIN
    FOR j IN SELECT * FROM central.erasure WHERE done IS NULL ORDER BY erasure_no LOOP
        FOREACH place IN ARRAY ARRAY['record', 'history'] LOOP
            LOOP
                EXECUTE format('WITH few AS (SELECT tableoid, ctid FROM central.%1$I x WHERE x.hub_no = $1 AND x.person_no = $2
                        AND NOT central.is_covered(x.hub_no, x.person_no, x.type_no, x.start_at, x.offset_min) LIMIT $3 FOR UPDATE),
                    went AS (DELETE FROM central.%1$I x USING few WHERE x.tableoid = few.tableoid AND x.ctid = few.ctid AND x.hub_no = $1 RETURNING x.tableoid),
                    noted AS (INSERT INTO central.scrub (relation) SELECT DISTINCT tableoid FROM went),
                    counted AS (UPDATE central.erasure SET rows = rows + (SELECT count(*) FROM went) WHERE erasure_no = $4)
                    SELECT count(*) FROM went', place) INTO n USING j.hub_no, j.person_no, piece, j.erasure_no;
                COMMIT;
                EXIT WHEN n = 0;
            END LOOP;
        END LOOP;
        UPDATE central.erasure e SET remains = o.n, done = CASE WHEN o.n = 0 THEN clock_timestamp() END FROM (
            SELECT (SELECT count(*) FROM central.record x WHERE x.hub_no = j.hub_no AND x.person_no = j.person_no
                    AND NOT central.is_covered(x.hub_no, x.person_no, x.type_no, x.start_at, x.offset_min))
                + (SELECT count(*) FROM central.history x WHERE x.hub_no = j.hub_no AND x.person_no = j.person_no
                    AND NOT central.is_covered(x.hub_no, x.person_no, x.type_no, x.start_at, x.offset_min)) AS n) o
            WHERE e.erasure_no = j.erasure_no;
        COMMIT;
    END LOOP;
END $$;

-- The files with bytes of deleted rows. A file is not `ready` while a transaction, here or on a replica, could still see those rows: a rewrite would keep them.
CREATE VIEW scrub_due AS
    SELECT s.relation::regclass::text AS place, max(s.xid::text::bigint) AS xid, pg_total_relation_size(s.relation) AS bytes,
        bool_and(age(s.xid::xid) > o.oldest) AS ready
    FROM scrub s JOIN pg_class c ON c.oid = s.relation, (SELECT coalesce(max(age), 0) AS oldest FROM (
        SELECT age(backend_xmin) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
        UNION ALL SELECT age(backend_xmin) FROM pg_stat_replication WHERE backend_xmin IS NOT NULL
        UNION ALL SELECT age(xmin) FROM pg_replication_slots WHERE xmin IS NOT NULL
        UNION ALL SELECT age(transaction) FROM pg_prepared_xacts) x) o GROUP BY s.relation, o.oldest;
-- Called after `place` was rewritten (VACUUM FULL): rows deleted up to `xid` are in no file. An erasure is finished when no file from before it is due.
CREATE FUNCTION scrubbed_v1(place text, xid bigint) RETURNS void LANGUAGE sql SET search_path = central, pg_temp AS $$
    DELETE FROM scrub s WHERE s.relation = to_regclass(scrubbed_v1.place) AND s.xid::text::bigint <= scrubbed_v1.xid;
    DELETE FROM scrub s WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = s.relation);
    UPDATE erasure e SET files = clock_timestamp() WHERE done IS NOT NULL AND files IS NULL AND NOT EXISTS (SELECT FROM scrub s WHERE s.at <= e.done);
$$;

CREATE FUNCTION metrics_v1() RETURNS TABLE (name text, label text, of text, value float8)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = central, pg_temp AS $$
    SELECT 'central_incarnation', NULL, NULL, max(no) FROM incarnation
    UNION ALL SELECT 'central_settings_wrong', 'setting', s, CASE WHEN s = ANY (lies()) THEN 1 ELSE 0 END
        FROM unnest(ARRAY['synchronous_commit', 'fsync', 'full_page_writes', 'single']) s
    UNION ALL SELECT 'central_replicas', 'state', s, (SELECT count(*) FROM pg_stat_replication r WHERE r.sync_state = s AND r.state = 'streaming')
        FROM unnest(ARRAY['sync', 'quorum', 'potential', 'async']) s
    UNION ALL SELECT 'central_replica_lag_bytes', 'replica', left(r.application_name, 64), pg_wal_lsn_diff(pg_current_wal_lsn(), r.flush_lsn)::float8
        FROM pg_stat_replication r WHERE r.flush_lsn IS NOT NULL
    UNION ALL SELECT 'central_hubs', 'state', s, (SELECT count(*) FROM hub h WHERE h.state = s) FROM unnest(ARRAY['active', 'paused', 'stopped', 'erased']) s
    UNION ALL SELECT 'central_hubs_silent', NULL, NULL, count(*) FROM hub WHERE state = 'active' AND heard < now() - interval '1 day'
    UNION ALL SELECT m.name, 'hub', h.login, m.value FROM (SELECT * FROM hub WHERE state = 'active' AND heard IS NOT NULL ORDER BY backlog DESC NULLS LAST LIMIT 1000) h,
        LATERAL (VALUES ('central_hub_backlog', h.backlog::float8), ('central_hub_heard_seconds', extract(epoch FROM now() - h.heard)::float8),
            ('central_hub_skew_seconds', extract(epoch FROM h.skew)::float8)) m(name, value) WHERE m.value IS NOT NULL
    UNION ALL SELECT 'central_versions_total', NULL, NULL, coalesce(sum(versions), 0)::float8 FROM hub
    UNION ALL SELECT 'central_erasures_open', NULL, NULL, count(*) FROM erasure WHERE done IS NULL
    UNION ALL SELECT 'central_erasure_oldest_seconds', NULL, NULL, coalesce(extract(epoch FROM now() - min(asked)), 0)::float8 FROM erasure WHERE done IS NULL
    UNION ALL SELECT 'central_erasure_files_due', NULL, NULL, count(DISTINCT relation) FROM scrub
    UNION ALL SELECT 'central_requests_waiting', NULL, NULL, count(*) FROM request WHERE signed IS NULL AND refused IS NULL
    UNION ALL SELECT 'central_bytes', 'table', p::text, (SELECT coalesce(sum(pg_total_relation_size(i.inhrelid)), 0)::float8 FROM pg_inherits i WHERE i.inhparent = p)
        FROM unnest(ARRAY['record'::regclass, 'history'::regclass]) p
    UNION ALL SELECT 'central_history_rest_rows', NULL, NULL, count(*) FROM history_rest
$$;
