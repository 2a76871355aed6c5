#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of agent-lib.sh for real: 3 variants × 4 trajectories × 8 turns of answers that are played back, each kernel
# compiled and run on the device cpu. Labels, turn correctness, Fast_p and transitions are those worked out by hand;
# nothing is timed on cpu, so Fast_p is zero everywhere.
. "$(dirname "$0")/../t/lib.sh"
T_DIR=$ROOT/tests/t
. "$(dirname "$0")/../t/agent-lib.sh"

db_start
server_start
agent_turns | while read -r t n letter; do
    agent_answer "$letter" agent_kernel_real "$letter" | replay_file "$t" "$n"
done
worker_start
agent_start
ok 'a worker registers' wait_for 20 sh -c "'$BIN/ptxbench' workers --json | grep -q '\"healthy\": true'"
id=$(run_start '{}')
ok 'the run ends' wait_for 500 run_done "$id" || diag "$(run_show "$id")"

sql "SELECT trajectory || ' ' || n || ' ' || label FROM turns WHERE run_id = '$id' AND counted
      ORDER BY trajectory, n" >"$TMP/labels"
agent_turns | while read -r t n letter; do echo "$t $n $(agent_label "$letter")"; done >"$TMP/table"
ok 'every turn has the label that its answer was made for' diff "$TMP/table" "$TMP/labels"

cell='origin=local&problem=gemm&workload=small'
http GET "/v1/metrics/turn_correctness?turns=1,4,8&$cell" >/dev/null
is 'it is one cell, of the CPU device' "$(json '[.items[] | .device_model, .model, .condition] | join(" ")')" 'ptxvm replay-1 '
is 'correct at 1, 4 and 8 turns' "$(json '[.items[0].at[] | .correct, .of] | join(" ")')" '1 12 12 48 42 96'
is 'without target instructions, which is known' "$(json '[.items[0].at[] | .target, .unknown] | join(" ")')" '0 0 0 0 0 0'
is 'and without a speedup' "$(json '[.items[0].at[].best] | tostring')" '[null,null,null]'
http GET "/v1/metrics/fast_p?turns=8&p=0,1&$cell" >/dev/null
is 'so Fast_p is zero' "$(json '[.items[0].points[].all.high] | join(" ")')" '0 0'
http GET "/v1/metrics/transitions?$cell" >/dev/null
is 'correct after correct' \
    "$(json '[.items[0].transitions[] | select(.from == "correct" and .to == "correct") | .turns] | add')" 23
is 'runtime to correct and back' "$(json '[.items[0].transitions[]
    | select((.from == "runtime" and .to == "correct") or (.from == "correct" and .to == "runtime")) | .turns] | add')" 2

# What the model was told.
feedback()
{
    sql "SELECT feedback_text FROM steps WHERE run_id = '$id' AND trajectory = $1 AND n = $2 AND state = 'done'"
}
like 'the compiler'"'"'s complaint with its line' "$(feedback 0 1)" 'mov\.f33'
like 'the kind of wrong numbers' "$(feedback 0 2)" '[Ww]rong|INCORRECT'
like 'the faulting instruction and tensor' "$(feedback 2 3)" 'end of A \([0-9]+ bytes\) in gemm_naive.*ld\.global'
like 'who waits for whom' "$(feedback 6 0)" 'barrier|wait'
like 'the member of the plan that is wrong' "$(feedback 5 0)" 'grid'
like 'that no block was found' "$(feedback 0 0)" 'block'

# The board knows the run by one name, however many turns it had.
http GET "/v1/leaderboard?problem=gemm&workload=small&arch=sm_90a" >/dev/null
is 'a run is one entry of the board' "$(json '.items | length')" 1
is 'under the name of its model' "$(json '.items[0].method')" replay-1

# What was sent can be seen, byte for byte.
http GET "/v1/runs/$id/trajectories/3/messages?n=4" >/dev/null
is 'the messages of a turn are those that were sent' "$(json .sha256)" "$(sql "SELECT encode(c.request_sha, 'hex')
    FROM steps s JOIN llm_calls c ON c.id = s.call_id WHERE s.run_id = '$id' AND s.trajectory = 3 AND s.n = 4")"
exits 'what the database holds is sound' 0 "$BIN/ptxbench" fsck --database "$DATABASE"
done_testing
