-- SPDX-License-Identifier: Apache-2.0
-- How the tables of the boards follow results. Lock order: submission, then the entry's row of board_attempts.

-- Every result that counts as an attempt, with the entry and the board that it belongs to. An entry shows its
-- best ever: a slower rerun takes nothing away. A submission whose newest verdict is not PASSED shows nothing:
-- the rerun has found it wrong.
CREATE OR REPLACE VIEW judged_results AS
SELECT s.id AS submission_id, r.evaluation_id, s.problem, s.workload, s.arch, s.owner_id,
       coalesce(s.label, encode(s.source_sha, 'hex')) AS entry, coalesce(s.method, '') AS method,
       coalesce(r.device_model, '') AS device_model, r.epoch, coalesce(r.base_name, '') AS baseline,
       r.speedup, r.ci_lo, r.ci_hi, r.thread_instructions,
       r.verdict = 'PASSED' AND d.verdict = 'PASSED'
           AND NOT EXISTS (SELECT FROM hidden_submissions h WHERE h.submission_id = s.id) AS shows
  FROM submissions s
  JOIN evaluations e ON e.submission_id = s.id
  JOIN results r ON r.evaluation_id = e.id AND r.verdict NOT IN ('INFRA_ERROR', 'CANCELLED')
  JOIN results d ON d.evaluation_id = s.decisive_id
 WHERE s.mode = 'rank' AND s.visibility = 'public';

-- Untimed results (those of the CPU) come after the timed ones, fewest executed thread instructions first.
CREATE OR REPLACE VIEW best_results AS
SELECT DISTINCT ON (problem, workload, arch, device_model, epoch, baseline, owner_id, entry, method) *
  FROM judged_results
 WHERE shows
 ORDER BY problem, workload, arch, device_model, epoch, baseline, owner_id, entry, method,
          speedup DESC NULLS LAST, thread_instructions, submission_id, evaluation_id;

-- Names of the bits of results.flags, in the order of core/flags.def.
CREATE OR REPLACE FUNCTION flag_names(p_flags int) RETURNS json LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(json_agg(name ORDER BY bit), '[]')
      FROM unnest(ARRAY['loose', 'noisy', 'stateful', 'nondeterministic', 'launch_bound', 'implausible_close'])
           WITH ORDINALITY AS f(name, bit)
     WHERE p_flags & (1 << (bit - 1)::int) <> 0
$$;

-- What a board says of an entry. Of rows, not with json_build_object, whose spaces would be a tenth of a board.
CREATE OR REPLACE FUNCTION board_item(p_submission uuid, p_evaluation bigint) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT row_to_json(item)::text
      FROM submissions s
      JOIN owners o ON o.id = s.owner_id
      JOIN results r ON r.evaluation_id = p_evaluation
      CROSS JOIN LATERAL (SELECT r.speedup AS value,
            CASE WHEN r.ci_lo IS NOT NULL THEN ARRAY[r.ci_lo, r.ci_hi] END AS ci95) rate
      CROSS JOIN LATERAL (SELECT r.base_name AS name, r.base_version AS version, r.base_us AS us) base
      CROSS JOIN LATERAL (SELECT r.inst AS executed, r.tensor_share, r.target_counts AS counts) target
      CROSS JOIN LATERAL (SELECT s.id, s.label, s.method, o.name AS owner,
            CASE WHEN r.speedup IS NOT NULL THEN row_to_json(rate) END AS speedup, r.cand_us AS candidate_us,
            CASE WHEN r.base_name IS NOT NULL THEN row_to_json(base) END AS baseline,
            array_to_json(ARRAY(SELECT json_array_elements_text(flag_names(r.flags)))) AS flags,
            row_to_json(target) AS target, r.thread_instructions, r.device_model, s.language,
            iso8601(s.created_at) AS created_at) item
     WHERE s.id = p_submission);
END $$;

CREATE OR REPLACE FUNCTION board_find(b best_results) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO boards (problem, workload, arch, device_model, epoch, baseline)
    VALUES (b.problem, b.workload, b.arch, b.device_model, b.epoch, b.baseline) ON CONFLICT DO NOTHING;
    RETURN (SELECT id FROM boards x
             WHERE (x.problem, x.workload, x.arch, x.device_model, x.epoch, x.baseline)
                 = (b.problem, b.workload, b.arch, b.device_model, b.epoch, b.baseline));
END $$;

-- Puts a result on its board unless the entry has a better one there.
CREATE OR REPLACE FUNCTION board_put(b best_results, p_attempts int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO board_entries AS e (board_id, owner_id, entry, method, submission_id, evaluation_id, speedup,
                                    ci_lo, ci_hi, thread_instructions, attempts, item)
    VALUES (board_find(b), b.owner_id, b.entry, b.method, b.submission_id, b.evaluation_id, b.speedup, b.ci_lo,
            b.ci_hi, b.thread_instructions, p_attempts, board_item(b.submission_id, b.evaluation_id))
    ON CONFLICT (board_id, owner_id, entry, method) DO UPDATE
       SET submission_id = excluded.submission_id, evaluation_id = excluded.evaluation_id,
           speedup = excluded.speedup, ci_lo = excluded.ci_lo, ci_hi = excluded.ci_hi,
           thread_instructions = excluded.thread_instructions, item = excluded.item
     WHERE (-coalesce(excluded.speedup, 0), coalesce(excluded.thread_instructions, 9223372036854775807),
            excluded.submission_id, excluded.evaluation_id)
         < (-coalesce(e.speedup, 0), coalesce(e.thread_instructions, 9223372036854775807),
            e.submission_id, e.evaluation_id);
END $$;

-- Adds attempts to an entry, which locks it until the transaction ends, and shows their number.
CREATE OR REPLACE FUNCTION board_attempt(s submissions, p_more int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v_attempts int;
BEGIN
    INSERT INTO board_attempts AS a (problem, workload, arch, owner_id, entry, method, attempts)
    VALUES (s.problem, s.workload, s.arch, s.owner_id, coalesce(s.label, encode(s.source_sha, 'hex')),
            coalesce(s.method, ''), p_more)
    ON CONFLICT (problem, workload, arch, owner_id, entry, method) DO UPDATE SET attempts = a.attempts + p_more
    RETURNING attempts INTO v_attempts;
    UPDATE board_entries e SET attempts = v_attempts
      FROM boards b
     WHERE b.problem = s.problem AND b.workload = s.workload AND b.arch = s.arch AND e.board_id = b.id
       AND e.owner_id = s.owner_id AND e.entry = coalesce(s.label, encode(s.source_sha, 'hex'))
       AND e.method = coalesce(s.method, '') AND e.attempts <> v_attempts;
    RETURN v_attempts;
END $$;

-- Counts the entry of a submission anew: a best that is taken away leaves no trace of the second.
CREATE OR REPLACE FUNCTION board_recount(s submissions) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_entry text := coalesce(s.label, encode(s.source_sha, 'hex'));
    v_method text := coalesce(s.method, '');
    v_attempts int := board_attempt(s, 0);
BEGIN
    SELECT count(*) INTO v_attempts FROM judged_results j
     WHERE j.problem = s.problem AND j.workload = s.workload AND j.arch = s.arch AND j.owner_id = s.owner_id
       AND j.entry = v_entry AND j.method = v_method;
    DELETE FROM board_entries e USING boards b
     WHERE b.problem = s.problem AND b.workload = s.workload AND b.arch = s.arch AND e.board_id = b.id
       AND e.owner_id = s.owner_id AND e.entry = v_entry AND e.method = v_method;
    PERFORM board_put(x, v_attempts) FROM best_results x
      WHERE x.problem = s.problem AND x.workload = s.workload AND x.arch = s.arch AND x.owner_id = s.owner_id
        AND x.entry = v_entry AND x.method = v_method;
    UPDATE board_attempts a SET attempts = v_attempts
     WHERE a.problem = s.problem AND a.workload = s.workload AND a.arch = s.arch AND a.owner_id = s.owner_id
       AND a.entry = v_entry AND a.method = v_method;
END $$;

-- A new verdict of a submission. Usually it can only add; where it changes whether the submission shows at
-- all, the entry is counted anew.
CREATE OR REPLACE FUNCTION submission_judged() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_passed boolean := (SELECT verdict = 'PASSED' FROM results WHERE evaluation_id = NEW.decisive_id);
    v_attempts int;
BEGIN
    IF v_passed IS DISTINCT FROM (SELECT verdict = 'PASSED' FROM results WHERE evaluation_id = OLD.decisive_id)
       AND OLD.decisive_id IS NOT NULL THEN
        PERFORM board_recount(NEW);
        RETURN NULL;
    END IF;
    v_attempts := board_attempt(NEW, 1);
    IF v_passed THEN
        PERFORM board_put(ROW(j.*)::best_results, v_attempts) FROM judged_results j
          WHERE j.submission_id = NEW.id AND j.evaluation_id = NEW.decisive_id AND j.shows;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION submission_shown() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM board_recount(NEW);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION submission_hidden() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM board_recount(s) FROM submissions s
      WHERE s.id = CASE TG_OP WHEN 'DELETE' THEN OLD.submission_id ELSE NEW.submission_id END AND s.mode = 'rank';
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER submissions_judged AFTER UPDATE OF decisive_id ON submissions FOR EACH ROW
    WHEN (NEW.mode = 'rank' AND NEW.visibility = 'public' AND NEW.decisive_id IS DISTINCT FROM OLD.decisive_id)
    EXECUTE FUNCTION submission_judged();
CREATE OR REPLACE TRIGGER submissions_shown AFTER UPDATE OF visibility ON submissions FOR EACH ROW
    WHEN (NEW.mode = 'rank' AND NEW.visibility <> OLD.visibility) EXECUTE FUNCTION submission_shown();
CREATE OR REPLACE TRIGGER submissions_hidden AFTER INSERT OR DELETE ON hidden_submissions FOR EACH ROW
    EXECUTE FUNCTION submission_hidden();

-- All boards from the results. A database that is older than these tables gets them here.
CREATE OR REPLACE FUNCTION boards_rebuild() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE board_entries, board_attempts;
    INSERT INTO board_attempts
    SELECT problem, workload, arch, owner_id, entry, method, count(*) FROM judged_results
     GROUP BY problem, workload, arch, owner_id, entry, method;
    ANALYZE board_attempts;
    PERFORM board_put(b, a.attempts) FROM best_results b
       JOIN board_attempts a USING (problem, workload, arch, owner_id, entry, method);
END $$;
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM board_attempts) THEN
        PERFORM boards_rebuild();
    END IF;
END $$;

-- Differences between the boards and what the results say, one sentence each; for fsck.
CREATE OR REPLACE FUNCTION board_check() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH counted AS (
        SELECT problem, workload, arch, owner_id, entry, method, count(*)::int AS attempts FROM judged_results
         GROUP BY problem, workload, arch, owner_id, entry, method),
    kept AS (
        SELECT b.problem, b.workload, b.arch, b.device_model, b.epoch, b.baseline, e.owner_id, e.entry, e.method,
               e.submission_id, e.evaluation_id, e.speedup, e.ci_lo, e.ci_hi, e.thread_instructions, e.attempts,
               e.item
          FROM board_entries e JOIN boards b ON b.id = e.board_id),
    best AS (                           -- as best_results, but no join of 20,000 with 20,000 that nobody can estimate
        SELECT DISTINCT ON (problem, workload, arch, device_model, epoch, baseline, owner_id, entry, method) *
          FROM (SELECT *, count(*) OVER (PARTITION BY problem, workload, arch, owner_id, entry, method)::int AS attempts
                  FROM judged_results) j
         WHERE shows
         ORDER BY problem, workload, arch, device_model, epoch, baseline, owner_id, entry, method,
                  speedup DESC NULLS LAST, thread_instructions, submission_id, evaluation_id),
    due AS (
        SELECT b.problem, b.workload, b.arch, b.device_model, b.epoch, b.baseline, b.owner_id, b.entry, b.method,
               b.submission_id, b.evaluation_id, b.speedup, b.ci_lo, b.ci_hi, b.thread_instructions, b.attempts,
               board_item(b.submission_id, b.evaluation_id) AS item
          FROM best b)
    SELECT format('entry %s of owner %s on %s %s %s', left(entry, 64), owner_id, problem, workload, arch)
      FROM ((TABLE kept EXCEPT TABLE due) UNION ALL (TABLE due EXCEPT TABLE kept)) x
     GROUP BY problem, workload, arch, device_model, epoch, baseline, owner_id, entry, method
    UNION ALL
    SELECT format('attempts of %s of owner %s on %s %s %s', left(entry, 64), owner_id, problem, workload, arch)
      FROM ((SELECT problem, workload, arch, owner_id, entry, method, attempts FROM board_attempts
              WHERE attempts > 0
             EXCEPT TABLE counted)
            UNION ALL
            (TABLE counted EXCEPT
             SELECT problem, workload, arch, owner_id, entry, method, attempts FROM board_attempts)) x
     GROUP BY problem, workload, arch, owner_id, entry, method
$$;
