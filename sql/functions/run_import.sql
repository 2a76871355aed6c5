-- SPDX-License-Identifier: Apache-2.0
-- Finished runs from elsewhere, as core/trajectory.h makes them. Nothing in them was measured here: they are shown
-- and exported like any other and are in no cell.

-- One call of a step. What it was sent is not told; only one with an answer can be stored.
CREATE OR REPLACE FUNCTION import_call(s steps, r runs, p jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    c llm_calls := jsonb_populate_record(NULL::llm_calls, p);
    v_answer bytea := convert_to(p ->> 'answer', 'UTF8');
BEGIN
    INSERT INTO llm_calls (run_id, trajectory, n, try, status, provider, model, agent, request_sha, answer_sha,
                           reasoning_sha, blocks, finish, tokens_in, cached, cache_write, tokens_out,
                           reasoning_tokens, usd, http_status, error, started_at, finished_at)
    VALUES (s.run_id, s.trajectory, s.n, s.try,
            CASE WHEN v_answer IS NOT NULL THEN 'stored' WHEN c.status = 'partial' THEN 'partial' ELSE 'failed' END,
            coalesce(c.provider, r.provider, ''), coalesce(c.model, r.model), 'import',
            blob_put('messages', '[]'),
            CASE WHEN v_answer IS NOT NULL THEN blob_put('answer', v_answer) END,
            CASE WHEN p ->> 'reasoning' IS NOT NULL
                 THEN blob_put('reasoning', convert_to(p ->> 'reasoning', 'UTF8')) END,
            nullif(p -> 'blocks', 'null')::json, c.finish, c.tokens_in, c.cached,
            c.cache_write, c.tokens_out, c.reasoning_tokens, c.usd, c.http_status, left(c.error, 500),
            coalesce(c.started_at, now()), coalesce(c.finished_at, c.started_at, now()))
    RETURNING id INTO c.id;
    UPDATE runs SET calls = calls + 1, tokens_in = tokens_in + coalesce(c.tokens_in, 0),
                    tokens_out = tokens_out + coalesce(c.tokens_out, 0), usd = usd + coalesce(c.usd, 0)
     WHERE id = r.id;
    RETURN c.id;
END $$;

CREATE OR REPLACE FUNCTION import_turn(s steps, p_variant int, p jsonb, p_reasoning bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO turns (run_id, trajectory, n, try, counted, variant, label, prev_label, correct, inst, speedup,
                       reasoning_tokens)
    VALUES (s.run_id, s.trajectory, s.n, s.try, coalesce((p ->> 'counted')::boolean, true), p_variant, p ->> 'label',
            coalesce((SELECT b.label FROM turns b WHERE b.run_id = s.run_id AND b.trajectory = s.trajectory
                                                    AND b.n = s.n - 1 AND b.counted), ''),
            coalesce((p ->> 'correct')::boolean, false), (p ->> 'inst')::boolean, (p ->> 'speedup')::float8,
            p_reasoning);
END $$;

CREATE OR REPLACE FUNCTION import_step(r runs, t trajectories, p jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s steps;
    v_call jsonb := CASE WHEN jsonb_typeof(p -> 'call') = 'object' THEN p -> 'call' END;
    v_other jsonb;
BEGIN
    INSERT INTO steps (run_id, trajectory, n, try, state, extraction, source_sha, errors, feedback, feedback_text,
                       supervision, created_at, finished_at)
    VALUES (r.id, t.n, (p ->> 'n')::int, coalesce((p ->> 'try')::int, 0),
            CASE WHEN p ->> 'label' IS NOT NULL THEN 'done' ELSE 'left' END, p ->> 'extraction',
            CASE WHEN p ->> 'source' IS NOT NULL THEN blob_put('source', convert_to(p ->> 'source', 'UTF8')) END,
            nullif(p -> 'errors', 'null')::json,
            nullif(p -> 'feedback', 'null')::json, p ->> 'feedback_text',
            p ->> 'supervision', coalesce((p ->> 'created_at')::timestamptz, now()),
            coalesce((p ->> 'finished_at')::timestamptz, now()))
    RETURNING * INTO s;
    FOR v_other IN SELECT x FROM jsonb_array_elements(CASE jsonb_typeof(p -> 'calls') WHEN 'array' THEN p -> 'calls'
                                                                                    ELSE '[]' END) x
                    WHERE x ->> 'id' IS DISTINCT FROM v_call ->> 'id'
    LOOP
        PERFORM import_call(s, r, v_other);
    END LOOP;
    IF v_call IS NOT NULL THEN
        UPDATE steps SET call_id = import_call(s, r, v_call) WHERE id = s.id;
    END IF;
    IF s.state = 'done' THEN
        PERFORM import_turn(s, t.variant, p, (v_call ->> 'reasoning_tokens')::bigint);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION import_rows(p_id uuid, p_owner bigint, p jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    r runs;
    t trajectories;
    p_run jsonb := p -> 'run';
    x record;
BEGIN
    IF num_nulls(p_run ->> 'problem', p_run ->> 'model') > 0 OR jsonb_array_length(p -> 'trajectories') = 0 THEN
        RAISE EXCEPTION 'it has no problem, no model or no trajectories' USING ERRCODE = 'data_exception';
    END IF;
    INSERT INTO runs (id, owner_id, origin, name, source, turns, problem, workload, arch, device, provider, model,
                      condition, params, history, feedback, per_variant, target, max_tokens, max_usd, visibility, state,
                      created_at, finished_at)
    VALUES (p_id, p_owner, 'local', coalesce(p_run ->> 'name', ''), coalesce(p_run ->> 'source', 'imported'),
            coalesce((p_run ->> 'turns')::int, (SELECT max((s ->> 'n')::int) + 1
                FROM jsonb_array_elements(p -> 'trajectories') y CROSS JOIN jsonb_array_elements(y -> 'steps') s), 1),
            p_run ->> 'problem', p_run ->> 'workload', p_run ->> 'arch', p_run ->> 'device', p_run ->> 'provider',
            p_run ->> 'model', coalesce(p_run ->> 'condition', ''),
            nullif(p_run -> 'params', 'null')::json, p_run ->> 'history', p_run ->> 'feedback',
            (p_run ->> 'per_variant')::int, (p_run ->> 'target_speedup')::float8,
            nullif((p_run #>> '{budget,tokens}')::bigint, 0), nullif((p_run #>> '{budget,usd}')::float8, 0),
            coalesce(p_run ->> 'visibility', 'public'), 'done',
            coalesce((p_run ->> 'created_at')::timestamptz, now()),
            coalesce((p_run ->> 'finished_at')::timestamptz, now()))
    RETURNING * INTO r;
    PERFORM run_prompts_add(p_id, (p -> 'prompts')::json);
    FOR x IN SELECT y AS document, place - 1 AS place
               FROM jsonb_array_elements(p -> 'trajectories') WITH ORDINALITY AS e(y, place)
    LOOP
        INSERT INTO trajectories (run_id, n, variant, left_out, state, reason, detail)
        VALUES (p_id, coalesce((x.document ->> 'trajectory')::int, x.place), (x.document ->> 'variant')::int,
                'imported', 'done', x.document ->> 'reason', left(x.document ->> 'detail', 500))
        RETURNING * INTO t;
        PERFORM import_step(r, t, s.s)
           FROM (SELECT s FROM jsonb_array_elements(x.document -> 'steps') s
                  ORDER BY (s ->> 'n')::int, coalesce((s ->> 'try')::int, 0)) s;
    END LOOP;
    PERFORM run_touch(p_id, 'state', json_build_object('state', 'done', 'reason', NULL));
    INSERT INTO audit (owner_id, action, subject) VALUES (p_owner, 'run_import', p_id::text);
    RETURN (SELECT json_build_object('id', p_id, 'trajectories', (SELECT count(*) FROM trajectories
                                      WHERE run_id = p_id),
                                     'turns', (SELECT count(*) FROM turns WHERE run_id = p_id AND counted)));
END $$;

-- Raises PX422 for a document that is not what it should be.
CREATE OR REPLACE FUNCTION run_import(p_id uuid, p_owner bigint, p json) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    RETURN import_rows(p_id, p_owner, p::jsonb);
EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
    RAISE EXCEPTION 'cannot import the run: %', SQLERRM USING ERRCODE = 'PX422';
END $$;
