-- The views of a study. They work with the owner's rights; session_user is the reader.
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;

-- Compares with the role's row and not with its name, so that a reader that no longer exists is no error for the others.
CREATE VIEW my_study WITH (security_barrier) AS
    SELECT s.study_no, s.name, s.title, s.rows, s.min_group, s.ends FROM study s
    WHERE EXISTS (SELECT FROM pg_roles r WHERE r.rolname = s.reader AND pg_has_role(session_user, r.oid, 'MEMBER'));
CREATE VIEW study_person WITH (security_barrier) AS
    SELECT s.name AS study, c.pseudonym, (SELECT array_agg(t.id ORDER BY t.id) FROM type t WHERE t.type_no = ANY (c.types)) AS types, c.since, c.until
    FROM my_study s JOIN consent c USING (study_no) WHERE s.rows AND c.withdrawn IS NULL;

-- The members of a body that reveal neither a person nor a place.
CREATE FUNCTION for_study(body jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_object_agg(key, value) FROM jsonb_each(body) WHERE key IN ('series', 'method', 'plugin')
$$;
-- All records that consents cover, including retracted ones; granted to no one.
CREATE VIEW agreed WITH (security_barrier) AS
    SELECT s.study_no, s.name AS study, s.rows, s.min_group, md5(c.salt::text || r.ident)::uuid AS record, c.pseudonym, t.id AS type, t.unit, t.cumulative,
        r.kind, r.start_at, r.end_at, r.offset_min, r.value, r.word, r.flags, r.body, r.changed
    FROM my_study s JOIN consent c USING (study_no) JOIN record r ON r.hub_no = c.hub_no AND r.person_no = c.person_no AND r.type_no = ANY (c.types)
        JOIN type t ON t.type_no = r.type_no
    WHERE c.withdrawn IS NULL AND covers(c.since, c.until, r.start_at, r.offset_min);
CREATE VIEW study_record WITH (security_barrier) AS
    SELECT study, record, pseudonym, type, unit, kind, start_at, end_at, offset_min, value, word, flags, for_study(body) AS body, changed
    FROM agreed WHERE rows AND kind <> 'r';
CREATE VIEW study_change WITH (security_barrier) AS
    SELECT study, record, kind = 'r' AS gone, pseudonym, type, unit, kind, start_at, end_at, offset_min, value, word, flags, for_study(body) AS body, changed
    FROM agreed WHERE rows
    UNION ALL
    SELECT s.name, g.record, true, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, g.changed FROM gone g JOIN my_study s USING (study_no) WHERE s.rows;
-- There is only one length of time, because days and weeks together would reveal a hidden group.
CREATE VIEW study_week WITH (security_barrier) AS
    SELECT study, type, unit, date_trunc('week', start_at AT TIME ZONE 'UTC' + coalesce(offset_min, 0) * interval '1 minute')::date AS week,
        count(DISTINCT pseudonym) AS persons, count(*) AS n, avg(value) AS mean, stddev_samp(value) AS sd, CASE WHEN cumulative THEN sum(value) END AS total
    FROM agreed WHERE kind = 'q' AND value IS NOT NULL
    GROUP BY study, type, unit, cumulative, week, min_group HAVING count(DISTINCT pseudonym) >= min_group;

-- A follower reads the changes below this horizon, remembers the horizon, and continues there: no open transaction can appear below it.
CREATE FUNCTION horizon_v1() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint $$;
