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
    ON CONFLICT (name) DO UPDATE SET seen_at = now(), stopped_at = NULL, job_id = NULL, lanes = p_lanes,
                                     device_uuid = p_uuid;
END $$;

-- What the worker's device tells of itself. The state decides whether the worker counts as healthy, and so
-- whether its lanes are paused; p_health is null where nothing new was measured.
CREATE OR REPLACE FUNCTION worker_health(p_name text, p_state text, p_detail text, p_health json) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_uuid text := (SELECT device_uuid FROM workers WHERE name = p_name);
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE devices SET since = CASE state WHEN p_state THEN since ELSE now() END, state = p_state, detail = p_detail
     WHERE uuid = v_uuid;
    UPDATE devices
       SET temperature_c = (p_health ->> 'temperature_c')::float8, sm_mhz = (p_health ->> 'sm_mhz')::float8,
           memory_mhz = (p_health ->> 'memory_mhz')::float8, power_w = (p_health ->> 'power_w')::float8,
           throttle = CASE json_typeof(p_health -> 'throttle')
                      WHEN 'array' THEN ARRAY(SELECT json_array_elements_text(p_health -> 'throttle')) END,
           ecc_errors = (p_health ->> 'ecc_errors')::float8::bigint, health_at = now()
     WHERE uuid = v_uuid AND p_health IS NOT NULL;
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
