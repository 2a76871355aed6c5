-- SPDX-License-Identifier: Apache-2.0
-- The rollup of turns. Writers only insert into trajectories and turns; these triggers count.

-- What counted turns come to, per key of turn_counts.
CREATE OR REPLACE VIEW turn_counts_true AS
SELECT cell_id, variant, n, label, prev_label,
       count(*)::int AS turns,
       count(*) FILTER (WHERE correct)::int AS correct,
       count(*) FILTER (WHERE correct AND inst)::int AS inst_true,
       count(*) FILTER (WHERE correct AND inst IS NULL)::int AS inst_unknown,
       max(speedup) AS best,
       max(speedup) FILTER (WHERE inst) AS best_inst
  FROM turns
 WHERE counted AND cell_id IS NOT NULL
 GROUP BY cell_id, variant, n, label, prev_label;

-- Keys are taken in order, so that two writers of one cell never wait for each other in a circle.
CREATE OR REPLACE FUNCTION turns_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO turn_counts AS c
    SELECT cell_id, variant, n, label, prev_label, count(*), count(*) FILTER (WHERE correct),
           count(*) FILTER (WHERE correct AND inst), count(*) FILTER (WHERE correct AND inst IS NULL),
           max(speedup), max(speedup) FILTER (WHERE inst)
      FROM added
     WHERE counted AND cell_id IS NOT NULL
     GROUP BY cell_id, variant, n, label, prev_label
     ORDER BY cell_id, variant, n, label, prev_label
    ON CONFLICT (cell_id, variant, n, label, prev_label) DO UPDATE
       SET turns = c.turns + excluded.turns, correct = c.correct + excluded.correct,
           inst_true = c.inst_true + excluded.inst_true,
           inst_unknown = c.inst_unknown + excluded.inst_unknown,
           best = greatest(c.best, excluded.best), best_inst = greatest(c.best_inst, excluded.best_inst);
    RETURN NULL;
END $$;

-- A change or removal is rare (a try that no longer counts), and a maximum cannot be taken back: the keys
-- it touched are counted anew.
CREATE OR REPLACE FUNCTION turns_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    k record;
BEGIN
    FOR k IN SELECT DISTINCT cell_id, variant, n FROM removed WHERE cell_id IS NOT NULL
              ORDER BY cell_id, variant, n
    LOOP
        PERFORM turn_counts_rebuild(k.cell_id, k.variant, k.n);
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION turns_updated() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    k record;
BEGIN
    FOR k IN SELECT cell_id, variant, n FROM removed WHERE cell_id IS NOT NULL
              UNION SELECT cell_id, variant, n FROM added WHERE cell_id IS NOT NULL
              ORDER BY cell_id, variant, n
    LOOP
        PERFORM turn_counts_rebuild(k.cell_id, k.variant, k.n);
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION turn_counts_rebuild(p_cell bigint, p_variant int, p_n int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM turn_counts WHERE cell_id = p_cell AND variant = p_variant AND n = p_n;
    INSERT INTO turn_counts
    SELECT * FROM turn_counts_true WHERE cell_id = p_cell AND variant = p_variant AND n = p_n;
END $$;

CREATE OR REPLACE FUNCTION trajectories_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO variant_counts AS c
    SELECT cell_id, variant, 1 FROM (SELECT NEW.cell_id, NEW.variant) x WHERE cell_id IS NOT NULL
    ON CONFLICT (cell_id, variant) DO UPDATE SET trajectories = c.trajectories + 1;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION trajectories_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE variant_counts SET trajectories = trajectories - 1
     WHERE cell_id = OLD.cell_id AND variant = OLD.variant;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER turns_insert AFTER INSERT ON turns REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION turns_added();
CREATE OR REPLACE TRIGGER turns_update AFTER UPDATE ON turns
    REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION turns_updated();
CREATE OR REPLACE TRIGGER turns_delete AFTER DELETE ON turns REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION turns_changed();
CREATE OR REPLACE TRIGGER trajectories_insert AFTER INSERT ON trajectories
    FOR EACH ROW EXECUTE FUNCTION trajectories_changed();
CREATE OR REPLACE TRIGGER trajectories_delete AFTER DELETE ON trajectories
    FOR EACH ROW EXECUTE FUNCTION trajectories_removed();

-- Differences between the rollup and what the turns themselves say, one sentence each; for fsck.
CREATE OR REPLACE FUNCTION turn_counts_check() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT format('turn counts of cell %s, variant %s, turn %s, label %s are not those of its turns',
                  coalesce(a.cell_id, b.cell_id), coalesce(a.variant, b.variant), coalesce(a.n, b.n),
                  coalesce(a.label, b.label))
      FROM turn_counts a
      FULL JOIN turn_counts_true b USING (cell_id, variant, n, label, prev_label)
     WHERE (a.turns, a.correct, a.inst_true, a.inst_unknown, a.best, a.best_inst)
           IS DISTINCT FROM (b.turns, b.correct, b.inst_true, b.inst_unknown, b.best, b.best_inst)
    UNION ALL
    SELECT format('cell %s, variant %s counts %s trajectories and has %s', v.cell_id, v.variant,
                  v.trajectories, t.n)
      FROM variant_counts v
      LEFT JOIN LATERAL (SELECT count(*) AS n FROM trajectories t
                          WHERE t.cell_id = v.cell_id AND t.variant = v.variant) t ON true
     WHERE v.trajectories <> t.n
$$;
