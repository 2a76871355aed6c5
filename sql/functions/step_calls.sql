-- SPDX-License-Identifier: Apache-2.0
-- Calls of models and what becomes of their answers. What a call cost is known when it ends; what it may cost at
-- most is held back from the run's budgets until then, and for good where nobody will ever know.

-- Calls of a trajectory that nobody waits for any more.
CREATE OR REPLACE FUNCTION calls_lost(p_run uuid, p_trajectory int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE llm_calls SET status = 'failed', error = 'the agent was lost', finished_at = now()
     WHERE run_id = p_run AND trajectory = p_trajectory AND status = 'started';
END $$;

-- go, wait or budget; p_detail: why not.
CREATE OR REPLACE FUNCTION budget_allows(r runs, p_tokens bigint, p_usd float8, OUT leave text, OUT detail text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    h record;
BEGIN
    leave := 'go';
    IF r.max_tokens IS NULL AND r.max_usd IS NULL THEN
        RETURN;
    END IF;
    SELECT coalesce(sum(c.held_tokens) FILTER (WHERE c.status = 'started'), 0) AS open_tokens,
           coalesce(sum(c.held_tokens) FILTER (WHERE c.status <> 'started'), 0) AS kept_tokens,
           coalesce(sum(c.held_usd) FILTER (WHERE c.status = 'started'), 0) AS open_usd,
           coalesce(sum(c.held_usd) FILTER (WHERE c.status <> 'started'), 0) AS kept_usd
      INTO h FROM llm_calls c WHERE c.run_id = r.id;
    IF r.tokens_in + r.tokens_out + h.kept_tokens + p_tokens > r.max_tokens THEN
        leave := 'budget';
        detail := format('the next call may take %s tokens; %s of %s are left', p_tokens,
                         greatest(0, r.max_tokens - r.tokens_in - r.tokens_out - h.kept_tokens), r.max_tokens);
    ELSIF r.usd + h.kept_usd + p_usd > r.max_usd THEN
        leave := 'budget';
        detail := format('the next call may cost $%s; $%s of $%s are left', round(p_usd::numeric, 4),
                         round(greatest(0, r.max_usd - r.usd - h.kept_usd)::numeric, 4), r.max_usd);
    ELSIF r.tokens_in + r.tokens_out + h.kept_tokens + h.open_tokens + p_tokens > r.max_tokens
       OR r.usd + h.kept_usd + h.open_usd + p_usd > r.max_usd THEN
        leave := 'wait';
    END IF;
END $$;

-- leave: go, wait, budget, lost.
CREATE OR REPLACE FUNCTION call_start(p_job bigint, p_attempt int, p_agent text, p_messages bytea, p_tokens bigint,
                                      p_usd float8, OUT leave text, OUT call bigint)
LANGUAGE plpgsql AS $$
DECLARE
    s steps := step_mine(p_job, p_attempt);
    r runs;
    v_detail text;
BEGIN
    leave := 'lost';
    IF s.id IS NULL THEN
        RETURN;
    END IF;
    IF s.call_id IS NOT NULL THEN           -- an answer came in after the claim: whoever claims next goes on with it
        PERFORM job_release(p_job, p_attempt);
        RETURN;
    END IF;
    r := run_lock(s.run_id);
    PERFORM calls_lost(s.run_id, s.trajectory);
    SELECT b.leave, b.detail INTO leave, v_detail FROM budget_allows(r, p_tokens, p_usd) b;
    IF leave = 'budget' THEN
        PERFORM job_finish(p_job, p_attempt);
        PERFORM step_leave(s, 'budget', v_detail);
    ELSIF leave = 'go' THEN
        INSERT INTO llm_calls (run_id, trajectory, n, try, provider, model, agent, request_sha, held_tokens, held_usd)
        VALUES (s.run_id, s.trajectory, s.n, s.try, r.provider, r.model, p_agent, blob_put('messages', p_messages),
                p_tokens, p_usd) RETURNING id INTO call;
        UPDATE runs SET calls = calls + 1 WHERE id = s.run_id;
        UPDATE trajectories SET detail = NULL
         WHERE run_id = s.run_id AND n = s.trajectory AND detail IS NOT NULL;
        PERFORM run_touch(s.run_id, 'turn', json_build_object('trajectory', s.trajectory, 'n', s.n, 'try', s.try));
    END IF;
END $$;

-- False: stop the call.
CREATE OR REPLACE FUNCTION call_progress(p_job bigint, p_attempt int, p_text bigint, p_reasoning bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    s steps := step_mine(p_job, p_attempt);
BEGIN
    IF s.id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM run_touch(s.run_id, 'tokens', json_build_object('trajectory', s.trajectory, 'n', s.n, 'text', p_text,
                                                            'reasoning', p_reasoning));
    RETURN true;
END $$;

-- An answer that came when its step had been given up goes to the try that took over, unless that one has asked
-- for an answer of its own.
CREATE OR REPLACE FUNCTION call_adopt(c llm_calls) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE steps s SET call_id = c.id
     WHERE s.run_id = c.run_id AND s.trajectory = c.trajectory AND s.n = c.n AND s.call_id IS NULL
       AND (s.try = c.try OR (s.state = 'call' AND s.try > c.try
            AND NOT EXISTS (SELECT FROM llm_calls x WHERE x.run_id = s.run_id AND x.trajectory = s.trajectory
                                                      AND x.n = s.n AND x.try = s.try)));
END $$;

-- Stores how a call ended, once, whoever holds the lease. p: status, finish, tokens_in, cached, cache_write,
-- tokens_out, reasoning_tokens, usd, http_status, error. Returns whether the step is still the caller's.
CREATE OR REPLACE FUNCTION call_finish(p_job bigint, p_attempt int, p_call bigint, p json, p_answer bytea,
                                       p_reasoning bytea, p_blocks json)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    c llm_calls := json_populate_record(NULL::llm_calls, p);
    v_old llm_calls;
    v_known boolean := c.tokens_in IS NOT NULL OR c.tokens_out IS NOT NULL OR c.status = 'failed';
BEGIN
    PERFORM 1 FROM jobs WHERE id = p_job FOR UPDATE;
    PERFORM 1 FROM steps s JOIN llm_calls x ON (x.run_id, x.trajectory, x.n) = (s.run_id, s.trajectory, s.n)
      WHERE x.id = p_call ORDER BY s.id FOR UPDATE OF s;
    PERFORM run_lock((SELECT x.run_id FROM llm_calls x WHERE x.id = p_call));
    SELECT x.* INTO v_old FROM llm_calls x WHERE x.id = p_call;
    IF v_old.status = 'started' OR v_old.error = 'the agent was lost' THEN
        UPDATE llm_calls
           SET status = c.status, answer_sha = CASE WHEN p_answer IS NOT NULL THEN blob_put('answer', p_answer) END,
               reasoning_sha = CASE WHEN p_reasoning IS NOT NULL THEN blob_put('reasoning', p_reasoning) END,
               blocks = p_blocks, finish = c.finish, tokens_in = c.tokens_in, cached = c.cached,
               cache_write = c.cache_write, tokens_out = c.tokens_out, reasoning_tokens = c.reasoning_tokens,
               usd = c.usd, http_status = c.http_status, error = left(c.error, 500), finished_at = now(),
               held_tokens = CASE WHEN v_known THEN 0 ELSE held_tokens END,
               held_usd = CASE WHEN v_known AND (c.usd IS NOT NULL OR c.status = 'failed') THEN 0 ELSE held_usd END
         WHERE id = p_call RETURNING * INTO c;
        IF c.status = 'stored' THEN
            PERFORM call_adopt(c);
        END IF;
        UPDATE runs SET tokens_in = tokens_in + coalesce(c.tokens_in, 0),
                        tokens_out = tokens_out + coalesce(c.tokens_out, 0), usd = usd + coalesce(c.usd, 0)
         WHERE id = c.run_id;
        IF c.status <> 'failed' THEN
            PERFORM run_touch(c.run_id, 'answer', json_build_object('trajectory', c.trajectory, 'n', c.n,
                'finish', c.finish, 'tokens_out', c.tokens_out, 'usd', c.usd));
        END IF;
    END IF;
    RETURN (step_mine(p_job, p_attempt)).id IS NOT NULL;
END $$;

-- The kernel of an answer has become a submission, made in this transaction. False: the lease was lost, roll back.
CREATE OR REPLACE FUNCTION step_submitted(p_job bigint, p_attempt int, p_submission uuid, p_extraction text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    s steps := step_mine(p_job, p_attempt);
BEGIN
    IF s.id IS NULL OR s.state <> 'call' THEN
        RETURN false;
    END IF;
    UPDATE steps SET state = 'evaluate', submission_id = p_submission, extraction = p_extraction,
                     source_sha = (SELECT x.source_sha FROM submissions x WHERE x.id = p_submission)
     WHERE id = s.id;
    PERFORM job_finish(p_job, p_attempt);
    PERFORM run_touch(s.run_id, 'submitted', json_build_object('trajectory', s.trajectory, 'n', s.n,
                                                               'submission', p_submission));
    RETURN true;
END $$;

-- ---- conclusions ----

-- What comes after a turn: another try at it, the next one, or the end.
CREATE OR REPLACE FUNCTION step_next(r runs, s steps, p_infra boolean, p_speedup float8) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT p_infra THEN
        IF p_speedup >= r.target THEN
            PERFORM trajectory_set(r, s.trajectory, 'target', NULL);
        ELSIF s.n + 1 >= r.turns THEN
            PERFORM trajectory_set(r, s.trajectory, 'turns', NULL);
        ELSE
            PERFORM step_add(r, s.trajectory, s.n + 1, 0, NULL, NULL);
        END IF;
    ELSIF (SELECT count(*) % 3 = 0 FROM turns t         -- a resumed trajectory has three more
            WHERE t.run_id = r.id AND t.trajectory = s.trajectory AND t.n = s.n AND NOT t.counted) THEN
        PERFORM trajectory_set(r, s.trajectory, 'infra', 'the service failed three times at one turn');
    ELSE
        PERFORM step_add(r, s.trajectory, s.n, s.try + 1, s.call_id, s.supervision);
    END IF;
    PERFORM run_settle(r.id);
END $$;

-- Writes the turn and goes on. False: the lease was lost.
CREATE OR REPLACE FUNCTION step_conclude(
    p_job bigint, p_attempt int, p_label text, p_correct boolean, p_infra boolean, p_inst boolean, p_speedup float8,
    p_reasoning bigint, p_extraction text, p_source bytea, p_errors json, p_feedback json, p_text text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    s steps := step_mine(p_job, p_attempt);
    r runs;
BEGIN
    IF s.id IS NULL THEN
        RETURN false;
    END IF;
    UPDATE steps SET state = 'done', extraction = coalesce(p_extraction, extraction),
                     source_sha = CASE WHEN p_source IS NULL THEN source_sha ELSE blob_put('source', p_source) END,
                     errors = coalesce(p_errors, errors), feedback = p_feedback, feedback_text = p_text,
                     finished_at = now()
     WHERE id = s.id RETURNING * INTO s;
    PERFORM job_finish(p_job, p_attempt);
    r := run_lock(s.run_id);
    INSERT INTO turns (run_id, trajectory, n, try, counted, variant, label, prev_label, correct, inst, speedup,
                       reasoning_tokens)
    SELECT s.run_id, s.trajectory, s.n, s.try, NOT p_infra, t.variant, p_label,
           coalesce((SELECT b.label FROM turns b WHERE b.run_id = s.run_id AND b.trajectory = s.trajectory
                                                   AND b.n = s.n - 1 AND b.counted), ''),
           p_correct, p_inst, p_speedup, p_reasoning
      FROM trajectories t WHERE t.run_id = s.run_id AND t.n = s.trajectory;
    PERFORM run_touch(s.run_id, 'feedback', json_build_object('trajectory', s.trajectory, 'n', s.n, 'try', s.try,
        'counted', NOT p_infra, 'label', p_label, 'correct', p_correct, 'inst', p_inst, 'speedup', p_speedup));
    PERFORM step_next(r, s, p_infra, p_speedup);
    RETURN true;
END $$;
