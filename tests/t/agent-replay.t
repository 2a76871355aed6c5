#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs of two trajectories of three turns whose answers are played back: what each turn comes to, and that an agent
# which dies at any point leaves nothing behind that the next one does not finish the same way.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/worker-lib.sh"
. "$T_DIR/agent-lib.sh"
export PTXBENCH_POLL_MS=200

# run_create [MEMBERS]: prints the id.
run_create()
{
    rc_id=$(sql 'SELECT gen_random_uuid()')
    jq -n --argjson more "${1:-{\}}" '{name: "played", problem: "gemm", workload: "small", arch: "sm_90a", device: "cpu",
        provider: "told", model: "replay-1", history: "full", feedback: "full", trajectories: 2, turns: 3,
        target_speedup: 1.2, prompts: [{variant: 0, name: "contract", system: "Write kernels.", task: "A gemm.",
        tokens: 10, estimated: true}]} + $more' >"$TMP/run.json"
    sql "SELECT run_create('$rc_id', 1, \$\$$(cat "$TMP/run.json")\$\$, 100)" >"$TMP/run.out" && echo "$rc_id"
}

# end_of ID: all that must not depend on who died when.
end_of()
{
    sql "SELECT trajectory, n, try, counted, label, prev_label, correct, inst, speedup FROM turns WHERE run_id = '$1'
          ORDER BY 1, 2, 3"
    sql "SELECT n, state, reason, left_out FROM trajectories WHERE run_id = '$1' ORDER BY n"
    sql "SELECT s.trajectory, s.n, s.state, s.extraction, s.submission_id IS NOT NULL, encode(s.source_sha, 'hex'),
                encode(c.answer_sha, 'hex'), encode(c.request_sha, 'hex'), md5(s.feedback_text)
           FROM steps s JOIN llm_calls c ON c.id = s.call_id WHERE s.run_id = '$1' ORDER BY 1, 2"
    sql "SELECT state, reason FROM runs WHERE id = '$1'"
    sql "SELECT count(*) FROM submissions WHERE label LIKE 'played t%' AND id IN
            (SELECT submission_id FROM steps WHERE run_id = '$1')"
}

calls()
{
    sql "SELECT status, count(*) FROM llm_calls WHERE run_id = '$1' GROUP BY 1 ORDER BY 1" | tr '\n' ' '
}

has_call()
{
    [ "$(sql "SELECT count(*) FROM llm_calls WHERE run_id = '$1' AND status = '$2'")" -ge "${3:-1}" ]
}

# Retries would wait 5 s and longer.
hurried()
{
    sql "UPDATE jobs SET run_after = now() WHERE state = 'queued' AND run_after > now()"
    run_done "$1"
}

answers()
{
    agent_answer E | replay_file 0 0
    agent_answer X | replay_file 0 1
    agent_answer P agent_kernel_told PASSED 0.9 true | replay_file 0 2
    agent_answer L | replay_file 1 0
    agent_answer P agent_kernel_told PASSED 1.1 true | replay_file 1 1
    agent_answer C agent_kernel_told COMPILE_ERROR - null | replay_file 1 2
    echo '{"usage": {"input": 100, "output": 20, "reasoning": 7}, "reasoning": "Hm."}' >"$TMP/replay/0/1/1.json"
}

# --- one that nobody disturbs -----------------------------------------------------------------------

db_start
sql "INSERT INTO owners (id, name) OVERRIDING SYSTEM VALUE VALUES (1, 'ada') ON CONFLICT DO NOTHING"
exits 'an agent without a database is told what it needs' 64 env -u PTXBENCH_DATABASE "$BIN/ptxbench-agent"
exits 'one whose providers are nowhere ends' 1 "$BIN/ptxbench-agent" --providers "$TMP/none.json"
like 'and says so' "$(cat "$TMP/err")" 'there are no providers: .*none.json does not exist'
answers
providers_file
exits 'a lease shorter than two heartbeats is refused' 64 env PTXBENCH_LEASE_MS=300 PTXBENCH_BEAT_MS=200 \
    "$BIN/ptxbench-agent" --providers "$TMP/providers.json"
fake_worker
agent_start
ok 'an agent registers' wait_for 10 test -n "$(sleep 2; sql "SELECT 1 FROM workers WHERE device = 'llm'")"
is 'with a lane for each provider' "$(sql "SELECT lanes FROM workers WHERE device = 'llm'")" '{llm/told}'
calm=$(run_create)
ok 'a run ends' wait_for 60 run_done "$calm" || diag "$(run_show "$calm")"
want=$(end_of "$calm")
is 'every turn has its label' \
    "$(sql "SELECT string_agg(label, ' ' ORDER BY trajectory, n) FROM turns WHERE run_id = '$calm' AND counted")" \
    'extraction cut correct plan correct compile'
is 'speedup and target instructions are the report'"'"'s' \
    "$(sql "SELECT string_agg(format('%s:%s', speedup, inst), ' ' ORDER BY trajectory, n) FROM turns
             WHERE run_id = '$calm' AND correct")" '0.9:t 1.1:t'
is 'what is not known is not made up' \
    "$(sql "SELECT count(*) FROM turns WHERE run_id = '$calm' AND NOT correct AND inst IS NOT NULL")" 0
is 'both trajectories ran out of turns' \
    "$(sql "SELECT string_agg(reason, ' ') FROM trajectories WHERE run_id = '$calm'")" 'turns turns'
is 'each answer was paid once' "$(calls "$calm")" 'stored|6 '
is 'usage and reasoning are kept' "$(sql "SELECT tokens_in, tokens_out, reasoning_tokens, usd,
    convert_from(b.data, 'UTF8') FROM llm_calls c JOIN blobs b ON b.sha256 = c.reasoning_sha WHERE run_id = '$calm'")" \
    '100|20|7||Hm.'
is 'a submission has the run'"'"'s owner, the model as its method and the run as its label' \
    "$(sql "SELECT DISTINCT owner_id, mode, method, label FROM submissions
             WHERE id = (SELECT submission_id FROM steps WHERE run_id = '$calm' AND trajectory = 1 AND n = 1)")" \
    '1|rank|replay-1|played'
like 'a plan error says where' "$(sql "SELECT feedback_text FROM steps WHERE run_id = '$calm' AND trajectory = 1 AND n = 0")" \
    'launches\[0\]\.grid'
like 'and its errors are kept' "$(sql "SELECT errors FROM steps WHERE run_id = '$calm' AND trajectory = 1 AND n = 0")" '"path"'
is 'a call carries all answers and feedback before' \
    "$(sql "SELECT json_array_length(convert_from(b.data, 'UTF8')::json) FROM llm_calls c
              JOIN blobs b ON b.sha256 = c.request_sha WHERE run_id = '$calm' AND trajectory = 1 ORDER BY n" | tr '\n' ' ')" '2 4 6 '
is 'feedback tells the best turn and the one before, counted from 1' \
    "$(sql "SELECT feedback ->> 'turn', feedback #>> '{best,turn}', feedback #>> '{since,verdict}' FROM steps
             WHERE run_id = '$calm' AND trajectory = 1 AND n = 2")" '3|2|PASSED'
stop_child "$AGENT_PID"
ok 'an agent that was stopped says goodbye' test -n "$(sql "SELECT 1 FROM workers WHERE device = 'llm' AND stopped_at IS NOT NULL")"

# --- an agent that dies -----------------------------------------------------------------------------

# dies POINT CALLS: the first agent dies there, the second finishes.
dies()
{
    id=$(run_create)
    PTXBENCH_AGENT_DIES=$1 agent_start --concurrency 1
    wait "$AGENT_PID" 2>/dev/null
    ok "an agent dies: $1" test $? -eq 137
    agent_start
    ok '  another finishes the run' wait_for 60 hurried "$id" || diag "$(run_show "$id")"
    is '  in the same way' "$(end_of "$id")" "$want"
    is '  and pays no stored answer again' "$(calls "$id")" "$2"
    stop_child "$AGENT_PID"
}
dies called 'failed|1 stored|6 '
dies answered 'failed|1 stored|6 '
dies stored 'stored|6 '
dies submitted 'stored|6 '
dies conclude 'stored|6 '
dies concluded 'stored|6 '

agent_answer E | replay_file 0 0 2500
id=$(run_create)
agent_start
ok 'a call is under way' wait_for 10 has_call "$id" started
sleep 1
kill -KILL "$AGENT_PID"
wait "$AGENT_PID" 2>/dev/null
agent_start
ok 'after kill -9 in mid-call another agent finishes the run' wait_for 60 hurried "$id" || diag "$(run_show "$id")"
is 'in the same way' "$(end_of "$id")" "$want"
is 'the call that was lost says so' "$(sql "SELECT error FROM llm_calls WHERE run_id = '$id' AND status = 'failed'")" \
    'the agent was lost'

# --- a database that is gone for a while, but less than a lease -------------------------------------

stop_child "$AGENT_PID"
agent_start --lease-ms 30000
id=$(run_create)
ok 'a call is under way' wait_for 10 has_call "$id" started
pg_stop QUIT
sleep 3     # the answer comes meanwhile
pg_start
ok 'after a crash of the database the run ends' wait_for 60 hurried "$id" || diag "$(run_show "$id")"
is 'in the same way' "$(end_of "$id")" "$want"
is 'and the answer that came meanwhile was not paid again' "$(calls "$id")" 'stored|6 '

# --- an agent that is stopped -----------------------------------------------------------------------

id=$(run_create)
ok 'a call is under way' wait_for 10 has_call "$id" started
kill -TERM "$AGENT_PID"
wait "$AGENT_PID"
is 'one SIGTERM ends the agent well' $? 0
is 'when its calls are stored' "$(calls "$id" | grep -c started)" 0
agent_start
ok 'another goes on' wait_for 60 hurried "$id" || diag "$(run_show "$id")"
is 'with the answers that are there' "$(calls "$id")" 'stored|6 '

agent_answer E | replay_file 0 0 60000
id=$(run_create)
ok 'a long call is under way' wait_for 10 has_call "$id" started
sleep 8     # some of it has come
kill -TERM "$AGENT_PID"
sleep 0.3
ok 'one SIGTERM lets it go on' kill -0 "$AGENT_PID"
kill -TERM "$AGENT_PID"
wait "$AGENT_PID"
is 'a second one ends the agent well' $? 0
is 'what had come is kept' "$(sql "SELECT octet_length(b.data) > 0, c.error FROM llm_calls c
    JOIN blobs b ON b.sha256 = c.answer_sha WHERE run_id = '$id' AND status = 'partial'")" 't|the agent was stopped'
is 'the job is given back at no cost of attempts' "$(sql "SELECT j.state, j.max_attempts - j.attempt FROM jobs j
    JOIN steps s ON s.id = j.subject_id AND j.kind = 'call' WHERE s.run_id = '$id' AND s.trajectory = 0")" 'queued|6'

agent_start
ok 'a call is under way again' wait_for 10 has_call "$id" started
sql "SELECT run_cancel('$id', 1)" >/dev/null
ok 'a run that is cancelled stops its call' wait_for 10 test "$(sleep 2; calls "$id" | grep -c started)" = 0
is 'and no job of it is left' "$(sql "SELECT count(*) FROM jobs WHERE finished_at IS NULL")" 0
ok 'the agent goes on' kill -0 "$AGENT_PID"

# --- a provider that has no answer ------------------------------------------------------------------

id=$(run_create '{"turns": 4}')
agent_answer E | replay_file 0 0
ok 'a run whose answers are not all there ends' wait_for 60 hurried "$id" || diag "$(run_show "$id")"
is 'for the provider, and says which is missing' \
    "$(sql "SELECT reason, detail FROM trajectories WHERE run_id = '$id' AND n = 1")" \
    'provider|provider told has no answer for this turn: there is no 0/1/3.md'
is 'nothing is inconsistent' "$(sql "SELECT fsck() ->> 'problems'")" '[]'
unlike 'no sanitizer complains' "$(cat "$TMP/agent.log")" 'AddressSanitizer|LeakSanitizer|runtime error:'
done_testing
