-- SPDX-License-Identifier: Apache-2.0
-- Evaluations: what a job means to its submission, what a worker is given, and how a result is stored.
-- Lock order everywhere: owner, job, submission, and then as steps.sql says.

-- One change of a submission: the next rev under its row lock, the event of that number, the hint. The run that it
-- is of, if any, hears of it too.
CREATE OR REPLACE FUNCTION submission_touch(p_id uuid, p_kind text, p_data json, p_state text DEFAULT NULL)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_rev int;
BEGIN
    UPDATE submissions SET rev = rev + 1, state = coalesce(p_state, state) WHERE id = p_id
    RETURNING rev INTO v_rev;
    INSERT INTO events (topic, seq, kind, data) VALUES (p_id, v_rev, p_kind, p_data);
    PERFORM pg_notify('submission_event', p_id::text);
    IF p_state IS DISTINCT FROM 'done' THEN     -- of the end step_evaluated tells
        PERFORM step_stage(p_id, p_data);
    END IF;
    RETURN v_rev;
END $$;

-- Content-addressed: the name is computed here, so it cannot lie.
CREATE OR REPLACE FUNCTION blob_put(p_kind text, p_data bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    v_sha bytea := sha256(p_data);
BEGIN
    INSERT INTO blobs (sha256, kind, size, data) VALUES (v_sha, p_kind, octet_length(p_data), p_data)
    ON CONFLICT (sha256) DO NOTHING;
    RETURN v_sha;
END $$;

-- Writes the result of a job's evaluation from columns given by name.
CREATE OR REPLACE FUNCTION result_store(j jobs, p_columns json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    r results := json_populate_record(NULL::results, p_columns);
BEGIN
    r.evaluation_id := j.subject_id;
    r.attempt := j.attempt;
    r.worker := j.worker;
    r.device_uuid := (SELECT w.device_uuid FROM workers w WHERE w.name = j.worker);
    r.flags := coalesce(r.flags, 0);
    r.epoch := coalesce(r.epoch, 0);
    r.created_at := now();
    INSERT INTO results SELECT r.*;
    IF r.verdict NOT IN ('INFRA_ERROR', 'CANCELLED') THEN
        UPDATE submissions s SET decisive_id = r.evaluation_id
          FROM evaluations e WHERE e.id = r.evaluation_id AND s.id = e.submission_id;
    END IF;
END $$;

-- The report of an evaluation that no worker could report on.
CREATE OR REPLACE FUNCTION result_without_worker(j jobs, p_verdict text, p_detail text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_report text;
BEGIN
    SELECT json_build_object('schema', 1, 'id', s.id, 'verdict', p_verdict, 'flags', json_build_array(),
                             'detail', p_detail, 'problem', s.problem, 'workload', s.workload,
                             'arch', s.arch, 'device', s.device, 'language', s.language, 'mode', s.mode,
                             'speedup', NULL, 'stages', json_build_array())::text
      INTO v_report
      FROM evaluations e JOIN submissions s ON s.id = e.submission_id WHERE e.id = j.subject_id;
    PERFORM result_store(j, json_build_object('verdict', p_verdict, 'detail', p_detail,
                                              'report_sha', blob_put('report', convert_to(v_report, 'UTF8'))));
END $$;

-- A job of an evaluation changed its state: say so in its submission. A job that is over without a
-- worker's result gets one here, so that nobody waits for ever.
CREATE OR REPLACE FUNCTION evaluation_job_changed(j jobs) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_submission uuid := (SELECT submission_id FROM evaluations WHERE id = j.subject_id);
    v_verdict text;
BEGIN
    IF j.finished_at IS NULL THEN
        PERFORM submission_touch(v_submission, 'state',
            json_strip_nulls(json_build_object('kind', 'state', 'state', j.state, 'attempt', nullif(j.attempt, 0),
                                               'worker', CASE j.state WHEN 'running' THEN j.worker END,
                                               'reason', left(j.error, 500))),
            j.state::text);
        RETURN;
    END IF;
    SELECT verdict INTO v_verdict FROM results WHERE evaluation_id = j.subject_id;
    IF NOT FOUND THEN
        v_verdict := CASE j.state WHEN 'cancelled' THEN 'CANCELLED' ELSE 'INFRA_ERROR' END;
        PERFORM result_without_worker(j, v_verdict,
            CASE j.state WHEN 'cancelled' THEN 'cancelled on request'
                 ELSE left(coalesce(j.error, 'the evaluation gave no result'), 500) END);
    END IF;
    PERFORM submission_touch(v_submission, 'state',
        json_build_object('kind', 'state', 'state', 'done', 'verdict', v_verdict), 'done');
    PERFORM step_evaluated(v_submission, v_verdict);
END $$;

-- ---- what workers call ----

CREATE OR REPLACE FUNCTION job_claim_evaluation(p_worker text, p_lanes text[], p_lease interval)
RETURNS TABLE (id bigint, attempt int, max_attempts int, evaluation_id bigint, submission_id uuid, lane text,
               timeout_s int, request json)
LANGUAGE plpgsql ROWS 1 SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT j.id, j.attempt, j.max_attempts, e.id, s.id, j.lane, j.timeout_s, s.request
      FROM job_claim(p_worker, ARRAY(SELECT l FROM unnest(p_lanes) l WHERE l NOT LIKE 'llm/%'), p_lease) j
      JOIN evaluations e ON e.id = j.subject_id
      JOIN submissions s ON s.id = e.submission_id;
END $$;

CREATE OR REPLACE FUNCTION job_source(p_id bigint, p_attempt int) RETURNS bytea
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    RETURN (SELECT b.data FROM jobs j
              JOIN evaluations e ON e.id = j.subject_id
              JOIN submissions s ON s.id = e.submission_id
              JOIN blobs b ON b.sha256 = s.source_sha
             WHERE j.id = p_id AND j.attempt = p_attempt AND j.state = 'running' AND j.kind = 'evaluate');
END $$;

-- One progress event of a running job. False: the lease was lost.
CREATE OR REPLACE FUNCTION job_event(p_id bigint, p_attempt int, p_kind text, p_data json) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    v_submission uuid;
BEGIN
    SELECT e.submission_id INTO v_submission
      FROM jobs j JOIN evaluations e ON e.id = j.subject_id
     WHERE j.id = p_id AND j.attempt = p_attempt AND j.state = 'running' AND j.kind = 'evaluate'
       FOR SHARE OF j;      -- or the attempt could end in between, and its event come after its end
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM submission_touch(v_submission, p_kind, p_data);
    RETURN true;
END $$;

-- Stores an artefact of a running job; NULL: the lease was lost.
CREATE OR REPLACE FUNCTION result_blob(p_id bigint, p_attempt int, p_kind text, p_data bytea) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM 1 FROM jobs WHERE id = p_id AND attempt = p_attempt AND state = 'running';
    RETURN CASE WHEN FOUND THEN blob_put(p_kind, p_data) END;
END $$;

-- Delivers a result and finishes the job. False: the lease was lost, roll back. A result that blames our
-- machinery fails the job instead, and is kept only if that was the last attempt.
CREATE OR REPLACE FUNCTION result_deliver(p_id bigint, p_attempt int, p_columns json, p_infra boolean,
                                          p_retry boolean)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    j jobs;
BEGIN
    SELECT * INTO j FROM jobs
     WHERE id = p_id AND attempt = p_attempt AND state = 'running' AND kind = 'evaluate' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF NOT p_infra THEN
        PERFORM result_store(j, p_columns);
        RETURN job_finish(p_id, p_attempt);
    END IF;
    IF job_end_state(j, p_retry) = 'failed' THEN
        PERFORM result_store(j, p_columns);
    END IF;
    PERFORM job_end(j, 'failed', left(p_columns ->> 'detail', 500), p_retry);
    RETURN true;
END $$;
