-- SPDX-License-Identifier: Apache-2.0
-- Metrics over turns, the paper's own: integers and speedups leave here, C makes rates of them. A
-- turn counts in the denominator whether it was recorded or not: `of` is trajectories times turns.

-- The cells that a reader asks for; null: any.
CREATE OR REPLACE FUNCTION cells_chosen(p_origin text, p_model text, p_device_model text, p_problem text,
                                        p_workload text, p_condition text)
RETURNS SETOF cells LANGUAGE sql STABLE AS $$
    SELECT * FROM cells
     WHERE (p_origin IS NULL OR origin = p_origin) AND (p_model IS NULL OR model = p_model)
       AND (p_device_model IS NULL OR device_model = p_device_model)
       AND (p_problem IS NULL OR problem = p_problem) AND (p_workload IS NULL OR workload = p_workload)
       AND (p_condition IS NULL OR condition = p_condition)
$$;

DROP FUNCTION IF EXISTS turn_correctness_rows(int[], text, text, text, text, text, text); -- core/db/turn_correctness.c

-- What Fast_p needs of a cell: of each variant the turns, and the speedups of correct ones, those with target
-- instructions and the others, in no order. core/db/turns.c sorts and joins them: there it takes a tenth of the time,
-- and that they leave as JSON takes longest of all. Over 20,000 turns of a cell the answer is not to be `exact`.
CREATE OR REPLACE FUNCTION fast_p_variants(p_cell bigint, p_turns int)
RETURNS TABLE (variant int, trajectories int, correct bigint, target bigint, exact boolean, reached_target float8[],
               reached_other float8[])
LANGUAGE plpgsql STABLE SET work_mem = '32MB' SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT v.variant, v.trajectories, coalesce(k.correct, 0), coalesce(k.target, 0), size.exact, s.reached_target,
           s.reached_other
      FROM variant_counts v
      CROSS JOIN (SELECT coalesce(sum(turns), 0) <= 20000 AS exact FROM turn_counts WHERE cell_id = p_cell) size
      LEFT JOIN (SELECT variant, sum(correct) AS correct, sum(inst_true) AS target
                   FROM turn_counts WHERE cell_id = p_cell AND n < p_turns GROUP BY variant) k ON k.variant = v.variant
      LEFT JOIN (SELECT variant, array_agg(speedup) FILTER (WHERE inst) AS reached_target,
                        array_agg(speedup) FILTER (WHERE inst IS NOT TRUE) AS reached_other
                   FROM turns WHERE counted AND cell_id = p_cell AND n < p_turns AND speedup IS NOT NULL
                  GROUP BY variant) s ON s.variant = v.variant
     WHERE v.cell_id = p_cell AND v.trajectories > 0
     ORDER BY v.variant;
END $$;
DROP FUNCTION IF EXISTS fast_p(int, int, text, text, text, text, text, text);
DROP FUNCTION IF EXISTS fast_p_cell(cells, int);
DROP FUNCTION IF EXISTS fast_p_speedups(float8[], boolean);
DROP FUNCTION IF EXISTS fast_p_speedups(bigint, int, int, boolean, boolean);

-- Labels per turn, changes from one turn's label to the next one's, and medians of reasoning tokens.
CREATE OR REPLACE FUNCTION turn_transitions(p_most int, p_origin text, p_model text, p_device_model text,
                                            p_problem text, p_workload text, p_condition text)
RETURNS json LANGUAGE plpgsql STABLE SET work_mem = '32MB' SET jit = off AS $$
DECLARE
    c cells;
    v_items json[] := '{}';
BEGIN
    FOR c IN SELECT * FROM cells_chosen(p_origin, p_model, p_device_model, p_problem, p_workload, p_condition)
              ORDER BY problem, workload, device_model, origin DESC, model, condition LIMIT p_most
    LOOP
        v_items := v_items || json_build_object(
            'cell', c.id, 'origin', c.origin, 'model', c.model, 'device_model', c.device_model,
            'problem', c.problem, 'workload', c.workload, 'condition', nullif(c.condition, ''),
            'labels', (SELECT coalesce(json_agg(x ORDER BY x.n, x.label COLLATE "C"), '[]')
                         FROM (SELECT n, label, sum(turns) AS turns FROM label_counts
                                WHERE cell_id = c.id GROUP BY n, label) x),
            'transitions', (SELECT coalesce(json_agg(x ORDER BY x.n, x.from COLLATE "C", x.to COLLATE "C"), '[]')
                         FROM (SELECT n, prev_label AS from, label AS to, turns FROM label_counts
                                WHERE cell_id = c.id AND prev_label <> '') x),
            'reasoning', (SELECT coalesce(json_agg(x ORDER BY x.n), '[]')
                         FROM (SELECT k.n, m.median_tokens
                                 FROM (SELECT DISTINCT n FROM turn_counts WHERE cell_id = c.id) k
                                 CROSS JOIN LATERAL (    -- turn by turn: eight small sorts, not one of all turns
                                      SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t.reasoning_tokens)
                                             AS median_tokens
                                        FROM turn_counts v
                                        JOIN turns t ON t.counted AND t.cell_id = c.id AND t.variant = v.variant
                                                    AND t.n = v.n AND t.reasoning_tokens IS NOT NULL
                                       WHERE v.cell_id = c.id AND v.n = k.n) m
                                WHERE m.median_tokens IS NOT NULL) x));
    END LOOP;
    RETURN json_build_object('items', array_to_json(v_items));
END $$;

-- Takes published turns in: {"source": "…", "turns_per_trajectory": 8, "cells": [{"key", "model", …}],
-- "runs": [{"name", "trajectories": [{"n", "variant", "cell": key | null, "left_out"}]}],
-- "turns": [[run name, trajectory, n, label, correct, inst, speedup, reasoning tokens]],
-- "overrides": [{"cell": key, "turns", "target", "source"}]}. What was imported before is replaced, in one
-- transaction. Returns how much of each there is now.
CREATE OR REPLACE FUNCTION published_import(p jsonb) RETURNS jsonb LANGUAGE plpgsql SET work_mem = '64MB' AS $$
BEGIN
    DELETE FROM turns t USING runs r WHERE r.id = t.run_id AND r.origin = 'published';
    DELETE FROM runs WHERE origin = 'published';
    DELETE FROM cells WHERE origin = 'published';

    CREATE TEMP TABLE new_cells ON COMMIT DROP AS
    SELECT c.* FROM jsonb_to_recordset(p->'cells')
        AS c(key text, model text, device_model text, problem text, workload text, condition text);
    INSERT INTO cells (origin, model, device_model, problem, workload, condition)
    SELECT 'published', model, device_model, problem, workload, coalesce(condition, '') FROM new_cells;
    CREATE TEMP TABLE cell_keys ON COMMIT DROP AS
    SELECT n.key, c.id FROM new_cells n
      JOIN cells c ON c.origin = 'published' AND c.model = n.model AND c.device_model = n.device_model
                  AND c.problem = n.problem AND c.workload = n.workload
                  AND c.condition = coalesce(n.condition, '');

    INSERT INTO runs (origin, name, source, turns)
    SELECT 'published', r.name, p->>'source', (p->>'turns_per_trajectory')::int
      FROM jsonb_to_recordset(p->'runs') AS r(name text);
    INSERT INTO trajectories (run_id, n, variant, cell_id, left_out)
    SELECT x.id, t.n, t.variant, k.id, t.left_out
      FROM jsonb_to_recordset(p->'runs') AS r(name text, trajectories jsonb)
      JOIN runs x ON x.origin = 'published' AND x.name = r.name
      CROSS JOIN LATERAL jsonb_to_recordset(r.trajectories)
                 AS t(n int, variant int, cell text, left_out text)
      LEFT JOIN cell_keys k ON k.key = t.cell;
    INSERT INTO turns (run_id, trajectory, n, cell_id, variant, label, prev_label, correct, inst, speedup,
                       reasoning_tokens)
    SELECT x.id, y.trajectory, y.n, t.cell_id, t.variant, y.label,
           coalesce(lag(y.label) OVER (PARTITION BY x.id, y.trajectory ORDER BY y.n), ''), y.correct, y.inst,
           y.speedup, y.reasoning
      FROM (SELECT e->>0 AS run, (e->>1)::int AS trajectory, (e->>2)::int AS n, e->>3 AS label,
                   (e->>4)::boolean AS correct, (e->>5)::boolean AS inst, (e->>6)::float8 AS speedup,
                   (e->>7)::int AS reasoning
              FROM jsonb_array_elements(p->'turns') e) y
      JOIN runs x ON x.origin = 'published' AND x.name = y.run
      JOIN trajectories t ON t.run_id = x.id AND t.n = y.trajectory;
    INSERT INTO overrides (cell_id, turn_limit, target_turns, source)
    SELECT k.id, o.turns, o.target, o.source
      FROM jsonb_to_recordset(p->'overrides') AS o(cell text, turns int, target bigint, source text)
      JOIN cell_keys k ON k.key = o.cell;
    -- nobody's event: servers drop the answers that they keep
    PERFORM pg_notify('submission_event', '00000000-0000-0000-0000-000000000000');
    RETURN jsonb_build_object(
        'cells', (SELECT count(*) FROM cells WHERE origin = 'published'),
        'runs', (SELECT count(*) FROM runs WHERE origin = 'published'),
        'trajectories', (SELECT count(*) FROM trajectories t JOIN runs r ON r.id = t.run_id
                          WHERE r.origin = 'published'),
        'turns', (SELECT count(*) FROM turns t JOIN runs r ON r.id = t.run_id WHERE r.origin = 'published'),
        'overrides', (SELECT count(*) FROM overrides));
END $$;
