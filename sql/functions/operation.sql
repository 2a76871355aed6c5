-- SPDX-License-Identifier: Apache-2.0
-- What an operator looks at (lanes, workers, counters), what keeps the tables small, and the checks of
-- what constraints cannot say.

-- Was it seen within its own lease?
CREATE OR REPLACE FUNCTION is_healthy(w workers) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT w.stopped_at IS NULL AND w.seen_at > now() - w.lease
           AND (SELECT d.state = 'ok' FROM devices d WHERE d.uuid = w.device_uuid)
$$;

CREATE OR REPLACE FUNCTION lane_workers(p_lane text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT count(*) FROM workers w WHERE p_lane = ANY (w.lanes) AND is_healthy(w));
END $$;

-- Mean run time of the lane's last 32 jobs; NULL: none yet.
CREATE OR REPLACE FUNCTION lane_seconds(p_lane text) RETURNS float8 LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT avg(extract(epoch FROM x.finished_at - x.started_at))::float8
              FROM (SELECT finished_at, started_at FROM jobs
                     WHERE lane = p_lane AND state = 'succeeded' ORDER BY finished_at DESC LIMIT 32) x);
END $$;

CREATE OR REPLACE FUNCTION queue_state() RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH open AS (
            SELECT lane, count(*) FILTER (WHERE state = 'queued') AS queued,
                   count(*) FILTER (WHERE state = 'running') AS running,
                   min(queued_at) FILTER (WHERE state = 'queued') AS oldest
              FROM jobs WHERE state IN ('queued', 'running') GROUP BY lane),
        served AS (
            SELECT l.lane, count(*) FILTER (WHERE is_healthy(w)) AS workers
              FROM workers w CROSS JOIN LATERAL unnest(w.lanes) AS l(lane)
             WHERE w.stopped_at IS NULL GROUP BY l.lane)
        SELECT jsonb_build_object('lanes', coalesce(jsonb_agg(jsonb_build_object(
                   'name', lane, 'queued', coalesce(open.queued, 0), 'running', coalesce(open.running, 0),
                   'oldest_age_s', round(extract(epoch FROM now() - open.oldest), 1),
                   'workers', coalesce(served.workers, 0), 'healthy', coalesce(served.workers, 0) > 0,
                   'state', CASE WHEN served.workers > 0 THEN 'served' ELSE 'paused' END,
                   'seconds_per_job', lane_seconds(lane)) ORDER BY lane), '[]'))
          FROM open FULL JOIN served USING (lane));
END $$;

-- NULL: the device measures nothing.
CREATE OR REPLACE FUNCTION device_health(d devices) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN d.health_at IS NOT NULL THEN jsonb_build_object(
        'age_s', round(extract(epoch FROM now() - d.health_at), 1), 'temperature_c', d.temperature_c,
        'sm_mhz', d.sm_mhz, 'memory_mhz', d.memory_mhz, 'power_w', d.power_w, 'throttle', to_jsonb(d.throttle),
        'ecc_errors', d.ecc_errors) END
$$;

CREATE OR REPLACE FUNCTION worker_list() RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object('items', (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'name', w.name, 'host', w.host, 'device', w.device, 'device_model', d.model,
                   'device_uuid', d.uuid, 'driver', d.driver, 'device_state', d.state,
                   'device_detail', d.detail, 'health', device_health(d), 'lanes', to_jsonb(w.lanes),
                   'started_at', iso8601(w.started_at),
                   'seen_age_s', round(extract(epoch FROM now() - w.seen_at), 1),
                   'healthy', is_healthy(w),
                   'job', (SELECT jsonb_build_object('submission', e.submission_id, 'attempt', j.attempt,
                               'running_s', round(extract(epoch FROM now() - j.started_at), 1))
                             FROM jobs j JOIN evaluations e ON e.id = j.subject_id
                            WHERE j.state = 'running' AND j.kind = 'evaluate' AND j.worker = w.name
                            ORDER BY j.started_at LIMIT 1))
               ORDER BY w.started_at, w.name), '[]')
          FROM workers w JOIN devices d ON d.uuid = w.device_uuid
         WHERE w.stopped_at IS NULL));
END $$;

CREATE OR REPLACE FUNCTION quota_state(p_owner bigint, p_default_cap int) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT jsonb_build_object('owner', o.name, 'queued', q.queued, 'limit', q.cap, 'running',
                                      (SELECT count(*) FROM jobs
                                        WHERE owner_id = p_owner AND state = 'running' AND kind = 'evaluate'))
              FROM owners o CROSS JOIN owner_queued(p_owner, p_default_cap) q WHERE o.id = p_owner);
END $$;

CREATE OR REPLACE FUNCTION metrics() RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'queued', (SELECT coalesce(jsonb_agg(jsonb_build_object('lane', lane, 'priority', priority, 'count', n)), '[]')
                     FROM (SELECT lane, priority, count(*) AS n FROM jobs WHERE state = 'queued'
                            GROUP BY lane, priority ORDER BY lane, priority) x),
        'oldest_age_s', (SELECT coalesce(jsonb_agg(jsonb_build_object('lane', lane, 'value', age)), '[]')
                           FROM (SELECT lane, round(extract(epoch FROM now() - min(queued_at)), 3) AS age
                                   FROM jobs WHERE state = 'queued' GROUP BY lane ORDER BY lane) x),
        'running', (SELECT coalesce(jsonb_agg(jsonb_build_object('lane', lane, 'count', n)), '[]')
                      FROM (SELECT lane, count(*) AS n FROM jobs WHERE state = 'running'
                             GROUP BY lane ORDER BY lane) x),
        'jobs', (SELECT coalesce(jsonb_agg(jsonb_build_object('state', state, 'count', n)), '[]')
                   FROM (SELECT state, count(*) AS n FROM jobs GROUP BY state ORDER BY state) x),
        'attempts', (SELECT coalesce(jsonb_agg(jsonb_build_object('outcome', outcome, 'count', n)), '[]')
                       FROM (SELECT outcome, sum(n)::bigint AS n
                               FROM (SELECT outcome, count(*) AS n FROM job_attempts
                                      WHERE outcome IS NOT NULL GROUP BY outcome
                                     UNION ALL SELECT outcome, count FROM pruned_attempts) a
                              GROUP BY outcome ORDER BY outcome) x),
        'workers_healthy', (SELECT count(*) FROM workers w WHERE is_healthy(w)),
        'devices', (SELECT coalesce(jsonb_agg(jsonb_build_object('device', d.uuid, 'model', d.model,
                                                                 'state', d.state, 'count', 1) ORDER BY d.uuid), '[]')
                      FROM devices d
                     WHERE EXISTS (SELECT FROM workers w WHERE w.device_uuid = d.uuid AND w.stopped_at IS NULL)),
        'device_temperature', (SELECT coalesce(jsonb_agg(jsonb_build_object('device', d.uuid, 'model', d.model,
                                                                            'value', d.temperature_c)
                                                         ORDER BY d.uuid), '[]')
                                 FROM devices d WHERE d.temperature_c IS NOT NULL),
        'submissions', (SELECT count(*) FROM submissions),
        'runs', (SELECT coalesce(jsonb_agg(jsonb_build_object('state', state, 'count', n)), '[]')
                   FROM (SELECT state, count(*) AS n FROM runs WHERE origin = 'local'
                          GROUP BY state ORDER BY state) x),
        'calls_open', (SELECT count(*) FROM llm_calls WHERE status = 'started'),
        'llm_usd', (SELECT coalesce(sum(usd), 0) FROM runs WHERE origin = 'local'),
        'blob_bytes', (SELECT coalesce(sum(size), 0) FROM blobs));
END $$;

-- Deletes what is of no more use, at most 1,000 rows of a kind per call: events of 7 days ago (a stream
-- that resumes before them gets a snapshot), finished jobs of 7 days ago, keys of 2 days ago, workers not
-- seen for a day. Submissions, results and blobs stay.
CREATE OR REPLACE FUNCTION prune() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_jobs bigint[];
    v_total bigint := 0;
    v_count bigint;
BEGIN
    DELETE FROM events WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM events WHERE at < now() - interval '7 days' LIMIT 1000 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_total := v_total + v_count;

    v_jobs := ARRAY(SELECT id FROM jobs WHERE finished_at < now() - interval '7 days'
                     LIMIT 1000 FOR UPDATE SKIP LOCKED);
    IF cardinality(v_jobs) > 0 THEN
        INSERT INTO pruned_attempts AS p (outcome, count)
        SELECT outcome, count(*) FROM job_attempts
         WHERE job_id = ANY (v_jobs) AND outcome IS NOT NULL GROUP BY outcome ORDER BY outcome
        ON CONFLICT (outcome) DO UPDATE SET count = p.count + excluded.count;
        DELETE FROM jobs WHERE id = ANY (v_jobs);
        v_total := v_total + cardinality(v_jobs);
    END IF;

    DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM idempotency WHERE created_at < now() - interval '2 days' LIMIT 1000
           FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_total := v_total + v_count;

    DELETE FROM workers w WHERE w.ctid = ANY (ARRAY(
        SELECT ctid FROM workers WHERE seen_at < now() - interval '1 day' LIMIT 1000 FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_total + v_count;
END $$;

-- Each row: a sentence and how many rows it is true of.
CREATE OR REPLACE FUNCTION fsck_faults() RETURNS TABLE (fault text, n bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT 'blobs whose bytes do not have their SHA-256'::text, count(*)
      FROM blobs b WHERE b.sha256 <> sha256(b.data)
    UNION ALL
    SELECT 'submissions without an evaluation', count(*)
      FROM submissions s WHERE NOT EXISTS (SELECT FROM evaluations e WHERE e.submission_id = s.id)
    UNION ALL
    SELECT 'submissions that are done without a result', count(*)
      FROM submission_rows v WHERE v.state = 'done' AND v.verdict IS NULL
    UNION ALL
    SELECT 'submissions that are not done but have the result', count(*)
      FROM submission_rows v WHERE v.state <> 'done' AND v.verdict IS NOT NULL
    UNION ALL
    SELECT 'submissions that wait for a job that is not there', count(*)
      FROM submission_rows v
     WHERE v.state <> 'done' AND NOT EXISTS (
           SELECT FROM jobs j WHERE j.kind = 'evaluate' AND j.subject_id = v.evaluation_id
                                AND j.state::text = v.state)
    UNION ALL
    SELECT 'finished jobs without a result', count(*)
      FROM jobs j WHERE j.finished_at IS NOT NULL AND j.kind = 'evaluate'
       AND NOT EXISTS (SELECT FROM results r WHERE r.evaluation_id = j.subject_id)
    UNION ALL
    SELECT 'results of an attempt other than the job''s last', count(*)
      FROM jobs j JOIN results r ON r.evaluation_id = j.subject_id
     WHERE j.kind = 'evaluate' AND r.attempt <> j.attempt
    UNION ALL
    SELECT 'running jobs whose lease ended over 10 minutes ago', count(*)
      FROM jobs j WHERE j.state = 'running' AND j.lease_until < now() - interval '10 minutes'
    UNION ALL
    SELECT 'events numbered past their submission''s rev', count(*)
      FROM events e JOIN submissions s ON s.id = e.topic WHERE e.seq > s.rev
    UNION ALL
    SELECT 'events of neither a submission nor a run', count(*)
      FROM events e WHERE NOT EXISTS (SELECT FROM submissions s WHERE s.id = e.topic)
                      AND NOT EXISTS (SELECT FROM runs r WHERE r.id = e.topic)
    UNION ALL
    SELECT x.fault, x.n FROM run_faults() x
    UNION ALL
    SELECT 'counts of turns that are not those of the turns', count(*) FROM turn_counts_check()
    UNION ALL
    SELECT 'entries of boards that are not those of the results', count(*) FROM board_check();
END $$;

CREATE OR REPLACE FUNCTION fsck() RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'checked', jsonb_build_object(
            'blobs', (SELECT count(*) FROM blobs), 'submissions', (SELECT count(*) FROM submissions),
            'evaluations', (SELECT count(*) FROM evaluations), 'results', (SELECT count(*) FROM results),
            'jobs', (SELECT count(*) FROM jobs), 'events', (SELECT count(*) FROM events),
            'turns', (SELECT count(*) FROM turns), 'runs', (SELECT count(*) FROM runs WHERE origin = 'local'),
            'board_entries', (SELECT count(*) FROM board_entries)),
        'problems', (SELECT coalesce(jsonb_agg(x.n || ' ' || x.fault), '[]') FROM fsck_faults() x WHERE x.n > 0));
END $$;
