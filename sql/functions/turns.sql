-- SPDX-License-Identifier: Apache-2.0
-- The rollups of turns. Writers only write trajectories and turns; these triggers count.

-- What the turns themselves say: the same rows as the tables hold.
CREATE OR REPLACE VIEW turn_counts_true AS
SELECT cell_id, variant, n, count(*)::int AS turns,
       count(*) FILTER (WHERE correct)::int AS correct,
       count(*) FILTER (WHERE correct AND inst)::int AS inst_true,
       count(*) FILTER (WHERE correct AND inst IS NULL)::int AS inst_unknown,
       max(speedup) AS best,
       max(speedup) FILTER (WHERE inst) AS best_inst
  FROM turns
 WHERE counted AND cell_id IS NOT NULL
 GROUP BY cell_id, variant, n;

CREATE OR REPLACE VIEW label_counts_true AS
SELECT cell_id, n, label, prev_label, count(*)::int AS turns
  FROM turns
 WHERE counted AND cell_id IS NOT NULL
 GROUP BY cell_id, n, label, prev_label;

-- Keys are taken in order, so that two writers of one cell never wait for each other in a circle.
CREATE OR REPLACE FUNCTION turns_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO turn_counts AS c
    SELECT cell_id, variant, n, count(*), count(*) FILTER (WHERE correct),
           count(*) FILTER (WHERE correct AND inst), count(*) FILTER (WHERE correct AND inst IS NULL),
           max(speedup), max(speedup) FILTER (WHERE inst)
      FROM added WHERE counted AND cell_id IS NOT NULL
     GROUP BY cell_id, variant, n ORDER BY cell_id, variant, n
    ON CONFLICT (cell_id, variant, n) DO UPDATE
       SET turns = c.turns + excluded.turns, correct = c.correct + excluded.correct,
           inst_true = c.inst_true + excluded.inst_true,
           inst_unknown = c.inst_unknown + excluded.inst_unknown,
           best = greatest(c.best, excluded.best), best_inst = greatest(c.best_inst, excluded.best_inst);
    INSERT INTO label_counts AS c
    SELECT cell_id, n, label, prev_label, count(*)
      FROM added WHERE counted AND cell_id IS NOT NULL
     GROUP BY cell_id, n, label, prev_label ORDER BY cell_id, n, label, prev_label
    ON CONFLICT (cell_id, n, label, prev_label) DO UPDATE SET turns = c.turns + excluded.turns;
    RETURN NULL;
END $$;

-- A change or a removal is rare (a try that no longer counts), and a maximum cannot be taken back: what it
-- touched is counted anew.
CREATE OR REPLACE FUNCTION turn_counts_rebuild(p_cell bigint, p_n int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM cells WHERE id = p_cell FOR NO KEY UPDATE;    -- two at once would each miss the other's turns
    DELETE FROM turn_counts WHERE cell_id = p_cell AND n = p_n;
    DELETE FROM label_counts WHERE cell_id = p_cell AND n = p_n;
    INSERT INTO turn_counts SELECT * FROM turn_counts_true WHERE cell_id = p_cell AND n = p_n;
    INSERT INTO label_counts SELECT * FROM label_counts_true WHERE cell_id = p_cell AND n = p_n;
END $$;

CREATE OR REPLACE FUNCTION turns_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM turn_counts_rebuild(k.cell_id, k.n)
       FROM (SELECT cell_id, n FROM removed UNION SELECT cell_id, n FROM added ORDER BY cell_id, n) k
      WHERE k.cell_id IS NOT NULL;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION turns_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM turn_counts_rebuild(k.cell_id, k.n)
       FROM (SELECT DISTINCT cell_id, n FROM removed ORDER BY cell_id, n) k WHERE k.cell_id IS NOT NULL;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION trajectories_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO variant_counts AS c
    SELECT cell_id, variant, count(*) FROM added WHERE cell_id IS NOT NULL
     GROUP BY cell_id, variant ORDER BY cell_id, variant
    ON CONFLICT (cell_id, variant) DO UPDATE SET trajectories = c.trajectories + excluded.trajectories;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION trajectories_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE variant_counts c SET trajectories = c.trajectories - k.n
      FROM (SELECT cell_id, variant, count(*) AS n FROM removed GROUP BY cell_id, variant) k
     WHERE c.cell_id = k.cell_id AND c.variant = k.variant;
    RETURN NULL;
END $$;

-- A local trajectory joins its cell when it has ended, and leaves it when it goes on.
CREATE OR REPLACE FUNCTION trajectories_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO variant_counts AS c
    SELECT cell_id, variant, sum(k.n)
      FROM (SELECT cell_id, variant, 1 AS n FROM added UNION ALL SELECT cell_id, variant, -1 FROM removed) k
     WHERE cell_id IS NOT NULL
     GROUP BY cell_id, variant HAVING sum(k.n) <> 0 ORDER BY cell_id, variant
    ON CONFLICT (cell_id, variant) DO UPDATE SET trajectories = c.trajectories + excluded.trajectories;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER turns_insert AFTER INSERT ON turns REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION turns_added();
CREATE OR REPLACE TRIGGER turns_update AFTER UPDATE ON turns
    REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION turns_updated();
CREATE OR REPLACE TRIGGER turns_delete AFTER DELETE ON turns REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION turns_removed();
CREATE OR REPLACE TRIGGER trajectories_insert AFTER INSERT ON trajectories REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION trajectories_added();
CREATE OR REPLACE TRIGGER trajectories_update AFTER UPDATE ON trajectories
    REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION trajectories_updated();
CREATE OR REPLACE TRIGGER trajectories_delete AFTER DELETE ON trajectories REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION trajectories_removed();

-- Differences between the rollups and what the turns themselves say, one sentence each; for fsck.
CREATE OR REPLACE FUNCTION turn_counts_check() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT format('counts of cell %s, variant %s, turn %s', cell_id, variant, n)
      FROM ((TABLE turn_counts EXCEPT TABLE turn_counts_true)
            UNION ALL (TABLE turn_counts_true EXCEPT TABLE turn_counts)) x
     GROUP BY cell_id, variant, n
    UNION ALL
    SELECT format('labels of cell %s, turn %s, %s after %s', cell_id, n, label, prev_label)
      FROM ((TABLE label_counts EXCEPT TABLE label_counts_true)
            UNION ALL (TABLE label_counts_true EXCEPT TABLE label_counts)) x
     GROUP BY cell_id, n, label, prev_label
    UNION ALL
    SELECT format('trajectories of cell %s, variant %s', v.cell_id, v.variant)
      FROM variant_counts v
     WHERE v.trajectories <> (SELECT count(*) FROM trajectories t
                               WHERE t.cell_id = v.cell_id AND t.variant = v.variant)
$$;
