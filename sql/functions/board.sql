-- SPDX-License-Identifier: Apache-2.0
-- Reading the boards that board_keep.sql keeps.

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

-- Entries of a board, best first, with their ranks; reads no more than it gives.
CREATE OR REPLACE FUNCTION board_page(p_board bigint, p_limit int)
RETURNS TABLE (rank bigint, speedup float8, thread_instructions bigint, submission_id uuid, attempts int, item text)
LANGUAGE sql STABLE ROWS 100 AS $$
    SELECT CASE WHEN e.speedup IS NOT NULL THEN
               band_rank(e.speedup, e.ci_lo, e.ci_hi) OVER (
                   ORDER BY e.speedup DESC NULLS LAST, e.thread_instructions, e.submission_id
                   ROWS UNBOUNDED PRECEDING) END,
           e.speedup, e.thread_instructions, e.submission_id, e.attempts, e.item
      FROM (SELECT * FROM board_entries x WHERE x.board_id = p_board
             ORDER BY x.speedup DESC NULLS LAST, x.thread_instructions, x.submission_id LIMIT p_limit) e
$$;

-- What an operator took off, newest first.
CREATE OR REPLACE FUNCTION board_hidden(p_problem text, p_workload text, p_arch text) RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(json_agg(json_build_object(
               'id', x.id, 'label', x.label, 'method', x.method, 'owner', x.name, 'reason', x.reason,
               'hidden_at', iso8601(x.hidden_at)) ORDER BY x.hidden_at DESC, x.id), '[]')
      FROM (SELECT s.id, s.label, s.method, o.name, h.reason, h.hidden_at
              FROM hidden_submissions h
              JOIN submissions s ON s.id = h.submission_id
              JOIN owners o ON o.id = s.owner_id
             WHERE s.problem = p_problem AND s.workload = p_workload AND s.arch = p_arch
               AND s.mode = 'rank' AND s.visibility = 'public'
             ORDER BY h.hidden_at DESC, s.id LIMIT 100) x);
END $$;

-- {"reason", "hidden_at"}, or NULL.
CREATE OR REPLACE FUNCTION submission_hidden_json(p_id uuid) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT jsonb_build_object('reason', h.reason, 'hidden_at', iso8601(h.hidden_at))
              FROM hidden_submissions h WHERE h.submission_id = p_id);
END $$;

-- One board of each device model that is asked for, together: of one epoch (the newest unless told) and one
-- baseline (unless told the vendor's own, or one put together of its parts if there is no other). JSON as text,
-- with rank and attempts set before what each entry says of itself.
CREATE OR REPLACE FUNCTION leaderboard(p_problem text, p_workload text, p_arch text, p_device_model text,
                                       p_epoch int, p_baseline text, p_limit int)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_boards boards[] := ARRAY(
        SELECT b FROM boards b
         WHERE b.problem = p_problem AND b.workload = p_workload AND b.arch = p_arch
           AND is_device(b.device_model, p_device_model)
           AND EXISTS (SELECT FROM board_entries e WHERE e.board_id = b.id));
    v_epoch int := nullif(p_epoch, 0);
    v_base text := p_baseline;
BEGIN
    IF v_epoch IS NULL THEN
        v_epoch := (SELECT max(b.epoch) FROM unnest(v_boards) b);
    END IF;
    IF v_base IS NULL THEN
        v_base := (SELECT b.baseline FROM unnest(v_boards) b WHERE b.epoch = v_epoch AND b.baseline <> ''
                    ORDER BY b.baseline LIKE '%(composed)', b.baseline LIMIT 1);
    END IF;
    RETURN format('{"epoch":%s,"epochs":%s,"baseline":%s,"baselines":%s,"hidden":%s,"items":[%s]}',
        coalesce(v_epoch::text, 'null'),
        (SELECT coalesce(json_agg(DISTINCT b.epoch), '[]') FROM unnest(v_boards) b),
        coalesce(to_json(v_base)::text, 'null'),
        (SELECT coalesce(json_agg(DISTINCT b.baseline), '[]') FROM unnest(v_boards) b
          WHERE b.epoch = v_epoch AND b.baseline <> ''),
        board_hidden(p_problem, p_workload, p_arch),
        (SELECT string_agg('{"rank":' || coalesce(x.rank::text, 'null') || ',"attempts":' || x.attempts || ','
                           || substr(x.item, 2), ',' ORDER BY x.speedup DESC NULLS LAST, x.thread_instructions,
                                                              x.submission_id)
           FROM (SELECT e.*
                   FROM unnest(v_boards) b CROSS JOIN LATERAL board_page(b.id, p_limit) e
                  WHERE b.epoch = v_epoch AND (b.baseline = v_base OR b.baseline = '')
                  ORDER BY e.speedup DESC NULLS LAST, e.thread_instructions, e.submission_id LIMIT p_limit) x));
END $$;

-- Rank of a submission on its own board; NULL if it is not the one that stands for its entry there.
CREATE OR REPLACE FUNCTION board_rank(p_id uuid) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    v board_entries;
BEGIN
    SELECT e.* INTO v FROM board_entries e JOIN boards b ON b.id = e.board_id
     WHERE e.submission_id = p_id AND e.speedup IS NOT NULL ORDER BY b.epoch DESC, b.baseline LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT band_rank(x.speedup, x.ci_lo, x.ci_hi ORDER BY x.speedup DESC, x.thread_instructions, x.submission_id)
              FROM board_entries x
             WHERE x.board_id = v.board_id AND x.speedup >= v.speedup
               AND (x.speedup > v.speedup
                    OR (coalesce(x.thread_instructions, 9223372036854775807), x.submission_id)
                    <= (coalesce(v.thread_instructions, 9223372036854775807), v.submission_id)));
END $$;

-- Takes a submission off the boards for a reason that everybody may read, or puts it back (reason NULL). NULL:
-- there is no such submission.
CREATE OR REPLACE FUNCTION submission_hide(p_id uuid, p_viewer bigint, p_reason text) RETURNS jsonb
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM submissions s WHERE s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF p_reason IS NULL THEN
        DELETE FROM hidden_submissions h WHERE h.submission_id = p_id;
    ELSE
        INSERT INTO hidden_submissions (submission_id, reason) VALUES (p_id, p_reason)
        ON CONFLICT (submission_id) DO UPDATE SET reason = p_reason;
    END IF;
    INSERT INTO audit (owner_id, action, subject)
    VALUES (nullif(p_viewer, -1), CASE WHEN p_reason IS NULL THEN 'unhide' ELSE 'hide' END, p_id::text);
    PERFORM pg_notify('submission_event', p_id::text);
    RETURN submission_rev(p_id, -1) || jsonb_build_object('hidden', submission_hidden_json(p_id));
END $$;
