#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same run twice: once undisturbed, once while agent, worker and server are killed (-9) CHAOS_KILLS times at
# random. Nothing may be lost, doubled or paid twice: the end states are the same. CHAOS_SEED repeats an order.
. "$(dirname "$0")/../t/lib.sh"
T_DIR=$ROOT/tests/t
. "$(dirname "$0")/../t/worker-lib.sh"
. "$(dirname "$0")/../t/agent-lib.sh"
KILLS=${CHAOS_KILLS:-30} SEED=${CHAOS_SEED:-1}

# kernel TRAJECTORY N LETTER
kernel()
{
    case $3 in
    P) agent_kernel_told PASSED "0.$(($1 + 1))" true ;;
    N) agent_kernel_told INCORRECT_NUMERICAL - null ;;
    C) agent_kernel_told COMPILE_ERROR - null ;;
    R) agent_kernel_told RUNTIME_ERROR - null ;;
    D) agent_kernel_told TIMEOUT - null ;;
    esac
    printf '// trajectory %s, turn %s\n' "$1" "$2"
}

# end_state RUN: what must not depend on who was killed when.
end_state()
{
    sql "SELECT u.trajectory, u.n, u.label, u.prev_label, u.correct, u.inst, u.speedup, s.extraction,
                encode(s.source_sha, 'hex'), md5(s.feedback_text), encode(c.request_sha, 'hex')
           FROM turns u JOIN steps s USING (run_id, trajectory, n, try) JOIN llm_calls c ON c.id = s.call_id
          WHERE u.run_id = '$1' AND u.counted ORDER BY u.trajectory, u.n"
    sql "SELECT n, state, reason FROM trajectories WHERE run_id = '$1' ORDER BY n"
    sql "SELECT variant, n, turns, correct, inst_true, best FROM turn_counts WHERE cell_id IN (
             SELECT cell_id FROM trajectories WHERE run_id = '$1') ORDER BY 1, 2"
}

db_start
server_start
agent_turns | while read -r t n letter; do
    agent_answer "$letter" kernel "$t" "$n" "$letter" | replay_file "$t" "$n" 2000
done
fake_worker
agent_start
calm=$(run_start '{"condition": "calm"}')
ok 'the undisturbed run ends' wait_for 180 run_done "$calm" || diag "$(run_show "$calm")"
end_state "$calm" >"$TMP/calm"
is 'with all its turns' "$(grep -cE '\|[0-9a-f]{64}$' "$TMP/calm")" 96

wild=$(run_start '{"condition": "wild"}')
kills=0
while [ "$kills" -lt "$KILLS" ] && ! run_done "$wild"; do
    # shellcheck disable=SC2046 # two numbers
    set -- $(awk -v seed="$SEED" -v k="$kills" 'BEGIN {
        srand(seed * 1000 + k); who = int(rand() * 4); print who, 0.1 + rand() * 0.7 }')
    sleep "$2"
    case $1 in
    0 | 1) stop_child "$AGENT_PID" KILL && agent_start ;;
    2) stop_child "$WORKER_PID" KILL && fake_worker ;;
    3) stop_child "$SERVER_PID" KILL && server_start ;;
    esac
    kills=$((kills + 1))
done
is 'that many were killed before the run was over' "$kills" "$KILLS"
ok 'the disturbed run ends' wait_for 240 run_done "$wild" || diag "$(run_show "$wild")"
end_state "$wild" >"$TMP/wild"
differences=$(diff "$TMP/calm" "$TMP/wild" | grep -c '^[<>]')
is 'its end state is that of the undisturbed one' "$differences" 0 || diag "$(diff "$TMP/calm" "$TMP/wild" | head -20)"
is 'nothing was paid twice whose answer was stored' "$(sql "SELECT count(*) FROM (
    SELECT 1 FROM llm_calls WHERE run_id = '$wild' AND status = 'stored' GROUP BY trajectory, n HAVING count(*) > 1) x")" 0
is 'no call is still open' "$(sql "SELECT count(*) FROM llm_calls WHERE status = 'started'")" 0
is 'no kernel was submitted twice' "$(sql "SELECT count(*) - count(DISTINCT source_sha) FROM submissions
    WHERE created_at > (SELECT created_at FROM runs WHERE id = '$wild')")" 0
is 'the API shows it done' "$(http GET "/v1/runs/$wild")" 200
is 'with every turn' "$(json '[.grid[].turns[] | select(.label != null)] | length')" 96
exits 'what the database holds is sound' 0 "$BIN/ptxbench" fsck --database "$DATABASE"
if [ -n "${CHAOS_RESULTS:-}" ]; then
    printf 'agent.chaos_kills %s kills\nagent.chaos_differences %s lines\n' "$kills" "$differences" >"$CHAOS_RESULTS"
fi
done_testing
