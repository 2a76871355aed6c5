#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two owners with a run of 24 trajectories each, answers of a model played back 3 s after they were asked for, one
# agent, one worker for the device cpu that evaluates for real:
# agent.concurrent_trajectories  under way at one time
# agent.calls_at_once            calls of the model under way at one time
# agent.evaluations              that the worker made of them
# agent.worker_idle_fraction     share of the time from the first submission to the last end in which one waited and
#                                the worker held none
# agent.owner_lead               evaluations by which an owner was ever ahead of the other while both waited; the
#                                queue's rule makes it one, two where a claim and an arrival are of one moment; fails
#                                above that
# agent.memory_mib               of the agent, at its most
#   usage: tests/bench/agent.sh [TURNS [SECONDS]]
TURNS=${1:-2} SECONDS_MAX=${2:-1500}
. "$(dirname "$0")/../t/lib.sh"
. "$(dirname "$0")/../t/http-fake.sh"
. "$(dirname "$0")/../t/agent-lib.sh"
db_start
server_start
mkdir "$TMP/replay"
for turn in $(seq 0 $((TURNS - 1))); do
    agent_answer P agent_kernel_real P >"$TMP/replay/$turn.md"
    echo '{"delay_ms": 3000, "usage": {"input": 30000, "output": 4000, "reasoning": 3000}}' >"$TMP/replay/$turn.json"
done
providers_file
sed -i 's/"concurrency": 16/"concurrency": 64/' "$TMP/providers.json"

# start OWNER: posts a run of 3 variants of 8 trajectories; prints its id.
start()
{
    add_token "$1" submit,read "$1-secret-token"
    jq -n --argjson turns "$TURNS" '{problem: "gemm", arch: "sm_90a", device: "cpu", provider: "told", model: "replay-1",
        variants: ["parameters", "templates", "contract"], trajectories: 8, turns: $turns, target_speedup: 100}' |
        curl -sS --max-time 60 -H "Authorization: Bearer $1-secret-token" -H 'Content-Type: application/json' \
            --data-binary @- "$URL/v1/runs" | jq -r '.id // error(tostring)'
}
ONE=$(start one) || bail 'a run was not taken'
TWO=$(start two) || bail 'the other run was not taken'
worker_start
agent_start
for run in "$ONE" "$TWO"; do
    wait_for "$SECONDS_MAX" run_done "$run" || bail "a run did not end: $(run_show "$run")"
done
MEMORY=$(awk '/^VmHWM:/ { print $2 }' "/proc/$AGENT_PID/status")
stop_child "$AGENT_PID"
[ "$(sql "SELECT count(*) FROM turns WHERE label = 'correct' AND counted")" = $((48 * TURNS)) ] ||
    bail "not every turn is correct: $(sql 'SELECT label, counted, count(*) FROM turns GROUP BY 1, 2')"

# The most of these intervals (relation with "began" and "ended") that have a moment in common.
at_once()
{
    sql "WITH i AS ($1), moments AS (
             SELECT sum(step) OVER (ORDER BY at, step) AS n
               FROM (SELECT began, 1 FROM i UNION ALL SELECT ended, -1 FROM i) AS m(at, step))
         SELECT max(n) FROM moments"
}
ATTEMPTS="SELECT j.id, j.owner_id, greatest(j.queued_at, j.run_after) AS queued, a.started_at AS began, a.ended_at AS ended
            FROM jobs j JOIN job_attempts a ON a.job_id = j.id WHERE j.kind = 'evaluate'"
idle()
{
    sql "WITH a AS ($ATTEMPTS), gaps AS (
             SELECT began - greatest(max(ended) OVER (ORDER BY began ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
                                     min(queued) OVER (ORDER BY began ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)) AS gap
               FROM a)
         SELECT round((extract(epoch FROM (SELECT sum(greatest(gap, interval '0')) FROM gaps)) /
                       extract(epoch FROM (SELECT max(ended) - min(queued) FROM a)))::numeric, 4)"
}
# Claims in their order; `alone`: the other owner had none waiting then. The lead counts from the last such claim on.
lead()
{
    sql "WITH a AS ($ATTEMPTS), claims AS (
             SELECT began, CASE WHEN owner_id = (SELECT min(owner_id) FROM a) THEN 1 ELSE -1 END AS whose,
                    NOT EXISTS (SELECT FROM a o WHERE o.owner_id <> c.owner_id AND o.queued < c.began AND o.began > c.began) AS alone
               FROM a c),
         spells AS (SELECT *, count(*) FILTER (WHERE alone) OVER (ORDER BY began) AS spell FROM claims),
         leads AS (SELECT sum(whose) FILTER (WHERE NOT alone) OVER (PARTITION BY spell ORDER BY began) AS lead FROM spells)
         SELECT coalesce(max(abs(lead)), 0), (SELECT count(*) FROM claims WHERE NOT alone) FROM leads"
}
LEAD=$(lead)
printf 'agent.concurrent_trajectories %s trajectories\n' \
    "$(at_once 'SELECT min(created_at) AS began, max(finished_at) AS ended FROM steps GROUP BY run_id, trajectory')"
printf 'agent.calls_at_once %s calls\n' "$(at_once 'SELECT started_at AS began, finished_at AS ended FROM llm_calls')"
printf 'agent.evaluations %s evaluations\n' "$(sql "SELECT count(*) FROM jobs WHERE kind = 'evaluate'")"
printf 'agent.worker_idle_fraction %s ratio\n' "$(idle)"
printf 'agent.owner_lead %s evaluations\n' "${LEAD%|*}"
printf 'agent.memory_mib %s MiB\n' "$((MEMORY / 1024))"
[ "${LEAD#*|}" -gt 0 ] || bail 'the owners never waited at one time'
[ "${LEAD%|*}" -le 2 ] || bail 'one owner was ahead of the other'
T_DONE=1
