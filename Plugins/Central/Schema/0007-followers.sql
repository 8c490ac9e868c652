-- For followers of a study: the leader may be lost, or the centre restored, between two of their queries.
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;

-- When each reader last asked. The purpose is the write: its COMMIT waits for the replicas, so a host that leads later has counted every
-- transaction below the horizon. Otherwise it could reuse the number of a rolled-back transaction, below a follower's place.
CREATE TABLE follower (reader name PRIMARY KEY, asked timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 50);
CREATE OR REPLACE FUNCTION horizon_v1() RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = central, pg_temp AS $$ BEGIN
    INSERT INTO follower AS f (reader) VALUES (session_user) ON CONFLICT (reader) DO UPDATE SET asked = now();
    RETURN pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
END $$;
-- If it has changed, the centre was restored to a moment. Its transactions are counted from there, and earlier places are void.
CREATE FUNCTION incarnation_v1() RETURNS int LANGUAGE sql STABLE SECURITY DEFINER SET search_path = central, pg_temp AS $$ SELECT max(no) FROM incarnation $$;
GRANT EXECUTE ON FUNCTION incarnation_v1 TO staff;
