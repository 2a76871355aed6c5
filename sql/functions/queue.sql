-- SPDX-License-Identifier: Apache-2.0
-- The job queue: one table, ten functions. A job's state is about the machinery ("did a worker deliver an
-- answer?"); what a change means to the thing that is worked on is told by job_changed. All clocks are
-- the database's. Those that workers call are SECURITY DEFINER, see worker_role.sql. ROWS 1 lets the planner
-- join the one row of a claim by index: it would guess 1,000 and read whole tables.

-- Tells the owner of the subject. The one place where the queue knows what its jobs are for.
CREATE OR REPLACE FUNCTION job_changed(j jobs) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF j.finished_at IS NOT NULL THEN
        PERFORM pg_notify('job_done', j.id::text);
    END IF;
    IF j.kind = 'evaluate' THEN
        PERFORM evaluation_job_changed(j);
    ELSE
        PERFORM step_job_changed(j);
    END IF;
END $$;

-- Enqueues, in the order given. The tag is one past the owner's own backlog, but never behind the head of the queue,
-- so an owner with 1,000 waiting jobs delays another owner's first job by one job, and yesterday's use is forgotten.
-- Ids of those that are new.
CREATE OR REPLACE FUNCTION job_enqueue_many(p_kind text, p_subjects bigint[], p_lane text, p_owner bigint,
                                            p_priority int, p_timeout_s int)
RETURNS SETOF bigint LANGUAGE plpgsql ROWS 1 AS $$
BEGIN
    RETURN QUERY
    INSERT INTO jobs (kind, subject_id, lane, owner_id, priority, timeout_s, max_attempts, fair_seq)
    SELECT p_kind, s.subject, p_lane, p_owner, p_priority, p_timeout_s, CASE p_kind WHEN 'call' THEN 6 ELSE 3 END,
           s.place + greatest(0,
               (SELECT max(fair_seq) FROM jobs
                 WHERE state = 'queued' AND lane = p_lane AND priority = p_priority AND owner_id = p_owner),
               (SELECT min(fair_seq) - 1 FROM jobs
                 WHERE state = 'queued' AND lane = p_lane AND priority = p_priority))
      FROM unnest(p_subjects) WITH ORDINALITY AS s(subject, place)
     ORDER BY s.place
    ON CONFLICT (kind, subject_id, lane) DO NOTHING
    RETURNING id;
    IF FOUND THEN
        PERFORM pg_notify('job_queued', p_lane);    -- a hint only; duplicates in one transaction are merged
    END IF;
END $$;

-- NULL: this job already exists.
CREATE OR REPLACE FUNCTION job_enqueue(p_kind text, p_subject bigint, p_lane text, p_owner bigint,
                                       p_priority int DEFAULT 1, p_timeout_s int DEFAULT 120)
RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT x FROM job_enqueue_many(p_kind, ARRAY[p_subject], p_lane, p_owner, p_priority, p_timeout_s) x);
END $$;

-- Claims one job of one lane. MATERIALIZED is not decoration: LIMIT inside an IN (...) sub-select may
-- update more rows.
CREATE OR REPLACE FUNCTION job_claim_lane(p_worker text, p_lane text, p_lease interval)
RETURNS SETOF jobs LANGUAGE plpgsql ROWS 1 AS $$
BEGIN
    RETURN QUERY
    WITH next AS MATERIALIZED (
        SELECT j.id FROM jobs j
         WHERE j.state = 'queued' AND j.lane = p_lane AND j.run_after <= now()
         ORDER BY j.priority, j.fair_seq, j.id
         LIMIT 1
           FOR UPDATE SKIP LOCKED)
    UPDATE jobs j
       SET state = 'running', attempt = j.attempt + 1, worker = p_worker, error = NULL,
           started_at = now(), lease_until = now() + p_lease
      FROM next WHERE j.id = next.id
    RETURNING j.*;
END $$;

-- Claims one job of any of the lanes. Between lanes whose heads have equal priority the choice is random:
-- tags of different lanes cannot be compared, and no lane may starve the other.
CREATE OR REPLACE FUNCTION job_claim(p_worker text, p_lanes text[], p_lease interval)
RETURNS SETOF jobs LANGUAGE plpgsql ROWS 1 AS $$
DECLARE
    v_lane text;
    j jobs;
BEGIN
    FOR v_lane IN
        SELECT l.lane
          FROM unnest(p_lanes) AS l(lane)
         CROSS JOIN LATERAL (SELECT h.priority FROM jobs h
                              WHERE h.state = 'queued' AND h.lane = l.lane AND h.run_after <= now()
                              ORDER BY h.priority, h.fair_seq, h.id LIMIT 1) AS head
         ORDER BY head.priority, random()
    LOOP
        SELECT * INTO j FROM job_claim_lane(p_worker, v_lane, p_lease);
        IF FOUND THEN
            INSERT INTO job_attempts (job_id, attempt, worker) VALUES (j.id, j.attempt, p_worker);
            UPDATE workers SET job_id = j.id, seen_at = now() WHERE name = p_worker;
            PERFORM job_changed(j);
            RETURN NEXT j;
            RETURN;
        END IF;
    END LOOP;
END $$;

-- Renews the lease. No row: the lease is lost, stop at once. True: stop, the owner cancelled. Not worth
-- waiting for a disk: a heartbeat that a crash forgets is made up for by the next.
CREATE OR REPLACE FUNCTION job_heartbeat(p_id bigint, p_attempt int, p_lease interval)
RETURNS TABLE (cancel boolean)
LANGUAGE plpgsql ROWS 1 SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_worker text;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE jobs SET lease_until = now() + p_lease
     WHERE id = p_id AND attempt = p_attempt AND state = 'running'
    RETURNING cancel_asked, worker INTO cancel, v_worker;
    IF FOUND THEN
        UPDATE workers SET seen_at = now() WHERE name = v_worker;
        RETURN NEXT;
    END IF;
END $$;

-- Writes down how an attempt ended.
CREATE OR REPLACE FUNCTION job_attempt_end(p_id bigint, p_attempt int, p_outcome text, p_error text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_worker text;
BEGIN
    UPDATE job_attempts SET ended_at = clock_timestamp(), outcome = p_outcome, error = p_error
     WHERE job_id = p_id AND attempt = p_attempt
    RETURNING worker INTO v_worker;
    UPDATE workers SET job_id = NULL WHERE name = v_worker AND job_id = p_id;
END $$;

-- Delivers. False: the lease was lost, the caller must roll back whatever it wrote beside this.
CREATE OR REPLACE FUNCTION job_finish(p_id bigint, p_attempt int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    j jobs;
BEGIN
    UPDATE jobs SET state = 'succeeded', finished_at = now(), lease_until = NULL
     WHERE id = p_id AND attempt = p_attempt AND state = 'running'
    RETURNING * INTO j;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM job_attempt_end(p_id, p_attempt, 'succeeded', NULL);
    PERFORM job_changed(j);
    RETURN true;
END $$;

-- The one place that decides what becomes of an attempt that did not deliver.
CREATE OR REPLACE FUNCTION job_end_state(j jobs, p_retry boolean) RETURNS job_state
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN j.cancel_asked THEN 'cancelled'
                WHEN NOT p_retry OR j.attempt >= j.max_attempts THEN 'failed'
                ELSE 'queued' END::job_state
$$;

-- Ends the current attempt of a running job that the caller has locked.
CREATE OR REPLACE FUNCTION job_end(j jobs, p_outcome text, p_error text, p_retry boolean)
RETURNS job_state LANGUAGE plpgsql AS $$
DECLARE
    v_state job_state := job_end_state(j, p_retry);
BEGIN
    UPDATE jobs
       SET state       = v_state,
           finished_at = CASE WHEN v_state <> 'queued' THEN now() END,
           run_after   = now() + least(interval '5 min', interval '5 s' * 2 ^ least(j.attempt - 1, 10))
                               * (0.9 + 0.2 * random()),
           lease_until = NULL, error = p_error
     WHERE id = j.id
    RETURNING * INTO j;
    PERFORM job_attempt_end(j.id, j.attempt, CASE v_state WHEN 'cancelled' THEN 'cancelled' ELSE p_outcome END,
                            p_error);
    PERFORM job_changed(j);
    RETURN v_state;
END $$;

-- The attempt did not deliver. NULL: the lease was lost.
CREATE OR REPLACE FUNCTION job_fail(p_id bigint, p_attempt int, p_error text, p_retry boolean DEFAULT true)
RETURNS job_state
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    j jobs;
BEGIN
    SELECT * INTO j FROM jobs
     WHERE id = p_id AND attempt = p_attempt AND state = 'running' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN job_end(j, 'failed', p_error, p_retry);
END $$;

-- Gives a job back unharmed (drain, deploy): the attempt stays spent as a token, so the budget grows by
-- one. A job that was to be cancelled is cancelled instead.
CREATE OR REPLACE FUNCTION job_release(p_id bigint, p_attempt int) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    j jobs;
BEGIN
    SELECT * INTO j FROM jobs
     WHERE id = p_id AND attempt = p_attempt AND state = 'running' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF j.cancel_asked THEN
        PERFORM job_end(j, 'cancelled', 'cancelled', false);
        RETURN true;
    END IF;
    UPDATE jobs SET state = 'queued', lease_until = NULL, max_attempts = max_attempts + 1, run_after = now()
     WHERE id = p_id
    RETURNING * INTO j;
    PERFORM job_attempt_end(p_id, p_attempt, 'released', NULL);
    PERFORM job_changed(j);
    PERFORM pg_notify('job_queued', j.lane);
    RETURN true;
END $$;

-- Cancels: at once while it waits; a running one is told by NOTIFY or at the latest by its next
-- heartbeat. NULL: it is over already.
CREATE OR REPLACE FUNCTION job_cancel(p_id bigint) RETURNS job_state LANGUAGE plpgsql AS $$
DECLARE
    j jobs;
BEGIN
    UPDATE jobs SET cancel_asked = true,
           state       = CASE state WHEN 'queued' THEN 'cancelled' ELSE state END,
           finished_at = CASE state WHEN 'queued' THEN now() END
     WHERE id = p_id AND state IN ('queued', 'running')
    RETURNING * INTO j;
    IF j.state = 'cancelled' THEN
        PERFORM job_changed(j);
    ELSIF j.state = 'running' THEN
        PERFORM pg_notify('job_cancel', p_id::text);
    END IF;
    RETURN j.state;
END $$;

-- Takes back what dead workers held. Safe to call from anywhere, at any time, by many at once: all but one find
-- nothing to do. Jobs of one run share its row, so that two reapers would wait for each other.
CREATE OR REPLACE FUNCTION job_reap() RETURNS TABLE (job_id bigint, new_state job_state)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    j jobs;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('job_reap')) THEN
        RETURN;
    END IF;
    FOR j IN
        SELECT * FROM jobs
         WHERE state = 'running' AND lease_until < now()
         ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED
    LOOP
        job_id := j.id;
        new_state := job_end(j, 'lost', 'worker ' || j.worker || ' lost: lease expired', true);
        RETURN NEXT;
    END LOOP;
END $$;
