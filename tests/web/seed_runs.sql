-- SPDX-License-Identifier: Apache-2.0
-- Agent runs for the browser tests, played by an agent that asks no model: what it answers stands in web.outcomes.
-- Behind seed.sql, whose worker for sm_90a/h200 takes the kernels.

CREATE SCHEMA web;

-- What comes of try `try` at turn n of a trajectory. No row: the agent is still at it.
CREATE TABLE web.outcomes (
    provider text, trajectory int, n int, try int DEFAULT 0,
    label text, verdict text, speedup float8, inst boolean,
    extraction text DEFAULT 'kernel', finish text DEFAULT 'stop', errors json, answer text, told text,
    PRIMARY KEY (provider, trajectory, n, try)
);

CREATE FUNCTION web.kernel(p_name text, p_version int) RETURNS text LANGUAGE sql AS $$
    SELECT format(E'/*ptxbench-launch\n{"launches": [{"kernel": "%1$s", "grid": [132], "block": [384], "args": [{"tensor": "A"}]}]}\n*/\n'
                  '__global__ void %1$s(const float *a)\n{\n    constexpr int stages = %2$s;\n    if (threadIdx.x < 32)\n'
                  '        asm volatile("wgmma.fence.sync.aligned;");\n}\n', p_name, p_version + 2)
$$;

CREATE FUNCTION web.run(p_provider text, p_name text, p_variants text[], p_more json) RETURNS uuid LANGUAGE sql AS $$
    SELECT (run_create(gen_random_uuid(), 0, (jsonb_build_object(
        'problem', 'gemm', 'workload', 'm2379_n2048_k5376', 'arch', 'sm_90a', 'device', 'h200', 'name', p_name,
        'provider', p_provider, 'model', 'made-up-1', 'condition', '', 'trajectories', 2, 'turns', 4,
        'target_speedup', 1.2, 'history', 'full', 'feedback', 'full', 'params', '{"effort": "high"}'::jsonb,
        'budget', '{"tokens": 1000000, "usd": 10}'::jsonb, 'prompts', (
            SELECT jsonb_agg(jsonb_build_object('variant', i - 1, 'name', v, 'system', E'You write kernels.\nRules of ' || v,
                                                'task', 'Write GEMM.', 'tokens', 22000 + 700 * i, 'estimated', true))
              FROM unnest(p_variants) WITH ORDINALITY AS x(v, i))) || p_more::jsonb)::json, 1000) ->> 'id')::uuid
$$;

-- ---- the agent ----

CREATE FUNCTION web.messages(w json) RETURNS text LANGUAGE sql AS $$
    SELECT json_build_array(json_build_object('role', 'system', 'content', w ->> 'system'),
                            json_build_object('role', 'user', 'content', w ->> 'task'))::text
$$;

-- Asks for an answer and stores it.
CREATE FUNCTION web.ask(j record, o web.outcomes, p_source text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c record;
    v_answer text := coalesce(o.answer, format(E'The barrier was set by every thread; now one sets it.\n\n```cuda\n%s```\n\nIt should be *faster*.', p_source));
BEGIN
    SELECT * INTO c FROM call_start(j.id, j.attempt, 'web', convert_to(web.messages(j.work), 'UTF8'), 30000, 0.5);
    PERFORM call_finish(j.id, j.attempt, c.call, json_build_object('status', 'stored', 'finish', o.finish,
            'tokens_in', 23000 + 4000 * j.n, 'cached', 22000, 'tokens_out', 5000, 'reasoning_tokens', 4000, 'usd', 0.125,
            'http_status', 200), convert_to(v_answer, 'UTF8'), convert_to('Let me see what the feedback says.', 'UTF8'), NULL);
    UPDATE llm_calls SET started_at = finished_at - interval '95 s' WHERE id = c.call;
END $$;

CREATE FUNCTION web.evaluate(o web.outcomes) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    e record;
BEGIN
    SELECT * INTO e FROM job_claim_evaluation('web', '{sm_90a/h200}', interval '1 hour');
    PERFORM result_deliver(e.id, e.attempt, json_build_object('verdict', o.verdict, 'flags', 0, 'epoch', 1,
            'device_model', 'NVIDIA H200', 'base_us', 866.4, 'base_name', 'cuBLAS', 'base_version', '13.1', 'wall_ms', 5000,
            'speedup', o.speedup, 'cand_us', 866.4 / o.speedup, 'inst', o.inst,
            'report_sha', result_blob(e.id, e.attempt, 'report', '{"schema": 1}')::text), false, false);
END $$;

CREATE FUNCTION web.conclude(j record, o web.outcomes, p_source text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM step_conclude(j.id, j.attempt, o.label, o.label = 'correct', o.label = 'infra', o.inst, o.speedup, 4000,
        CASE WHEN j.kind = 'call' THEN o.extraction END,
        CASE WHEN j.kind = 'call' AND o.errors IS NOT NULL THEN convert_to(p_source, 'UTF8') END, o.errors,
        json_build_object('turn', j.n + 1, 'verdict', o.verdict),
        coalesce(o.told, format('Turn %s of 4: %s.', j.n + 1, coalesce(o.verdict, o.label))));
END $$;

-- Works on what waits for a provider until nothing does; a step that web.outcomes does not know stays as it is.
CREATE FUNCTION web.play(p_provider text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    j record;
    o web.outcomes;
    v_source text;
    v_id uuid;
BEGIN
    LOOP
        SELECT * INTO j FROM step_claim('web', ARRAY['llm/' || p_provider], interval '1 hour');
        EXIT WHEN NOT FOUND;
        SELECT * INTO o FROM web.outcomes x WHERE (x.provider, x.trajectory, x.n, x.try) = (p_provider, j.trajectory, j.n, j.try);
        CONTINUE WHEN NOT FOUND;
        v_source := web.kernel('k' || j.trajectory, j.n);
        IF j.kind = 'call' AND j.work ->> 'stored' IS NULL THEN
            PERFORM web.ask(j, o, v_source);
        END IF;
        IF j.kind = 'conclude' OR o.extraction <> 'kernel' OR o.errors IS NOT NULL THEN
            PERFORM web.conclude(j, o, v_source);
            CONTINUE;
        END IF;
        SELECT x.id INTO v_id FROM submission_create(gen_random_uuid(), (j.work ->> 'owner')::bigint, '{}', convert_to(v_source, 'UTF8'),
            j.work ->> 'problem', j.work ->> 'workload', j.work ->> 'arch', 'cuda', j.work ->> 'device', 'rank',
            format('%s t%s n%s', j.work ->> 'name', j.trajectory, j.n), j.work ->> 'model', j.work ->> 'visibility', 1, 300, 1000000,
            NULL, NULL) x;
        PERFORM step_submitted(j.id, j.attempt, v_id, 'kernel');
        PERFORM web.evaluate(o);
    END LOOP;
END $$;

-- ---- the runs ----

SELECT worker_start('web-agent', 'host', 'none', 'none', 'none', '', '{llm/seeded,llm/live}', interval '1 hour');

-- One that is under way: two prompts, two trajectories each. t1 was redone once; t2 met the target; t3 is at its third turn.
INSERT INTO web.outcomes (provider, trajectory, n, try, label, verdict, speedup, inst) VALUES
    ('seeded', 0, 0, 0, 'compile', 'COMPILE_ERROR', NULL, NULL), ('seeded', 0, 1, 0, 'numerical', 'INCORRECT_NUMERICAL', NULL, NULL),
    ('seeded', 0, 2, 0, 'correct', 'PASSED', 0.5, true), ('seeded', 0, 3, 0, 'correct', 'PASSED', 0.75, true),
    ('seeded', 1, 0, 0, 'runtime', 'RUNTIME_ERROR', NULL, NULL), ('seeded', 1, 1, 0, 'infra', 'INFRA_ERROR', NULL, NULL),
    ('seeded', 1, 1, 1, 'correct', 'PASSED', 0.625, false), ('seeded', 1, 3, 0, 'timeout', 'TIMEOUT', NULL, NULL),
    ('seeded', 2, 0, 0, 'correct', 'PASSED', 0.875, true), ('seeded', 2, 1, 0, 'correct', 'PASSED', 1.25, true);
INSERT INTO web.outcomes (provider, trajectory, n, label, extraction, finish, answer, told) VALUES
    ('seeded', 3, 0, 'extraction', 'no_block', 'stop', '<img src=x onerror="window.hacked=1"> I will </pre><script>window.hacked = 1</script> first.',
     'There is no <b>fenced</b> block in the answer.'),
    ('seeded', 3, 1, 'cut', 'cut', 'length', E'Here it is:\n\n```cuda\n__global__ void k() {\n', NULL);
INSERT INTO web.outcomes (provider, trajectory, n, label, errors) VALUES
    ('seeded', 1, 2, 'plan', '[{"path": "$.launches[0].grid[0]", "detail": "there is no axis Q"}]');
SELECT web.run('seeded', 'seeded <b>run</b>', '{complete,gemm-warps}', '{}');
SELECT web.play('seeded');
SELECT run_supervise(r.id, 0, 1, -1, 'Use four stages.') FROM runs r WHERE r.provider = 'seeded';

-- One that ran out of money, and one that is private and somebody else's.
INSERT INTO web.outcomes (provider, trajectory, n, label, verdict) VALUES
    ('broke', 0, 0, 'compile', 'COMPILE_ERROR'), ('broke', 1, 0, 'compile', 'COMPILE_ERROR'), ('broke', 0, 1, 'compile', 'COMPILE_ERROR'), ('broke', 1, 1, 'compile', 'COMPILE_ERROR');
SELECT web.run('broke', '', '{complete}', '{"budget": {"tokens": 60000}, "model": "small-model"}');
SELECT web.play('broke');
INSERT INTO owners (name) VALUES ('somebody');
SELECT run_create(gen_random_uuid(), (SELECT id FROM owners WHERE name = 'somebody'), '{"problem": "gemm", "workload": "small", "arch": "sm_90a",
    "device": "cpu", "name": "hidden run", "provider": "hidden", "model": "m", "trajectories": 1, "turns": 1, "target_speedup": 1.2, "history": "full",
    "feedback": "full", "visibility": "private", "prompts": [{"variant": 0, "name": "contract", "system": "s", "task": "t", "tokens": 1}]}', 1000);

-- ---- what runs.mjs plays step by step ----

-- A claim that writes a little and is lost: the call has failed when the next one begins.
CREATE FUNCTION web.begin(p_provider text, p_characters int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    j record;
BEGIN
    SELECT * INTO j FROM step_claim('web', ARRAY['llm/' || p_provider], interval '1 hour');
    PERFORM call_start(j.id, j.attempt, 'web', convert_to(web.messages(j.work), 'UTF8'), 30000, 0.5);
    PERFORM call_progress(j.id, j.attempt, p_characters, 12345);
    PERFORM job_release(j.id, j.attempt);
END $$;
INSERT INTO web.outcomes (provider, trajectory, n, try, label, verdict, speedup, inst) VALUES
    ('live', 0, 0, 0, 'runtime', 'RUNTIME_ERROR', NULL, NULL), ('live', 0, 1, 0, 'correct', 'PASSED', 0.5, true),
    ('live', 0, 2, 1, 'correct', 'PASSED', 0.75, true), -- try 1: the one before was cancelled
    ('looked', 0, 0, 0, 'correct', 'PASSED', 0.5, true);
