-- The rights of the roles. There are no others: the only granted table is `record`, to hubs, under row-level security.
DO $$ BEGIN EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO hub, invited, staff, central_desk, central_watch', current_database()); END $$;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
-- Rights that PostgreSQL gives everyone and that no hub or study needs: to store bytes here, to hold locks, to fill the log.
REVOKE UPDATE ON pg_settings FROM PUBLIC;
DO $$ DECLARE f regprocedure; BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f'
        AND (p.proname ~ '^(lo_|pg_advisory|pg_try_advisory|pg_logical_emit)' OR p.proname IN ('loread', 'lowrite')) LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
    END LOOP;
END $$;

SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;
GRANT USAGE ON SCHEMA central TO hub, invited, staff, central_watch;
GRANT EXECUTE ON FUNCTION hello_v1, take_v1, digest_v1, swept_v1, studies_v1, consent_v1, withdraw_v1, erasure_v1, renew_v1, my_hub TO hub;
GRANT EXECUTE ON FUNCTION enrol_v1 TO invited;
GRANT SELECT ON my_study, study_person, study_record, study_change, study_week TO staff;
GRANT EXECUTE ON FUNCTION horizon_v1, covers, for_study TO staff;
GRANT EXECUTE ON FUNCTION metrics_v1 TO central_watch;

GRANT SELECT ON record TO hub;
ALTER TABLE record ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON record FOR SELECT TO hub USING (hub_no = (SELECT my_hub()));
