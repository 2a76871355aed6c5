#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run of 3 variants × 4 trajectories × 8 turns, whose answers are played back and whose verdicts are told:
# labels, turn correctness, Fast_p and transitions over HTTP equal what was worked out by hand from the table of
# agent-lib.sh. Speedups: 0.2, 0.6, 0.9 by variant, 1.1 in every last turn; target instructions from turn 5 on.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/worker-lib.sh"
. "$T_DIR/agent-lib.sh"

# kernel TRAJECTORY N LETTER
kernel()
{
    case $3 in
    P)
        speedup=$(echo '0.2 0.6 0.9' | cut -d ' ' -f $(($1 / 4 + 1)))
        [ "$2" -lt 7 ] || speedup=1.1
        executed=true
        [ "$2" -ge 4 ] || executed=false
        agent_kernel_told PASSED "$speedup" "$executed"
        ;;
    N) agent_kernel_told INCORRECT_NUMERICAL - null ;;
    C) agent_kernel_told COMPILE_ERROR - null ;;
    R) agent_kernel_told RUNTIME_ERROR - null ;;
    D) agent_kernel_told TIMEOUT - null ;;
    esac
    printf '// trajectory %s, turn %s\n' "$1" "$2"     # no two sources are the same
}

db_start
server_start
agent_turns | while read -r t n letter; do
    agent_answer "$letter" kernel "$t" "$n" "$letter" | replay_file "$t" "$n"
done
fake_worker
agent_start
id=$(run_start '{"target_speedup": 2}')
ok 'the run ends' wait_for 120 run_done "$id" || diag "$(run_show "$id")"

sql "SELECT trajectory || ' ' || n || ' ' || label FROM turns WHERE run_id = '$id' AND counted
      ORDER BY trajectory, n" >"$TMP/labels"
agent_turns | while read -r t n letter; do echo "$t $n $(agent_label "$letter")"; done >"$TMP/table"
ok 'every turn has the label that its answer was made for' diff "$TMP/table" "$TMP/labels"
is 'no turn was taken twice' "$(sql "SELECT count(*) FROM turns WHERE run_id = '$id'")" 96
is 'nothing was called twice' "$(sql "SELECT count(*) FROM llm_calls WHERE run_id = '$id'")" 96

cell='origin=local&problem=gemm'
http GET "/v1/metrics/turn_correctness?turns=1,4,8&$cell" >/dev/null
is 'one cell has come of it' "$(json '.items | length')" 1
is 'of twelve trajectories' "$(json '[.items[0].at[].of] | join(" ")')" '12 48 96'
is 'correct at 1, 4 and 8 turns' "$(json '[.items[0].at[].correct] | join(" ")')" '1 12 42'
is 'per cent' "$(json '[.items[0].at[].correct_percent] | join(" ")')" '8.3 25.0 43.8'
is 'with target instructions' "$(json '[.items[0].at[].target] | join(" ")')" '0 0 30'
is 'best speedup, of all and of those with target instructions' \
    "$(json '[.items[0].at[] | .best, .best_target] | map(tostring) | join(" ")')" '0.6 null 0.9 null 1.1 1.1'

# The mean over variants of counts / 32.
http GET "/v1/metrics/fast_p?turns=8&p=0,0.2,0.5,0.75,1&$cell" >/dev/null
is 'Fast_p' "$(json '[.items[0].points[].all | .mean, .low, .high | . * 96 | round] | join(" ")')" \
    '42 30 54 34 6 54 34 6 54 23 6 54 9 6 12'
is 'Fast_p with target instructions' \
    "$(json '[.items[0].points[].target | .mean, .low, .high | . * 96 | round] | join(" ")')" \
    '30 24 39 23 6 39 23 6 39 18 6 39 9 6 12'

http GET "/v1/metrics/transitions?$cell" >/dev/null
is 'correct turns at each place' \
    "$(json '[.items[0].labels[] | select(.label == "correct") | .turns] | join(" ")')" '1 2 2 7 6 9 6 9'
# moves FROM TO: over all turns.
moves()
{
    json "[.items[0].transitions[] | select(.from == \"$1\" and .to == \"$2\") | .turns] | add"
}
is 'correct after correct' "$(moves correct correct)" 23
is 'correct after numerical' "$(moves numerical correct)" 14
is 'numerical after correct' "$(moves correct numerical)" 7
is 'compile after compile' "$(moves compile compile)" 8
is 'compile after cut' "$(moves cut compile)" 1
is 'all transitions' "$(json '[.items[0].transitions[] | select(.from != "") | .turns] | add')" 84
exits 'what the database holds is sound' 0 "$BIN/ptxbench" fsck --database "$DATABASE"
done_testing
