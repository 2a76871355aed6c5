-- SPDX-License-Identifier: Apache-2.0
-- What an owner does to a run: cancel, resume, extend, add a word to it, bring one from elsewhere. Lock order as in
-- steps.sql.

CREATE OR REPLACE FUNCTION run_of_viewer(p_id uuid, p_viewer bigint) RETURNS runs LANGUAGE plpgsql STABLE AS $$
DECLARE
    r runs;
BEGIN
    SELECT x.* INTO r FROM runs x WHERE x.id = p_id AND x.origin = 'local' AND may_change(x, p_viewer);
    RETURN r;
END $$;

-- The same for what stops or starts trajectories: one such change of a run at a time, or a cancel could miss what a
-- resume brings back beside it. This lock comes before all others.
CREATE OR REPLACE FUNCTION run_to_move(p_id uuid, p_viewer bigint) RETURNS runs LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(p_id::text, 0));
    RETURN run_of_viewer(p_id, p_viewer);
END $$;

-- ---- cancel ----

-- Locks the open step of a trajectory and the job that can change it, job first; the step's id is null if there is
-- none. What is read before the locks are there may be old by then: it looks again.
CREATE OR REPLACE FUNCTION step_hold(p_run uuid, p_trajectory int, OUT s steps, OUT job bigint) LANGUAGE plpgsql AS $$
DECLARE
    v_state text;
BEGIN
    LOOP
        SELECT x.* INTO s FROM steps x
         WHERE x.run_id = p_run AND x.trajectory = p_trajectory AND x.state IN ('call', 'evaluate', 'conclude');
        EXIT WHEN s.id IS NULL;
        v_state := s.state;
        IF v_state = 'evaluate' THEN
            SELECT j.id INTO job
              FROM (SELECT e.id FROM evaluations e WHERE e.submission_id = s.submission_id
                     ORDER BY e.seq DESC LIMIT 1) e
              JOIN jobs j ON j.kind = 'evaluate' AND j.subject_id = e.id FOR UPDATE OF j;
        ELSE
            SELECT j.id INTO job FROM jobs j WHERE j.kind = v_state AND j.subject_id = s.id FOR UPDATE;
        END IF;
        SELECT x.* INTO s FROM steps x WHERE x.id = s.id AND x.state = v_state FOR UPDATE;
        EXIT WHEN s.id IS NOT NULL;
    END LOOP;
END $$;

-- Gives up a step that is held, and ends its job. Who works on it is told, and finds its lease gone; an evaluation
-- ends when its worker has killed it.
CREATE OR REPLACE FUNCTION step_cancel(s steps, p_job bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    j jobs;
BEGIN
    UPDATE steps SET state = 'left', finished_at = now() WHERE id = s.id;
    IF job_cancel(p_job) = 'running' AND s.state <> 'evaluate' THEN
        SELECT * INTO j FROM jobs WHERE id = p_job;
        PERFORM job_end(j, 'cancelled', 'cancelled', false);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION run_cancel(p_id uuid, p_viewer bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    r runs := run_to_move(p_id, p_viewer);
    h record;
BEGIN
    IF r.id IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM FROM jobs j JOIN steps x ON x.id = j.subject_id AND x.state = j.kind     -- as heartbeats: by their ids
      WHERE x.run_id = p_id AND x.state IN ('call', 'conclude') AND j.state IN ('queued', 'running')
      ORDER BY j.id FOR UPDATE OF j;
    FOR h IN SELECT x.s, x.job FROM trajectories t CROSS JOIN LATERAL step_hold(p_id, t.n) x
              WHERE t.run_id = p_id AND t.state = 'running' ORDER BY t.n
    LOOP
        IF (h.s).id IS NOT NULL THEN
            PERFORM step_cancel(h.s, h.job);
        END IF;
    END LOOP;
    r := run_lock(p_id);
    IF r.state <> 'running' THEN
        RAISE EXCEPTION 'cannot cancel: the run is done' USING ERRCODE = 'PX409';
    END IF;
    PERFORM trajectory_set(r, t.n, 'cancelled', NULL)
       FROM (SELECT n FROM trajectories WHERE run_id = p_id AND state = 'running' ORDER BY n) t;
    PERFORM run_settle(p_id);
    INSERT INTO audit (owner_id, action, subject) VALUES (nullif(p_viewer, -1), 'run_cancel', p_id::text);
    RETURN run_rev(p_id, p_viewer);
END $$;

-- ---- go on ----

-- A trajectory that had ended goes on: at the turn after the last that counts, or with another try at one that does
-- not, which takes over an answer that is there.
CREATE OR REPLACE FUNCTION trajectory_reopen(r runs, p_trajectory int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s steps;
BEGIN
    SELECT * INTO s FROM steps WHERE run_id = r.id AND trajectory = p_trajectory ORDER BY n DESC, try DESC LIMIT 1;
    PERFORM trajectory_set(r, p_trajectory, NULL, NULL);
    IF s.id IS NULL THEN
        PERFORM step_add(r, p_trajectory, 0, 0, NULL, NULL);
    ELSIF EXISTS (SELECT FROM turns t WHERE t.run_id = r.id AND t.trajectory = p_trajectory AND t.n = s.n
                                        AND t.counted) THEN
        PERFORM step_add(r, p_trajectory, s.n + 1, 0, NULL, NULL);
    ELSE
        PERFORM step_add(r, p_trajectory, s.n, s.try + 1, s.call_id, s.supervision);
    END IF;
END $$;

-- Goes on with these trajectories of a run whose row is held; none: nothing to do.
CREATE OR REPLACE FUNCTION run_reopen(r runs, p_trajectories int[], p_what text, p_viewer bigint) RETURNS json
LANGUAGE plpgsql AS $$
BEGIN
    IF r.source IS NOT NULL THEN
        RAISE EXCEPTION 'cannot % it: the run comes from elsewhere', p_what USING ERRCODE = 'PX409';
    END IF;
    IF cardinality(p_trajectories) > 0 AND r.state = 'done' THEN
        UPDATE runs SET state = 'running', reason = NULL, finished_at = NULL WHERE id = r.id;
        PERFORM run_touch(r.id, 'state', json_build_object('state', 'running', 'reason', NULL));
    END IF;
    PERFORM trajectory_reopen(r, x) FROM unnest(p_trajectories) x;
    INSERT INTO audit (owner_id, action, subject) VALUES (nullif(p_viewer, -1), 'run_' || p_what, r.id::text);
    RETURN run_rev(r.id, p_viewer);
END $$;

CREATE OR REPLACE FUNCTION run_resume(p_id uuid, p_viewer bigint, p_max_tokens bigint, p_max_usd float8) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
    r runs := run_to_move(p_id, p_viewer);
    v_all int[];
BEGIN
    IF r.id IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM run_lock(p_id);
    v_all := ARRAY(SELECT n FROM trajectories WHERE run_id = p_id AND state = 'done'
                      AND reason IN ('cancelled', 'budget', 'provider', 'infra') ORDER BY n);
    IF cardinality(v_all) = 0 THEN
        RAISE EXCEPTION 'cannot resume: none of its trajectories was stopped' USING ERRCODE = 'PX409';
    END IF;
    UPDATE runs SET max_tokens = CASE WHEN p_max_tokens < 0 THEN max_tokens ELSE nullif(p_max_tokens, 0) END,
                    max_usd = CASE WHEN p_max_usd < 0 THEN max_usd ELSE nullif(p_max_usd, 0) END
     WHERE id = p_id RETURNING * INTO r;
    RETURN run_reopen(r, v_all, 'resume', p_viewer);
END $$;

CREATE OR REPLACE FUNCTION run_extend(p_id uuid, p_viewer bigint, p_turns int, p_target float8) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
    r runs := run_to_move(p_id, p_viewer);
    v_old runs;
    v_all int[];
BEGIN
    IF r.id IS NULL THEN
        RETURN NULL;
    END IF;
    v_old := run_lock(p_id);
    UPDATE runs SET turns = greatest(turns, p_turns), target = coalesce(nullif(p_target, 0), target)
     WHERE id = p_id RETURNING * INTO r;
    v_all := ARRAY(
        SELECT t.n FROM trajectories t
         CROSS JOIN LATERAL (SELECT max(x.n) AS n, max(x.speedup) AS speedup FROM turns x
                              WHERE x.run_id = p_id AND x.trajectory = t.n AND x.counted) last
         WHERE t.run_id = p_id AND t.state = 'done' AND last.n + 1 < r.turns
           AND (t.reason = 'turns' OR (t.reason = 'target' AND last.speedup < r.target)) ORDER BY t.n);
    IF cardinality(v_all) = 0 AND (r.state = 'done' OR (r.turns = v_old.turns AND r.target = v_old.target)) THEN
        RAISE EXCEPTION 'cannot extend: none of its trajectories has reached less than that' USING ERRCODE = 'PX409';
    END IF;
    RETURN run_reopen(r, v_all, 'extend', p_viewer);
END $$;

-- ---- a word from outside ----

-- NULL: no such step. Behind what was said before, in words of its own.
CREATE OR REPLACE FUNCTION run_supervise(p_id uuid, p_trajectory int, p_n int, p_viewer bigint, p_text text)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    r runs := run_of_viewer(p_id, p_viewer);
    s steps;
BEGIN
    SELECT x.* INTO s FROM steps x
     WHERE x.run_id = r.id AND x.trajectory = p_trajectory AND x.n = p_n ORDER BY x.try DESC LIMIT 1 FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF octet_length(concat(s.supervision, p_text)) > 16384 THEN
        RAISE EXCEPTION 'cannot add to this turn: all that is added may have 16,384 bytes' USING ERRCODE = 'PX422';
    END IF;
    UPDATE steps SET supervision = concat_ws(E'\n\n', supervision, p_text) WHERE id = s.id;
    PERFORM run_touch(p_id, 'supervision', json_build_object('trajectory', p_trajectory, 'n', p_n));
    RETURN run_rev(p_id, p_viewer);
END $$;
