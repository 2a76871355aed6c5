-- SPDX-License-Identifier: Apache-2.0
-- Signs of life of the workers.

CREATE OR REPLACE FUNCTION worker_start(p_name text, p_host text, p_device text, p_uuid text, p_model text,
                                        p_driver text, p_lanes text[], p_lease interval)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO devices AS d (uuid, model, driver) VALUES (p_uuid, p_model, p_driver)
    ON CONFLICT (uuid) DO UPDATE SET model = p_model, driver = p_driver
     WHERE (d.model, d.driver) IS DISTINCT FROM (p_model, p_driver);
    INSERT INTO workers (name, host, device, device_uuid, lanes, lease)
    VALUES (p_name, p_host, p_device, p_uuid, p_lanes, p_lease)
    ON CONFLICT (name) DO UPDATE SET seen_at = now(), stopped_at = NULL, job_id = NULL, lanes = p_lanes;
END $$;

CREATE OR REPLACE FUNCTION worker_seen(p_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE workers SET seen_at = now() WHERE name = p_name;
END $$;

CREATE OR REPLACE FUNCTION worker_stop(p_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE workers SET stopped_at = now(), seen_at = now(), job_id = NULL WHERE name = p_name;
END $$;
