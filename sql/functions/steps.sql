-- SPDX-License-Identifier: Apache-2.0
-- What agents work on. A step is one try at one turn: call, evaluate, conclude, done; `left` if it was given up.
-- Its job is of the kind of its state. Lock order: owner, job, submission, step, run, trajectory, cell; whoever
-- changes a run's turns holds its row, so that the last of its trajectories to end is told from the others.

-- One change of a run, as submission_touch().
CREATE OR REPLACE FUNCTION run_touch(p_run uuid, p_kind text, p_data json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_rev int;
BEGIN
    UPDATE runs SET rev = rev + 1 WHERE id = p_run RETURNING rev INTO v_rev;
    INSERT INTO events (topic, seq, kind, data) VALUES (p_run, v_rev, p_kind, p_data);
    PERFORM pg_notify('submission_event', p_run::text);
END $$;

CREATE OR REPLACE FUNCTION run_lock(p_run uuid) RETURNS runs LANGUAGE plpgsql AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO r FROM runs WHERE id = p_run FOR NO KEY UPDATE;
    RETURN r;
END $$;

-- Conclusions first: they take a moment, and show what a turn came to.
CREATE OR REPLACE FUNCTION steps_enqueue(r runs, p_steps bigint[], p_kind text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM job_enqueue_many(p_kind, p_steps, 'llm/' || r.provider, r.owner_id,
                             CASE p_kind WHEN 'conclude' THEN 0 ELSE 1 END, 3600);
END $$;

-- The next step of a trajectory, which begins with a call; with p_call its answer is there already.
CREATE OR REPLACE FUNCTION step_add(r runs, p_trajectory int, p_n int, p_try int, p_call bigint, p_supervision text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
BEGIN
    INSERT INTO steps (run_id, trajectory, n, try, call_id, supervision)
    VALUES (r.id, p_trajectory, p_n, p_try, p_call, p_supervision) RETURNING id INTO v_id;
    PERFORM steps_enqueue(r, ARRAY[v_id], 'call');
END $$;

-- The open step that a job works on, both locked; its id is null if the lease was lost or the step given up.
CREATE OR REPLACE FUNCTION step_mine(p_job bigint, p_attempt int) RETURNS steps LANGUAGE plpgsql AS $$
DECLARE
    j jobs;
    s steps;
BEGIN
    SELECT * INTO j FROM jobs
     WHERE id = p_job AND attempt = p_attempt AND state = 'running' AND kind IN ('call', 'conclude') FOR UPDATE;
    IF FOUND THEN
        SELECT * INTO s FROM steps WHERE id = j.subject_id AND state = j.kind FOR UPDATE;
    END IF;
    RETURN s;
END $$;

-- ---- ends ----

-- The cell that a local run's trajectories belong to: its device is what measured it; where nothing was measured,
-- what would have.
CREATE OR REPLACE FUNCTION run_cell(r runs) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_device text := (SELECT x.device_model FROM steps s
                        JOIN evaluations e ON e.submission_id = s.submission_id
                        JOIN results x ON x.evaluation_id = e.id
                       WHERE s.run_id = r.id AND x.device_model IS NOT NULL ORDER BY e.id LIMIT 1);
    v_id bigint;
BEGIN
    IF v_device IS NULL THEN
        v_device := coalesce((SELECT d.model FROM workers w JOIN devices d ON d.uuid = w.device_uuid
                               WHERE lane_of(r.arch, r.device) = ANY (w.lanes) AND w.stopped_at IS NULL
                               ORDER BY w.seen_at DESC LIMIT 1),
                             CASE r.device WHEN 'cpu' THEN 'ptxvm' ELSE r.arch END);
    END IF;
    INSERT INTO cells (origin, model, device_model, problem, workload, condition)
    VALUES ('local', r.model, v_device, r.problem, r.workload, r.condition) ON CONFLICT DO NOTHING;
    SELECT c.id INTO v_id FROM cells c
     WHERE c.origin = 'local' AND c.model = r.model AND c.device_model = v_device AND c.problem = r.problem
       AND c.workload = r.workload AND c.condition = r.condition FOR NO KEY UPDATE;
    RETURN v_id;
END $$;

-- A trajectory is over, and so is the run with its last. One that came to its own end joins its cell; the others
-- are left out, and say why. p_reason null: it goes on, and its turns leave the cell until it has ended again.
CREATE OR REPLACE FUNCTION trajectory_set(r runs, p_trajectory int, p_reason text, p_detail text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_cell bigint := CASE WHEN p_reason IN ('turns', 'target', 'context') THEN run_cell(r) END;
BEGIN
    UPDATE trajectories
       SET state = CASE WHEN p_reason IS NULL THEN 'running' ELSE 'done' END, reason = p_reason,
           detail = left(p_detail, 500), cell_id = v_cell,
           left_out = CASE WHEN v_cell IS NULL THEN CASE p_reason
               WHEN 'cancelled' THEN 'cancelled' WHEN 'budget' THEN 'out of budget'
               WHEN 'provider' THEN 'the provider failed' WHEN 'infra' THEN 'the service failed'
               ELSE 'still running' END END
     WHERE run_id = r.id AND n = p_trajectory;
    UPDATE turns SET cell_id = v_cell
     WHERE run_id = r.id AND trajectory = p_trajectory AND cell_id IS DISTINCT FROM v_cell;
    PERFORM run_touch(r.id, 'trajectory', json_build_object('trajectory', p_trajectory,
        'state', CASE WHEN p_reason IS NULL THEN 'running' ELSE 'done' END, 'reason', p_reason,
        'detail', left(p_detail, 500)));
END $$;

-- Is the run over? Why: the first that applies of what was not its trajectories' own doing.
CREATE OR REPLACE FUNCTION run_settle(p_run uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_reason text;
BEGIN
    IF EXISTS (SELECT FROM trajectories WHERE run_id = p_run AND state = 'running') THEN
        RETURN;
    END IF;
    v_reason := (SELECT x.reason FROM unnest(ARRAY['cancelled', 'budget', 'provider', 'infra'])
                        WITH ORDINALITY AS x(reason, place)
                  WHERE EXISTS (SELECT FROM trajectories t WHERE t.run_id = p_run AND t.reason = x.reason)
                  ORDER BY x.place LIMIT 1);
    UPDATE runs SET state = 'done', reason = v_reason, finished_at = now() WHERE id = p_run;
    PERFORM run_touch(p_run, 'state', json_build_object('state', 'done', 'reason', v_reason));
END $$;

-- Gives a step up and ends its trajectory. The caller holds the step's row and has ended or ends its job. A call
-- that nobody can finish any more holds nothing back from the budgets by being under way.
CREATE OR REPLACE FUNCTION step_leave(s steps, p_reason text, p_detail text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    r runs;
BEGIN
    UPDATE steps SET state = 'left', finished_at = now() WHERE id = s.id;
    r := run_lock(s.run_id);
    IF p_reason <> 'cancelled' THEN
        PERFORM calls_lost(s.run_id, s.trajectory);
    END IF;
    PERFORM trajectory_set(r, s.trajectory, p_reason, p_detail);
    PERFORM run_settle(s.run_id);
END $$;

-- A job of a step changed its state. Only one that failed for good has not been seen to by who ended it.
CREATE OR REPLACE FUNCTION step_job_changed(j jobs) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s steps;
BEGIN
    IF j.state <> 'failed' THEN
        RETURN;
    END IF;
    SELECT * INTO s FROM steps WHERE id = j.subject_id AND state = j.kind FOR UPDATE;
    IF FOUND THEN
        PERFORM step_leave(s, CASE j.kind WHEN 'call' THEN 'provider' ELSE 'infra' END, j.error);
    END IF;
END $$;

-- ---- evaluations of steps ----

-- An event of a submission, told to the run that it is of. False: it is of none that waits for it.
CREATE OR REPLACE FUNCTION step_stage(p_submission uuid, p_data json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s steps;
    v_data jsonb := p_data::jsonb - 'kind';
BEGIN
    SELECT * INTO s FROM steps WHERE submission_id = p_submission AND state = 'evaluate';
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF octet_length(v_data::text) > 3500 THEN       -- an event may have 4,096 bytes
        v_data := jsonb_build_object('stage', v_data -> 'stage', 'state', v_data -> 'state');
    END IF;
    PERFORM run_touch(s.run_id, 'stage', (jsonb_build_object('trajectory', s.trajectory, 'n', s.n,
                                                             'submission', p_submission) || v_data)::json);
END $$;

-- An evaluation has ended: the step that waits for it can be concluded.
CREATE OR REPLACE FUNCTION step_evaluated(p_submission uuid, p_verdict text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s steps;
    r runs;
BEGIN
    UPDATE steps SET state = 'conclude' WHERE submission_id = p_submission AND state = 'evaluate' RETURNING * INTO s;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO r FROM runs WHERE id = s.run_id;
    PERFORM steps_enqueue(r, ARRAY[s.id], 'conclude');
    PERFORM run_touch(s.run_id, 'stage', json_build_object('trajectory', s.trajectory, 'n', s.n, 'submission',
                                                           p_submission, 'state', 'done', 'verdict', p_verdict));
END $$;

-- ---- claiming ----

-- What an agent needs for a step; see core/db/runs.h. Turns in it count from 1.
CREATE OR REPLACE FUNCTION step_work(s steps) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    r runs;
    t trajectories;
    p run_prompts;
    c llm_calls;
    v results;
BEGIN
    SELECT * INTO r FROM runs WHERE id = s.run_id;
    SELECT * INTO t FROM trajectories WHERE run_id = s.run_id AND n = s.trajectory;
    SELECT * INTO p FROM run_prompts WHERE run_id = s.run_id AND variant = t.variant;
    SELECT * INTO c FROM llm_calls WHERE id = s.call_id;
    IF s.state = 'conclude' THEN
        SELECT x.* INTO v FROM evaluations e JOIN results x ON x.evaluation_id = e.id
         WHERE e.submission_id = s.submission_id ORDER BY e.seq DESC LIMIT 1;
    END IF;
    RETURN json_build_object(
        'run', r.id, 'owner', r.owner_id, 'name', coalesce(nullif(r.name, ''), right(r.id::text, 8)),
        'visibility', r.visibility, 'trajectory', s.trajectory, 'variant', t.variant, 'n', s.n, 'try', s.try,
        'turns', r.turns, 'problem', r.problem, 'workload', r.workload, 'arch', r.arch, 'device', r.device,
        'provider', r.provider, 'model', r.model, 'params', r.params, 'history', r.history, 'feedback', r.feedback,
        'target', r.target, 'budget', json_build_object('tokens', r.max_tokens, 'usd', r.max_usd),
        'system', blob_text(p.system_sha), 'task', blob_text(p.task_sha),
        'past', run_past(s.run_id, s.trajectory, s.n),
        'stored', CASE WHEN c.id IS NOT NULL THEN json_build_object('call', c.id,
            'answer', blob_text(c.answer_sha), 'finish', c.finish, 'reasoning_tokens', c.reasoning_tokens) END,
        'best', (SELECT json_build_object('turn', x.n + 1, 'speedup', x.speedup) FROM turns x
                  WHERE x.run_id = s.run_id AND x.trajectory = s.trajectory AND x.n < s.n AND x.counted
                    AND x.speedup IS NOT NULL ORDER BY x.speedup DESC, x.n LIMIT 1),
        'last', (SELECT json_build_object('verdict', y.feedback ->> 'verdict', 'speedup', x.speedup)
                   FROM turns x
                   JOIN steps y ON (y.run_id, y.trajectory, y.n, y.try) = (x.run_id, x.trajectory, x.n, x.try)
                  WHERE x.run_id = s.run_id AND x.trajectory = s.trajectory AND x.n = s.n - 1 AND x.counted),
        'verdict', v.verdict, 'source', CASE WHEN s.state = 'conclude' THEN blob_text(s.source_sha) END,
        'report', blob_text(v.report_sha), 'log', blob_text(v.log_sha));
END $$;

CREATE OR REPLACE FUNCTION step_claim(p_agent text, p_lanes text[], p_lease interval)
RETURNS TABLE (id bigint, attempt int, max_attempts int, kind text, step bigint, run uuid, trajectory int, n int,
               try int, provider text, work json)
LANGUAGE plpgsql ROWS 1 AS $$
DECLARE
    j jobs;
    s steps;
BEGIN
    SELECT x.* INTO j FROM job_claim(p_agent, ARRAY(SELECT l FROM unnest(p_lanes) l WHERE l LIKE 'llm/%'), p_lease) x;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT x.* INTO s FROM steps x WHERE x.id = j.subject_id AND x.state = j.kind;
    IF NOT FOUND THEN
        PERFORM job_finish(j.id, j.attempt);        -- given up; nothing is left to do
        RETURN;
    END IF;
    RETURN QUERY SELECT j.id, j.attempt, j.max_attempts, j.kind, s.id, s.run_id, s.trajectory, s.n, s.try,
                        substr(j.lane, 5), step_work(s);
END $$;

-- Renews many leases at once. Ids of those that are not the caller's any more, or are to be stopped.
CREATE OR REPLACE FUNCTION step_heartbeat(p_agent text, p_ids bigint[], p_attempts int[], p_lease interval)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    v_mine bigint[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    WITH mine AS MATERIALIZED (
        SELECT j.id FROM unnest(p_ids, p_attempts) AS h(id, attempt)
          JOIN jobs j ON j.id = h.id AND j.attempt = h.attempt AND j.state = 'running'
         ORDER BY j.id FOR UPDATE OF j),
    renewed AS (
        UPDATE jobs j SET lease_until = now() + p_lease FROM mine WHERE j.id = mine.id
        RETURNING j.id, j.cancel_asked)
    SELECT array_agg(r.id) FILTER (WHERE NOT r.cancel_asked) INTO v_mine FROM renewed r;
    UPDATE workers SET seen_at = now() WHERE name = p_agent;
    RETURN (SELECT coalesce(json_agg(x ORDER BY x), '[]') FROM unnest(p_ids) x
             WHERE x <> ALL (coalesce(v_mine, '{}')));
END $$;

-- Says in the trajectory why it makes no headway.
CREATE OR REPLACE FUNCTION trajectory_note(s steps, p_detail text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT t.detail FROM trajectories t WHERE t.run_id = s.run_id AND t.n = s.trajectory)
       IS DISTINCT FROM left(p_detail, 500) THEN
        PERFORM run_lock(s.run_id);
        UPDATE trajectories SET detail = left(p_detail, 500) WHERE run_id = s.run_id AND n = s.trajectory;
        PERFORM run_touch(s.run_id, 'trajectory', json_build_object('trajectory', s.trajectory, 'state', 'running',
                                                                    'reason', NULL, 'detail', left(p_detail, 500)));
    END IF;
END $$;

-- Back to the queue, not before p_delay; the attempt is not spent. False: the lease was lost.
CREATE OR REPLACE FUNCTION step_delay(p_job bigint, p_attempt int, p_delay interval, p_why text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    s steps := step_mine(p_job, p_attempt);
BEGIN
    IF s.id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM job_release(p_job, p_attempt);
    UPDATE jobs SET run_after = now() + p_delay, error = left(p_why, 500) WHERE id = p_job;
    PERFORM trajectory_note(s, p_why);
    RETURN true;
END $$;

-- False: the lease was lost.
CREATE OR REPLACE FUNCTION step_fail(p_job bigint, p_attempt int, p_why text, p_retry boolean) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    s steps := step_mine(p_job, p_attempt);
BEGIN
    IF s.id IS NULL THEN
        RETURN false;
    END IF;
    IF job_fail(p_job, p_attempt, left(p_why, 500), p_retry) = 'queued' THEN
        PERFORM trajectory_note(s, p_why);
    END IF;
    RETURN true;
END $$;

-- Ends the trajectory of a step, and its job. False: the lease was lost.
CREATE OR REPLACE FUNCTION step_stop(p_job bigint, p_attempt int, p_reason text, p_detail text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    s steps := step_mine(p_job, p_attempt);
BEGIN
    IF s.id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM job_finish(p_job, p_attempt);
    PERFORM step_leave(s, p_reason, p_detail);
    RETURN true;
END $$;
