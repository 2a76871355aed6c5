-- SPDX-License-Identifier: Apache-2.0
-- The board. ranked_submissions is the only place that says who is on it and in which order; every reader
-- (API, page, export) goes through it.

-- Ranks of a board, best first: an entry shares the rank of the first of its band iff the 95 % interval of
-- their difference covers 0. Differences of logarithms, since an interval is one of ratios; half widths of
-- independent measurements add in quadrature. State: rows so far, rank of the band, ln and half width of its
-- first.
CREATE OR REPLACE FUNCTION band_step(s float8[], p_speedup float8, p_lo float8, p_hi float8) RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_ln float8 := ln(p_speedup);
    v_half float8 := CASE WHEN p_lo > 0 AND p_hi >= p_lo THEN ln(p_hi / p_lo) / 2 ELSE 0 END;
BEGIN
    IF p_speedup IS NULL THEN
        RETURN s;
    END IF;
    IF s[3] - v_ln <= sqrt(s[4] ^ 2 + v_half ^ 2) THEN
        RETURN ARRAY[s[1] + 1, s[2], s[3], s[4]];
    END IF;
    RETURN ARRAY[coalesce(s[1], 0) + 1, coalesce(s[1], 0) + 1, v_ln, v_half];
END $$;

CREATE OR REPLACE FUNCTION band_rank_of(s float8[]) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT s[2]::bigint
$$;

CREATE OR REPLACE AGGREGATE band_rank(float8, float8, float8) (
    SFUNC = band_step, STYPE = float8[], FINALFUNC = band_rank_of);

-- Is a device of that model what somebody asked for? "h200" is one of the words of "NVIDIA H200".
CREATE OR REPLACE FUNCTION is_device(p_model text, p_wanted text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_wanted IS NULL OR p_model = p_wanted OR (p_wanted = 'gpu' AND p_model <> 'ptxvm')
        OR lower(p_wanted) = ANY (string_to_array(lower(p_model), ' '))
$$;

-- An entry is what one owner calls by one label and method; sources without a label stand for themselves.
-- Its best submission shows. `attempts` counts all its judged submissions of that problem, workload and
-- architecture, passed or not: best of N is not the same as one try. Untimed results (speedup null, such as
-- those of the CPU) are listed after the timed ones, fewest executed thread instructions first, unranked.
-- Speedups over different baselines are never ranked against each other.
CREATE OR REPLACE VIEW ranked_submissions AS
WITH judged AS (
    SELECT s.id, s.owner_id, s.problem, s.workload, s.arch, s.language, s.label, s.method, s.source_sha,
           s.created_at, r.verdict, r.flags, r.speedup, r.ci_lo, r.ci_hi, r.cand_us, r.base_us, r.base_name,
           r.base_version, r.inst, r.tensor_share, r.thread_instructions, r.device_model, r.epoch,
           coalesce(s.label, encode(s.source_sha, 'hex')) AS entry, coalesce(s.method, '') AS by_method
      FROM submissions s
      JOIN results r ON r.evaluation_id = s.decisive_id
     WHERE s.mode = 'rank' AND s.visibility = 'public'),
counted AS (
    SELECT *, count(*) OVER (PARTITION BY problem, workload, arch, owner_id, entry, by_method) AS attempts
      FROM judged),
best AS (
    SELECT DISTINCT ON (problem, workload, arch, device_model, epoch, base_name, owner_id, entry, by_method) *
      FROM counted
     WHERE verdict = 'PASSED'
     ORDER BY problem, workload, arch, device_model, epoch, base_name, owner_id, entry, by_method,
              speedup DESC NULLS LAST, thread_instructions, id)
SELECT *,
       CASE WHEN speedup IS NOT NULL THEN
           band_rank(speedup, ci_lo, ci_hi) OVER (PARTITION BY problem, workload, arch, device_model, epoch,
                                                               base_name
                                                  ORDER BY speedup DESC NULLS LAST, id
                                                  ROWS UNBOUNDED PRECEDING) END AS rank
  FROM best;

CREATE OR REPLACE FUNCTION leaderboard(p_problem text, p_workload text, p_arch text, p_device_model text,
                                       p_epoch int, p_limit int)
RETURNS jsonb LANGUAGE plpgsql STABLE SET work_mem = '32MB' AS $$
DECLARE
    v_epoch int := nullif(p_epoch, 0);
    v_base text;
BEGIN
    IF v_epoch IS NULL THEN
        SELECT max(b.epoch) INTO v_epoch FROM ranked_submissions b
         WHERE b.problem = p_problem AND b.workload = p_workload AND b.arch = p_arch
           AND is_device(b.device_model, p_device_model);
    END IF;
    -- One board, one baseline: the vendor's own, unless only one put together of its parts was ever there.
    SELECT b.base_name INTO v_base FROM ranked_submissions b
     WHERE b.problem = p_problem AND b.workload = p_workload AND b.arch = p_arch AND b.epoch = v_epoch
       AND is_device(b.device_model, p_device_model) AND b.base_name IS NOT NULL
     ORDER BY b.base_name LIKE '%(composed)', b.base_name LIMIT 1;
    RETURN jsonb_build_object('epoch', v_epoch, 'items', (
        SELECT coalesce(jsonb_agg(x.item ORDER BY x.n), '[]')
          FROM (SELECT row_number() OVER board AS n,
                       jsonb_build_object(
                           'rank', b.rank, 'id', b.id, 'label', b.label, 'method', b.method, 'owner', o.name,
                           'speedup', speedup_json(b.speedup, b.ci_lo, b.ci_hi), 'candidate_us', b.cand_us,
                           'baseline', CASE WHEN b.base_name IS NOT NULL THEN jsonb_build_object(
                               'name', b.base_name, 'version', b.base_version, 'us', b.base_us) END,
                           'flag_bits', b.flags,
                           'target', jsonb_build_object('executed', b.inst, 'tensor_share', b.tensor_share),
                           'thread_instructions', b.thread_instructions, 'device_model', b.device_model,
                           'attempts', b.attempts, 'language', b.language,
                           'source_sha256', encode(b.source_sha, 'hex'),
                           'created_at', iso8601(b.created_at)) AS item
                  FROM ranked_submissions b JOIN owners o ON o.id = b.owner_id
                 WHERE b.problem = p_problem AND b.workload = p_workload AND b.arch = p_arch
                   AND b.epoch = v_epoch AND is_device(b.device_model, p_device_model)
                   AND (b.base_name = v_base OR b.base_name IS NULL)
                WINDOW board AS (ORDER BY b.speedup DESC NULLS LAST, b.thread_instructions, b.id)
                 ORDER BY n LIMIT p_limit) x));
END $$;

-- Rank of a submission on its own board; NULL if it is not the one that stands for its entry.
CREATE OR REPLACE FUNCTION board_rank(p_id uuid) RETURNS bigint LANGUAGE plpgsql STABLE SET work_mem = '32MB' AS $$
DECLARE
    v record;
BEGIN
    SELECT s.problem, s.workload, s.arch, r.device_model, r.epoch, r.base_name INTO v
      FROM submissions s JOIN results r ON r.evaluation_id = s.decisive_id
     WHERE s.id = p_id AND r.speedup IS NOT NULL;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT b.rank FROM ranked_submissions b
             WHERE b.problem = v.problem AND b.workload = v.workload AND b.arch = v.arch
               AND b.device_model = v.device_model AND b.epoch = v.epoch
               AND b.base_name IS NOT DISTINCT FROM v.base_name AND b.id = p_id);
END $$;
