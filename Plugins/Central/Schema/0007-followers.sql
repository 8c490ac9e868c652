-- What those who follow a study need where the leader is lost, or the centre was restored, between two of their looks.
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;

-- When each reader last asked. There for the write: a COMMIT of something written waits for the replicas, and a host that leads later has then
-- counted every transaction below the horizon. Else it could give the number of one that was rolled back to another, beneath a follower's place.
CREATE TABLE follower (reader name PRIMARY KEY, asked timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 50);
CREATE OR REPLACE FUNCTION horizon_v1() RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = central, pg_temp AS $$ BEGIN
    INSERT INTO follower AS f (reader) VALUES (session_user) ON CONFLICT (reader) DO UPDATE SET asked = now();
    RETURN pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
END $$;
-- Another one: the centre was restored to a moment, its transactions are counted from there, and a place from before says nothing.
CREATE FUNCTION incarnation_v1() RETURNS int LANGUAGE sql STABLE SECURITY DEFINER SET search_path = central, pg_temp AS $$ SELECT max(no) FROM incarnation $$;
GRANT EXECUTE ON FUNCTION incarnation_v1 TO staff;
