-- SPDX-License-Identifier: Apache-2.0
-- What is true of runs and no constraint can say; part of fsck_faults().

CREATE OR REPLACE FUNCTION run_faults() RETURNS TABLE (fault text, n bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT 'runs whose state is not that of their trajectories'::text, count(*) FROM runs r
     WHERE r.origin = 'local' AND (r.state = 'running') <> EXISTS (
           SELECT FROM trajectories t WHERE t.run_id = r.id AND t.state = 'running')
    UNION ALL
    SELECT 'running trajectories without an open step, or others with one', count(*) FROM trajectories t
      JOIN runs r ON r.id = t.run_id AND r.origin = 'local'
     WHERE (t.state = 'running') <> EXISTS (
           SELECT FROM steps s WHERE s.run_id = t.run_id AND s.trajectory = t.n
                                 AND s.state IN ('call', 'evaluate', 'conclude'))
    UNION ALL
    SELECT 'steps that wait for a job that is not there', count(*) FROM steps s
     WHERE s.state IN ('call', 'conclude') AND NOT EXISTS (
           SELECT FROM jobs j WHERE j.kind = s.state AND j.subject_id = s.id AND j.state IN ('queued', 'running'))
    UNION ALL
    SELECT 'steps that wait for an evaluation that has ended', count(*) FROM steps s
     WHERE s.state = 'evaluate' AND NOT EXISTS (
           SELECT FROM submissions x WHERE x.id = s.submission_id AND x.state <> 'done')
    UNION ALL
    SELECT 'jobs of steps that do not wait for them', count(*) FROM jobs j
     WHERE j.kind <> 'evaluate' AND j.state IN ('queued', 'running') AND NOT EXISTS (
           SELECT FROM steps s WHERE s.id = j.subject_id AND s.state = j.kind)
    UNION ALL
    SELECT 'turns without the step that they come from', count(*) FROM turns t
      JOIN runs r ON r.id = t.run_id AND r.origin = 'local'
     WHERE NOT EXISTS (
           SELECT FROM steps s WHERE (s.run_id, s.trajectory, s.n, s.try) = (t.run_id, t.trajectory, t.n, t.try)
                                 AND s.state = 'done')
    UNION ALL
    SELECT 'steps that are done without a turn', count(*) FROM steps s
     WHERE s.state = 'done' AND NOT EXISTS (
           SELECT FROM turns t WHERE (t.run_id, t.trajectory, t.n, t.try) = (s.run_id, s.trajectory, s.n, s.try))
    UNION ALL
    SELECT 'turns whose label before is not that of the turn before', count(*) FROM turns t
      JOIN runs r ON r.id = t.run_id AND r.origin = 'local'
     WHERE t.counted AND t.prev_label <> coalesce((
           SELECT b.label FROM turns b WHERE b.run_id = t.run_id AND b.trajectory = t.trajectory AND b.n = t.n - 1
                                         AND b.counted), '')
    UNION ALL
    SELECT * FROM run_sum_faults()
    UNION ALL
    SELECT 'trajectories in a cell that have not come to their own end', count(*) FROM trajectories t
      JOIN runs r ON r.id = t.run_id AND r.origin = 'local'
     WHERE t.cell_id IS NOT NULL AND (t.state = 'running' OR t.reason NOT IN ('turns', 'target', 'context'))
    UNION ALL
    SELECT 'turns in another cell than their trajectory', count(*) FROM turns t
      JOIN runs r ON r.id = t.run_id AND r.origin = 'local'
      JOIN trajectories x ON x.run_id = t.run_id AND x.n = t.trajectory
     WHERE t.cell_id IS DISTINCT FROM x.cell_id
    UNION ALL
    SELECT 'events numbered past their run''s rev', count(*)
      FROM events e JOIN runs r ON r.id = e.topic WHERE e.seq > r.rev;
END $$;

CREATE OR REPLACE FUNCTION run_sum_faults() RETURNS TABLE (fault text, n bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT 'runs that count other calls, tokens or dollars than their calls say'::text, count(*)
      FROM runs r
      LEFT JOIN (SELECT c.run_id, count(*) AS calls, coalesce(sum(c.tokens_in), 0) AS tokens_in,
                        coalesce(sum(c.tokens_out), 0) AS tokens_out, coalesce(sum(c.usd), 0) AS usd
                   FROM llm_calls c GROUP BY c.run_id) k ON k.run_id = r.id
     WHERE r.calls <> coalesce(k.calls, 0) OR r.tokens_in <> coalesce(k.tokens_in, 0)
        OR r.tokens_out <> coalesce(k.tokens_out, 0)
        OR abs(r.usd - coalesce(k.usd, 0)) > 1e-9 * greatest(1, r.usd);
END $$;
