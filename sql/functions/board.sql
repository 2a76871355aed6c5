-- SPDX-License-Identifier: Apache-2.0
-- Reading the boards that board_keep.sql keeps.

-- Ranks of a board, best first (in core/db/board.c too): an entry shares the rank of the first of its band iff the 95 % interval of
-- their difference covers 0. Differences of logarithms, since an interval is one of ratios; half widths of
-- independent measurements add in quadrature.
CREATE OR REPLACE FUNCTION half_width(p_lo float8, p_hi float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_lo > 0 AND p_hi >= p_lo THEN ln(p_hi / p_lo) / 2 ELSE 0 END
$$;
CREATE OR REPLACE FUNCTION in_band(p_first float8, p_first_half float8, p_ln float8, p_half float8) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_first - p_ln <= sqrt(p_first_half * p_first_half + p_half * p_half)
$$;

-- Is a device of that model what somebody asked for? "h200" is one of the words of "NVIDIA H200".
CREATE OR REPLACE FUNCTION is_device(p_model text, p_wanted text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_wanted IS NULL OR p_model = p_wanted OR (p_wanted = 'gpu' AND p_model <> 'ptxvm')
        OR lower(p_wanted) = ANY (string_to_array(lower(p_model), ' '))
$$;

-- Rank of a submission on its own board; NULL if it is not the one that stands for its entry there.
CREATE OR REPLACE FUNCTION board_rank(p_id uuid) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    e record;
    v_board bigint := (SELECT x.board_id FROM board_entries x JOIN boards b ON b.id = x.board_id
                        WHERE x.submission_id = p_id AND x.speedup IS NOT NULL
                        ORDER BY b.epoch DESC, b.baseline LIMIT 1);
    v_n bigint := 0;
    v_rank bigint;
    v_first float8;
    v_half float8;
BEGIN
    IF v_board IS NULL THEN
        RETURN NULL;
    END IF;
    FOR e IN SELECT x.submission_id, ln(x.speedup) AS ln, half_width(x.ci_lo, x.ci_hi) AS half
               FROM board_entries x WHERE x.board_id = v_board AND x.speedup IS NOT NULL
              ORDER BY x.speedup DESC NULLS LAST, x.thread_instructions, x.submission_id
    LOOP
        v_n := v_n + 1;
        IF v_first IS NULL OR NOT in_band(v_first, v_half, e.ln, e.half) THEN
            v_rank := v_n;
            v_first := e.ln;
            v_half := e.half;
        END IF;
        EXIT WHEN e.submission_id = p_id;
    END LOOP;
    RETURN v_rank;
END $$;

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

-- The boards of a workload that have entries, oldest epoch first, and with each whether anything was taken off;
-- without a board one row that says only this. Which of them are shown is chosen in core/db/board.c, and the entries
-- follow by statements of their own: one function for all of it takes twice as long. Not plpgsql: this is put into
-- the statement that calls it, and planned once for a connection.
CREATE OR REPLACE FUNCTION board_choices(p_problem text, p_workload text, p_arch text, p_device_model text)
RETURNS TABLE (hidden boolean, id bigint, epoch int, baseline text) LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM hidden_submissions h
                     JOIN submissions s ON s.id = h.submission_id
                    WHERE s.problem = p_problem AND s.workload = p_workload AND s.arch = p_arch
                      AND s.mode = 'rank' AND s.visibility = 'public'),
           b.id, b.epoch, b.baseline
      FROM (SELECT) always
      LEFT JOIN boards b ON b.problem = p_problem AND b.workload = p_workload AND b.arch = p_arch
                        AND is_device(b.device_model, p_device_model)
                        AND EXISTS (SELECT FROM board_entries e WHERE e.board_id = b.id)
     ORDER BY b.epoch, b.baseline
$$;
DROP FUNCTION IF EXISTS board_head(text, text, text, text, int, text);
DROP FUNCTION IF EXISTS boards_chosen(text, text, text, text);
DROP FUNCTION IF EXISTS leaderboard(text, text, text, text, int, text, int);
DROP FUNCTION IF EXISTS board_page(bigint, int);

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
