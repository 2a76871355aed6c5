-- SPDX-License-Identifier: Apache-2.0
-- Agent runs as the API sees them: create, read, list. `p_viewer` as in submission.sql. Documents are json and
-- not jsonb: built once, never searched. Texts come from blobs, so that a NUL can stand in none of them.

CREATE OR REPLACE FUNCTION may_see(r runs, p_viewer bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT r.visibility = 'public' OR r.owner_id = p_viewer OR p_viewer = -1
$$;

CREATE OR REPLACE FUNCTION may_change(r runs, p_viewer bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT r.owner_id = p_viewer OR p_viewer = -1
$$;

-- A blob as text. Models and people write UTF-8; what a kernel printed may be anything, and its odd bytes become
-- question marks rather than an error that nobody could do anything about.
CREATE OR REPLACE FUNCTION blob_text(p_sha bytea) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_data bytea := (SELECT b.data FROM blobs b WHERE b.sha256 = p_sha);
BEGIN
    RETURN convert_from(v_data, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN replace(regexp_replace(replace(encode(v_data, 'escape'), '\\', chr(1)), '\\[0-7]{3}', '?', 'g'),
                   chr(1), '\');
END $$;

-- ---- a new run ----

-- What the trajectories of each variant are sent first, kept.
CREATE OR REPLACE FUNCTION run_prompts_add(p_run uuid, p_prompts json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO run_prompts (run_id, variant, name, system_sha, task_sha, tokens, estimated)
    SELECT p_run, x.variant, coalesce(x.name, ''), blob_put('prompt', convert_to(coalesce(x.system, ''), 'UTF8')),
           blob_put('prompt', convert_to(coalesce(x.task, ''), 'UTF8')), coalesce(x.tokens, 0),
           coalesce(x.estimated, true)
      FROM json_to_recordset(p_prompts) AS x(variant int, name text, system text, task text, tokens int,
                                             estimated boolean);
END $$;

-- The run of a document as core/run.h makes it, with every trajectory at its first call. Raises PX429 if the owner
-- has p_open_limit runs under way.
CREATE OR REPLACE FUNCTION run_create(p_id uuid, p_owner bigint, p json, p_open_limit int) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
    d jsonb := p::jsonb;        -- json is read from its start for every member
    r runs;
    v_open bigint;
    v_steps bigint[];
BEGIN
    IF num_nulls(d ->> 'problem', d ->> 'workload', d ->> 'arch', d ->> 'device', d ->> 'provider', d ->> 'model',
                 d ->> 'history', d ->> 'feedback', d ->> 'turns', d ->> 'trajectories', d #>> '{prompts,0,system}') > 0
    THEN
        RAISE EXCEPTION 'cannot begin the run: its document is not whole' USING ERRCODE = 'PX422';
    END IF;
    PERFORM 1 FROM owners o WHERE o.id = p_owner FOR NO KEY UPDATE;
    v_open := (SELECT count(*) FROM runs x WHERE x.owner_id = p_owner AND x.origin = 'local' AND x.state = 'running');
    IF v_open >= p_open_limit THEN
        RAISE EXCEPTION '% runs of this owner are under way, the limit is %', v_open, p_open_limit
            USING ERRCODE = 'PX429';
    END IF;
    INSERT INTO runs (id, owner_id, origin, name, turns, problem, workload, arch, device, provider, model, condition,
                      params, history, feedback, per_variant, target, max_tokens, max_usd, visibility, state)
    VALUES (p_id, p_owner, 'local', coalesce(d ->> 'name', ''), (d ->> 'turns')::int, d ->> 'problem',
            d ->> 'workload', d ->> 'arch', d ->> 'device', d ->> 'provider', d ->> 'model',
            coalesce(d ->> 'condition', ''), coalesce(d -> 'params', '{}')::json, d ->> 'history', d ->> 'feedback',
            (d ->> 'trajectories')::int, (d ->> 'target_speedup')::float8,
            nullif((d #>> '{budget,tokens}')::bigint, 0), nullif((d #>> '{budget,usd}')::float8, 0),
            coalesce(d ->> 'visibility', 'public'), 'running')
    RETURNING * INTO r;
    PERFORM run_prompts_add(p_id, p -> 'prompts');
    INSERT INTO trajectories (run_id, n, variant, left_out, state)
    SELECT p_id, (row_number() OVER (ORDER BY v.variant, k.k) - 1)::int, v.variant, 'still running', 'running'
      FROM run_prompts v CROSS JOIN generate_series(1, r.per_variant) AS k(k) WHERE v.run_id = p_id;
    WITH first AS (
        INSERT INTO steps (run_id, trajectory, n)
        SELECT p_id, t.n, 0 FROM trajectories t WHERE t.run_id = p_id ORDER BY t.n RETURNING id)
    SELECT array_agg(id ORDER BY id) INTO v_steps FROM first;
    PERFORM steps_enqueue(r, v_steps, 'call');
    PERFORM run_touch(p_id, 'state', json_build_object('state', 'running', 'reason', NULL));
    RETURN run_rev(p_id, -1);
END $$;

-- ---- reading ----

CREATE OR REPLACE FUNCTION run_rev(p_id uuid, p_viewer bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT json_build_object('id', r.id, 'state', r.state, 'rev', r.rev)
              FROM runs r WHERE r.id = p_id AND r.origin = 'local' AND may_see(r, p_viewer));
END $$;

-- The fastest correct turn of a run.
CREATE OR REPLACE FUNCTION run_best(p_run uuid) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT json_build_object('trajectory', t.trajectory, 'n', t.n, 'speedup', t.speedup,
                                     'submission', s.submission_id)
              FROM turns t
              LEFT JOIN steps s ON (s.run_id, s.trajectory, s.n, s.try) = (t.run_id, t.trajectory, t.n, t.try)
             WHERE t.run_id = p_run AND t.counted AND t.speedup IS NOT NULL
             ORDER BY t.speedup DESC, t.n, t.trajectory LIMIT 1);
END $$;

-- Everything of a run but where its trajectories stand.
CREATE OR REPLACE FUNCTION run_json(r runs) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN json_build_object(
        'id', r.id, 'name', nullif(r.name, ''), 'owner', (SELECT o.name FROM owners o WHERE o.id = r.owner_id),
        'state', r.state, 'reason', r.reason, 'rev', r.rev, 'problem', r.problem, 'workload', r.workload,
        'arch', r.arch, 'device', r.device, 'provider', r.provider, 'model', r.model,
        'condition', nullif(r.condition, ''), 'params', r.params, 'history', r.history, 'feedback', r.feedback,
        'source', r.source,
        'variants', (SELECT coalesce(json_agg(json_build_object('variant', p.variant, 'name', p.name,
                                'tokens', p.tokens, 'estimated', p.estimated) ORDER BY p.variant), '[]')
                       FROM run_prompts p WHERE p.run_id = r.id),
        'per_variant', r.per_variant,
        'trajectories', (SELECT count(*) FROM trajectories t WHERE t.run_id = r.id),
        'turns', r.turns, 'target_speedup', r.target,
        'budget', json_build_object('tokens', r.max_tokens, 'usd', r.max_usd),
        'spent', json_build_object('calls', r.calls, 'tokens_in', r.tokens_in, 'tokens_out', r.tokens_out,
                                   'usd', r.usd),
        'visibility', r.visibility, 'created_at', iso8601(r.created_at), 'finished_at', iso8601(r.finished_at),
        'done', (SELECT count(*) FROM turns t WHERE t.run_id = r.id AND t.counted), 'best', run_best(r.id));
END $$;

-- Where every trajectory of a run stands: its open step and its counted turns.
CREATE OR REPLACE FUNCTION run_grid(p_run uuid) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH counted AS MATERIALIZED (
            SELECT t.trajectory, json_agg(json_build_object(
                       'n', t.n, 'try', t.try, 'label', t.label, 'correct', t.correct, 'inst', t.inst,
                       'speedup', t.speedup, 'submission', s.submission_id, 'usd', c.usd,
                       'tokens_out', c.tokens_out,
                       'seconds', round(extract(epoch FROM s.finished_at - s.created_at), 3)) ORDER BY t.n) AS turns
              FROM turns t
              JOIN steps s ON s.run_id = p_run AND (s.trajectory, s.n, s.try) = (t.trajectory, t.n, t.try)
              LEFT JOIN llm_calls c ON c.id = s.call_id
             WHERE t.run_id = p_run AND t.counted GROUP BY t.trajectory)
        SELECT coalesce(json_agg(json_build_object(
                   'trajectory', t.n, 'variant', t.variant, 'state', t.state, 'reason', t.reason,
                   'detail', t.detail,
                   'at', CASE WHEN o.id IS NOT NULL THEN json_build_object('n', o.n, 'try', o.try, 'state', o.state)
                         END,
                   'turns', coalesce(k.turns, '[]')) ORDER BY t.n), '[]')
          FROM trajectories t
          LEFT JOIN steps o ON o.run_id = p_run AND o.trajectory = t.n AND o.state IN ('call', 'evaluate', 'conclude')
          LEFT JOIN counted k ON k.trajectory = t.n
         WHERE t.run_id = p_run);
END $$;

CREATE OR REPLACE FUNCTION run_get(p_id uuid, p_viewer bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    r runs;
BEGIN
    SELECT x.* INTO r FROM runs x WHERE x.id = p_id AND x.origin = 'local' AND may_see(x, p_viewer);
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN left(run_json(r)::text, -1) || ', "grid" : ' || run_grid(p_id)::text || '}';
END $$;

CREATE OR REPLACE FUNCTION run_list(p_limit int, p_before uuid, p_viewer bigint, p_problem text, p_model text,
                                    p_state text, p_owner text)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_items json;
    v_count bigint;
    v_last text;
BEGIN
    SELECT coalesce(json_agg(x.item ORDER BY x.id DESC), '[]'), count(*), min(x.id::text)
      INTO v_items, v_count, v_last
      FROM (SELECT r.id, run_json(r) AS item
              FROM runs r
             WHERE r.origin = 'local' AND may_see(r, p_viewer) AND (p_before IS NULL OR r.id < p_before)
               AND (p_problem IS NULL OR r.problem = p_problem) AND (p_model IS NULL OR r.model = p_model)
               AND (p_state IS NULL OR r.state = p_state)
               AND (p_owner IS NULL OR r.owner_id = (SELECT o.id FROM owners o WHERE o.name = p_owner))
             ORDER BY r.id DESC LIMIT p_limit) x;
    RETURN json_build_object('items', v_items, 'next', CASE WHEN v_count = p_limit THEN v_last END);
END $$;

-- ---- one trajectory ----

-- A call: what it said, what it cost. Without its texts they are left out, not null.
CREATE OR REPLACE FUNCTION call_json(c llm_calls, p_texts boolean) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_call text := json_build_object(
        'id', c.id, 'status', c.status, 'finish', c.finish, 'tokens_in', c.tokens_in, 'cached', c.cached,
        'cache_write', c.cache_write, 'tokens_out', c.tokens_out, 'reasoning_tokens', c.reasoning_tokens,
        'usd', c.usd, 'http_status', c.http_status, 'provider', c.provider, 'model', c.model,
        'request_sha256', encode(c.request_sha, 'hex'), 'started_at', iso8601(c.started_at),
        'finished_at', iso8601(c.finished_at), 'error', c.error)::text;
BEGIN
    IF c.id IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN CASE WHEN NOT p_texts THEN v_call ELSE left(v_call, -1) || ', '
        || substr(json_build_object('answer', blob_text(c.answer_sha), 'reasoning', blob_text(c.reasoning_sha),
                                    'blocks', c.blocks)::text, 2) END;
END $$;

CREATE OR REPLACE FUNCTION step_json(s steps) RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    t turns;
    c llm_calls;
BEGIN
    SELECT x.* INTO t FROM turns x
     WHERE (x.run_id, x.trajectory, x.n, x.try) = (s.run_id, s.trajectory, s.n, s.try);
    SELECT x.* INTO c FROM llm_calls x WHERE x.id = s.call_id;
    RETURN json_build_object(
        'n', s.n, 'try', s.try, 'state', s.state, 'counted', t.counted, 'label', t.label, 'correct', t.correct,
        'inst', t.inst, 'speedup', t.speedup, 'extraction', s.extraction, 'source', blob_text(s.source_sha),
        'errors', s.errors, 'submission', s.submission_id, 'verdict', submission_verdict(s.submission_id),
        'feedback', s.feedback, 'feedback_text', s.feedback_text, 'supervision', s.supervision,
        'created_at', iso8601(s.created_at), 'finished_at', iso8601(s.finished_at),
        'call', call_json(c, true),
        'calls', (SELECT coalesce(json_agg(call_json(x, false) ORDER BY x.id), '[]') FROM llm_calls x
                   WHERE (x.run_id, x.trajectory, x.n, x.try) = (s.run_id, s.trajectory, s.n, s.try)));
END $$;

-- Of its newest evaluation that has a result.
CREATE OR REPLACE FUNCTION submission_verdict(p_id uuid) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT x.verdict FROM evaluations e JOIN results x ON x.evaluation_id = e.id
             WHERE e.submission_id = p_id ORDER BY e.seq DESC LIMIT 1);
END $$;

CREATE OR REPLACE FUNCTION run_trajectory(p_id uuid, p_trajectory int, p_viewer bigint) RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT json_build_object(
                'run', r.id, 'trajectory', t.n, 'variant', t.variant, 'variant_name', p.name, 'state', t.state,
                'reason', t.reason, 'detail', t.detail, 'left_out', t.left_out, 'system', blob_text(p.system_sha),
                'task', blob_text(p.task_sha), 'history', r.history,
                'steps', (SELECT coalesce(json_agg(step_json(s) ORDER BY s.n, s.try), '[]') FROM steps s
                           WHERE s.run_id = r.id AND s.trajectory = t.n))
              FROM runs r
              JOIN trajectories t ON t.run_id = r.id AND t.n = p_trajectory
              LEFT JOIN run_prompts p ON p.run_id = r.id AND p.variant = t.variant
             WHERE r.id = p_id AND r.origin = 'local' AND may_see(r, p_viewer));
END $$;

-- What a call at turn p_n looks back on: of every turn before, the answer and what was said to it, with what a
-- supervisor added behind it.
CREATE OR REPLACE FUNCTION run_past(p_run uuid, p_trajectory int, p_n int) RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(json_agg(json_build_object(
                       'answer', coalesce(blob_text(c.answer_sha), ''), 'blocks', c.blocks,
                       'feedback', concat_ws(E'\n\n', nullif(s.feedback_text, ''), s.supervision))
                       ORDER BY t.n), '[]')
              FROM turns t
              JOIN steps s ON (s.run_id, s.trajectory, s.n, s.try) = (t.run_id, t.trajectory, t.n, t.try)
              LEFT JOIN llm_calls c ON c.id = s.call_id
             WHERE t.run_id = p_run AND t.trajectory = p_trajectory AND t.n < p_n AND t.counted);
END $$;

-- The messages of the call of turn p_n as they were sent, or what a call that is yet to come is made of (p_n < 0:
-- the turn after the last that counts).
CREATE OR REPLACE FUNCTION run_messages(p_id uuid, p_trajectory int, p_n int, p_viewer bigint) RETURNS json
LANGUAGE plpgsql STABLE AS $$
DECLARE
    r runs;
    t trajectories;
    c llm_calls;
    v_next int;
    v_n int;
BEGIN
    SELECT x.* INTO r FROM runs x WHERE x.id = p_id AND x.origin = 'local' AND may_see(x, p_viewer);
    SELECT x.* INTO t FROM trajectories x WHERE x.run_id = r.id AND x.n = p_trajectory;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    v_next := (SELECT coalesce(max(x.n) + 1, 0) FROM turns x
                WHERE x.run_id = p_id AND x.trajectory = p_trajectory AND x.counted);
    v_n := CASE WHEN p_n < 0 THEN v_next ELSE p_n END;
    IF v_n > v_next THEN
        RETURN NULL;
    END IF;
    SELECT x.* INTO c FROM llm_calls x      -- the one whose answer was taken, else the newest; an import knows of none
     WHERE x.run_id = p_id AND x.trajectory = p_trajectory AND x.n = v_n AND r.source IS NULL
     ORDER BY x.status = 'stored' DESC, x.id DESC LIMIT 1;
    RETURN (SELECT json_build_object(
                'run', r.id, 'trajectory', t.n, 'n', v_n, 'history', r.history,
                'call', c.id, 'sha256', encode(c.request_sha, 'hex'),
                'messages', blob_text(c.request_sha)::json,
                'system', blob_text(p.system_sha), 'task', blob_text(p.task_sha),
                'past', run_past(p_id, p_trajectory, v_n))
              FROM run_prompts p WHERE p.run_id = p_id AND p.variant = t.variant);
END $$;
