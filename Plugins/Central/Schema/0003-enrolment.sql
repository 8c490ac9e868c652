-- The certificates of hubs. The desk signs them (hub-central-admin sign), so the database never has the authority's key.
SET LOCAL ROLE central_owner;
SET LOCAL search_path = central, pg_temp;

-- The request of `asker` and its answer; null if there is none.
CREATE FUNCTION requested(asker name, login name) RETURNS jsonb LANGUAGE sql STABLE SET search_path = central, pg_temp AS $$
    SELECT CASE WHEN refused IS NOT NULL THEN jsonb_build_object('refused', 'request')
            WHEN signed IS NULL THEN '{"state":"waiting"}'
            ELSE jsonb_build_object('state', 'signed', 'login', requested.login, 'certificate', certificate, 'ca', ca) END
        FROM request x WHERE x.asker = requested.asker ORDER BY request_no DESC LIMIT 1
$$;
CREATE FUNCTION is_request(csr text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT octet_length(csr) <= 8192 AND csr ~ '^-----BEGIN CERTIFICATE REQUEST-----\n[A-Za-z0-9+/=\n]+-----END CERTIFICATE REQUEST-----\n?$'
$$;

CREATE FUNCTION enrol_v1(csr text, hub_id text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE i invite; BEGIN
    SELECT * INTO i FROM invite WHERE role = session_user AND until > now() FOR UPDATE;
    IF NOT FOUND THEN RETURN '{"refused":"invitation"}'; END IF;
    IF is_request(csr) IS NOT TRUE OR length(hub_id) NOT BETWEEN 1 AND 64 THEN RETURN '{"refused":"request"}'; END IF;
    IF NOT EXISTS (SELECT FROM request WHERE asker = i.role) THEN
        INSERT INTO request (asker, hub_id, csr) VALUES (i.role, enrol_v1.hub_id, enrol_v1.csr);
    ELSIF NOT EXISTS (SELECT FROM request x WHERE x.asker = i.role AND x.csr = enrol_v1.csr AND x.hub_id = enrol_v1.hub_id) THEN
        RETURN '{"refused":"invitation"}';
    END IF;
    UPDATE invite SET until = until WHERE role = i.role;     -- the commit record of an answer that only reads
    RETURN requested(i.role, i.login);
END $$;

CREATE FUNCTION renew_v1(csr text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = central, pg_temp AS $$ DECLARE h hub; refusal jsonb; BEGIN
    h := enter(); refusal := refused(h);
    IF refusal IS NOT NULL THEN RETURN refusal; END IF;
    IF is_request(csr) IS NOT TRUE THEN RETURN '{"refused":"request"}'; END IF;
    IF NOT EXISTS (SELECT FROM request x WHERE x.asker = h.login AND x.csr = renew_v1.csr) THEN
        IF EXISTS (SELECT FROM request x WHERE x.asker = h.login AND x.asked > now() - interval '1 hour') THEN RETURN '{"refused":"limit"}'; END IF;
        DELETE FROM request x WHERE x.asker = h.login;
        INSERT INTO request (asker, hub_id, csr) VALUES (h.login, h.hub_id, renew_v1.csr);
    END IF;
    RETURN requested(h.login, h.login);
END $$;
