-- SPDX-License-Identifier: Apache-2.0
-- Submissions as the API sees them: create, read, list, cancel, rerun, events. `p_viewer` is an owner id;
-- -1 is an administrator. What a viewer may not see does not exist for it.

CREATE OR REPLACE FUNCTION lane_of(p_arch text, p_device text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT p_arch || '/' || p_device
$$;

CREATE OR REPLACE FUNCTION may_see(s submissions, p_viewer bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT s.visibility = 'public' OR s.owner_id = p_viewer OR p_viewer = -1
$$;

CREATE OR REPLACE FUNCTION may_change(s submissions, p_viewer bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT s.owner_id = p_viewer OR p_viewer = -1
$$;

-- Evaluations of an owner that wait, and its cap. Whoever is to add one locks the owner's row first: then the
-- count cannot change below the cap that was compared with it.
CREATE OR REPLACE FUNCTION owner_queued(p_owner bigint, p_default_cap int, OUT queued bigint, OUT cap int)
LANGUAGE plpgsql AS $$
BEGIN
    queued := (SELECT count(*) FROM jobs WHERE owner_id = p_owner AND state = 'queued' AND kind = 'evaluate');
    cap := coalesce((SELECT q.cap FROM quotas q WHERE q.owner_id = p_owner AND q.bucket = 'queued'), p_default_cap);
END $$;

-- Adds an evaluation and its job.
CREATE OR REPLACE FUNCTION evaluation_add(s submissions, p_reason text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
BEGIN
    INSERT INTO evaluations (submission_id, seq, reason)
    SELECT s.id, 1 + coalesce(max(seq), 0), p_reason FROM evaluations WHERE submission_id = s.id
    RETURNING id INTO v_id;
    PERFORM job_enqueue('evaluate', v_id, s.lane, s.owner_id, s.priority, s.timeout_s);
    PERFORM submission_touch(s.id, 'state', json_build_object('kind', 'state', 'state', 'queued'), 'queued');
END $$;

-- outcome: created, existing (same key and body), reused (same key, other body), quota.
CREATE OR REPLACE FUNCTION submission_create(
    p_id uuid, p_owner bigint, p_request json, p_source bytea, p_problem text, p_workload text, p_arch text,
    p_language text, p_device text, p_mode text, p_label text, p_method text, p_visibility text,
    p_priority int, p_timeout_s int, p_cap int, p_key text, p_body_sha bytea)
RETURNS TABLE (id uuid, rev int, outcome text, queued bigint, cap int) LANGUAGE plpgsql ROWS 1 AS $$
DECLARE
    s submissions;
    k idempotency;
BEGIN
    PERFORM 1 FROM owners o WHERE o.id = p_owner FOR NO KEY UPDATE;
    SELECT q.queued, q.cap INTO queued, cap FROM owner_queued(p_owner, p_cap) q;
    SELECT i.* INTO k FROM idempotency i WHERE i.owner_id = p_owner AND i.key = p_key;
    IF FOUND THEN
        id := k.submission_id;
        rev := (SELECT x.rev FROM submissions x WHERE x.id = k.submission_id);
        outcome := CASE WHEN k.body_sha = p_body_sha THEN 'existing' ELSE 'reused' END;
        RETURN NEXT;
        RETURN;
    END IF;
    IF queued >= cap THEN
        outcome := 'quota';
        RETURN NEXT;
        RETURN;
    END IF;
    INSERT INTO submissions (id, owner_id, source_sha, request, problem, workload, arch, language, device, mode,
                             label, method, visibility, lane, priority, timeout_s)
    VALUES (p_id, p_owner, blob_put('source', p_source), p_request, p_problem, p_workload, p_arch, p_language,
            p_device, p_mode, nullif(p_label, ''), nullif(p_method, ''), p_visibility,
            lane_of(p_arch, p_device), p_priority, p_timeout_s)
    RETURNING * INTO s;
    IF p_key IS NOT NULL THEN
        INSERT INTO idempotency (owner_id, key, body_sha, submission_id) VALUES (p_owner, p_key, p_body_sha, p_id);
    END IF;
    PERFORM evaluation_add(s, 'first');
    id := p_id;
    rev := 1;
    outcome := 'created';
    queued := queued + 1;
    RETURN NEXT;
END $$;

-- One row per submission: itself, its newest evaluation, that one's result.
CREATE OR REPLACE VIEW submission_rows AS
SELECT s.id, s.owner_id, o.name AS owner, s.visibility, s.problem, s.workload, s.arch, s.language, s.device,
       s.mode, s.label, s.method, s.lane, s.state, s.rev, s.created_at, s.source_sha, s.decisive_id,
       e.id AS evaluation_id, e.seq, e.reason,
       r.attempt, r.worker, r.verdict, r.detail, r.flags, r.speedup, r.ci_lo, r.ci_hi, r.cand_us, r.base_us,
       r.base_name, r.base_version, r.inst, r.tensor_share, r.thread_instructions, r.wall_ms, r.device_model,
       r.epoch, r.created_at AS finished_at, r.target_counts
  FROM submissions s
  JOIN owners o ON o.id = s.owner_id
 CROSS JOIN LATERAL (SELECT * FROM evaluations x WHERE x.submission_id = s.id ORDER BY x.seq DESC LIMIT 1) e
  LEFT JOIN results r ON r.evaluation_id = e.id;

-- The measured part of a document, the same wherever results are shown.
CREATE OR REPLACE FUNCTION speedup_json(p_value float8, p_lo float8, p_hi float8) RETURNS json
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_value IS NOT NULL THEN json_build_object(
        'value', p_value,
        'ci95', CASE WHEN p_lo IS NOT NULL THEN json_build_array(p_lo, p_hi) END) END
$$;

-- "flag_bits" becomes an array of names in C, which owns the words.
CREATE OR REPLACE FUNCTION submission_json(v submission_rows) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'id', v.id, 'state', v.state, 'rev', v.rev, 'problem', v.problem, 'workload', v.workload,
        'arch', v.arch, 'language', v.language, 'device', v.device, 'mode', v.mode, 'label', v.label,
        'method', v.method, 'owner', v.owner, 'visibility', v.visibility, 'created_at', iso8601(v.created_at),
        'source_sha256', encode(v.source_sha, 'hex'), 'evaluations', v.seq,
        'evaluation', jsonb_build_object('seq', v.seq, 'reason', v.reason, 'attempt', v.attempt,
                                         'worker', v.worker))
    || jsonb_build_object(
        'verdict', v.verdict, 'detail', v.detail, 'flag_bits', v.flags,
        'speedup', speedup_json(v.speedup, v.ci_lo, v.ci_hi), 'candidate_us', v.cand_us,
        'baseline', CASE WHEN v.base_name IS NOT NULL THEN jsonb_build_object(
            'name', v.base_name, 'version', v.base_version, 'us', v.base_us) END,
        'target', CASE WHEN v.verdict IS NOT NULL THEN jsonb_build_object(
            'executed', v.inst, 'tensor_share', v.tensor_share, 'counts', v.target_counts) END,
        'thread_instructions', v.thread_instructions, 'device_model', v.device_model, 'epoch', v.epoch,
        'wall_ms', v.wall_ms, 'finished_at', iso8601(v.finished_at));
END $$;

CREATE OR REPLACE FUNCTION iso8601(p_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- Place in the queue of the job of an evaluation, from 1; NULL unless it waits.
CREATE OR REPLACE FUNCTION queue_position(p_evaluation bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    j jobs;
BEGIN
    SELECT * INTO j FROM jobs WHERE kind = 'evaluate' AND subject_id = p_evaluation AND state = 'queued';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN 1 + (SELECT count(*) FROM jobs h
                 WHERE h.state = 'queued' AND h.lane = j.lane
                   AND (h.priority, h.fair_seq, h.id) < (j.priority, j.fair_seq, j.id));
END $$;

-- The turn of a run that made a submission; NULL: a person did.
CREATE OR REPLACE FUNCTION submission_turn_json(p_id uuid) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT jsonb_build_object('run', s.run_id, 'trajectory', s.trajectory, 'n', s.n)
              FROM steps s WHERE s.submission_id = p_id);
END $$;

CREATE OR REPLACE FUNCTION submission_get(p_id uuid, p_viewer bigint) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v submission_rows;
    v_position bigint;
    v_lane record;
    v_more jsonb;
BEGIN
    SELECT x.* INTO v FROM submission_rows x
     WHERE x.id = p_id AND (SELECT may_see(s, p_viewer) FROM submissions s WHERE s.id = p_id);
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    v_more := jsonb_build_object('launch', (SELECT s.request -> 'launch' FROM submissions s WHERE s.id = p_id),
                                 'turn', submission_turn_json(p_id));
    IF v.state = 'done' THEN
        RETURN submission_json(v) || v_more || jsonb_build_object('position', NULL, 'eta_s', NULL, 'lane',
            jsonb_build_object('name', v.lane), 'rank', board_rank(p_id), 'hidden',
            submission_hidden_json(p_id));
    END IF;
    v_position := queue_position(v.evaluation_id);
    SELECT lane_workers(v.lane) AS workers, lane_seconds(v.lane) AS seconds INTO v_lane;
    RETURN submission_json(v) || v_more || jsonb_build_object(
        'position', v_position,
        'eta_s', CASE WHEN v_lane.workers > 0 THEN ceil(v_position * v_lane.seconds / v_lane.workers) END,
        'lane', jsonb_build_object('name', v.lane, 'healthy', v_lane.workers > 0, 'workers', v_lane.workers),
        'rank', NULL);
END $$;

CREATE OR REPLACE FUNCTION submission_rev(p_id uuid, p_viewer bigint) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT jsonb_build_object('id', s.id, 'state', s.state, 'rev', s.rev)
              FROM submissions s WHERE s.id = p_id AND may_see(s, p_viewer));
END $$;

-- Source, or report or artefact of the newest evaluation that has a result.
CREATE OR REPLACE FUNCTION submission_blob(p_id uuid, p_viewer bigint, p_kind text) RETURNS bytea
LANGUAGE plpgsql STABLE AS $$
DECLARE
    s submissions;
    v_sha bytea;
BEGIN
    SELECT x.* INTO s FROM submissions x WHERE x.id = p_id AND may_see(x, p_viewer);
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF p_kind = 'source' THEN
        v_sha := s.source_sha;
    ELSE
        SELECT CASE p_kind WHEN 'report' THEN r.report_sha WHEN 'ptx' THEN r.ptx_sha
                           WHEN 'cubin' THEN r.cubin_sha WHEN 'log' THEN r.log_sha END
          INTO v_sha
          FROM evaluations e JOIN results r ON r.evaluation_id = e.id
         WHERE e.submission_id = p_id ORDER BY e.seq DESC LIMIT 1;
    END IF;
    RETURN (SELECT b.data FROM blobs b WHERE b.sha256 = v_sha);
END $$;

CREATE OR REPLACE FUNCTION submission_list(
    p_limit int, p_before uuid, p_viewer bigint, p_problem text, p_arch text, p_device text, p_state text,
    p_verdict text, p_label text, p_owner text)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_items jsonb;
    v_count bigint;
    v_last text;
BEGIN
    SELECT coalesce(jsonb_agg(x.item ORDER BY x.id DESC), '[]'), count(*), min(x.id::text)
      INTO v_items, v_count, v_last
      FROM (SELECT v.id, submission_json(v) AS item
              FROM submission_rows v
             WHERE (p_before IS NULL OR v.id < p_before)
               AND (v.visibility = 'public' OR v.owner_id = p_viewer OR p_viewer = -1)
               AND (p_problem IS NULL OR v.problem = p_problem)
               AND (p_arch IS NULL OR v.arch = p_arch)
               AND (p_device IS NULL OR v.device = p_device)
               AND (p_state IS NULL OR v.state = p_state)
               AND (p_verdict IS NULL OR v.verdict = p_verdict)
               AND (p_label IS NULL OR v.label = p_label)
               AND (p_owner IS NULL OR v.owner = p_owner)
             ORDER BY v.id DESC LIMIT p_limit) x;
    RETURN jsonb_build_object('items', v_items, 'next', CASE WHEN v_count = p_limit THEN v_last END);
END $$;

-- The newest evaluation's job, locked in the order owner, job, submission.
CREATE OR REPLACE FUNCTION submission_cancel(p_id uuid, p_viewer bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_state job_state;
BEGIN
    PERFORM 1 FROM submissions s WHERE s.id = p_id AND may_change(s, p_viewer);
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT job_cancel(j.id) INTO v_state
      FROM (SELECT x.id FROM evaluations x WHERE x.submission_id = p_id ORDER BY x.seq DESC LIMIT 1) e
      JOIN jobs j ON j.kind = 'evaluate' AND j.subject_id = e.id;
    IF v_state IS NULL THEN
        RAISE EXCEPTION 'cannot cancel: it is already done' USING ERRCODE = 'PX409';
    END IF;
    INSERT INTO audit (owner_id, action, subject) VALUES (nullif(p_viewer, -1), 'cancel', p_id::text);
    RETURN submission_rev(p_id, p_viewer) || jsonb_build_object('cancelling', v_state = 'running');
END $$;

CREATE OR REPLACE FUNCTION submission_rerun(p_id uuid, p_viewer bigint, p_cap int) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    s submissions;
    q record;
BEGIN
    SELECT x.* INTO s FROM submissions x WHERE x.id = p_id AND may_change(x, p_viewer);
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM 1 FROM owners o WHERE o.id = s.owner_id FOR NO KEY UPDATE;
    SELECT x.* INTO s FROM submissions x WHERE x.id = p_id FOR UPDATE;
    IF s.state <> 'done' THEN
        RAISE EXCEPTION 'cannot rerun: an evaluation is still %', s.state USING ERRCODE = 'PX409';
    END IF;
    SELECT * INTO q FROM owner_queued(s.owner_id, p_cap);
    IF q.queued >= q.cap THEN
        RAISE EXCEPTION 'cannot rerun: % evaluations of this owner wait, the limit is %', q.queued, q.cap
            USING ERRCODE = 'PX429';
    END IF;
    PERFORM evaluation_add(s, 'rerun');
    INSERT INTO audit (owner_id, action, subject) VALUES (nullif(p_viewer, -1), 'rerun', p_id::text);
    RETURN submission_rev(p_id, p_viewer)
        || jsonb_build_object('evaluation', (SELECT max(seq) FROM evaluations WHERE submission_id = p_id));
END $$;

-- ---- events ----

CREATE OR REPLACE FUNCTION events_after(p_topics uuid[], p_after int[], p_limit int) RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(json_agg(json_build_object('id', e.topic, 'seq', e.seq, 'at', iso8601(e.at),
                                                       'kind', e.kind, 'data', e.data)
                                     ORDER BY e.topic, e.seq), '[]')
              FROM unnest(p_topics, p_after) AS t(topic, after)
             CROSS JOIN LATERAL (SELECT * FROM events x WHERE x.topic = t.topic AND x.seq > t.after
                                  ORDER BY x.seq LIMIT p_limit) e);
END $$;

-- Of a submission or a run.
CREATE OR REPLACE FUNCTION events_head(p_id uuid, p_viewer bigint) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT jsonb_build_object('rev', x.rev, 'state', x.state, 'oldest',
                                      (SELECT min(e.seq) FROM events e WHERE e.topic = p_id))
              FROM (SELECT s.rev, s.state FROM submissions s WHERE s.id = p_id AND may_see(s, p_viewer)
                    UNION ALL
                    SELECT r.rev, r.state FROM runs r
                     WHERE r.id = p_id AND r.origin = 'local' AND may_see(r, p_viewer)) x);
END $$;
