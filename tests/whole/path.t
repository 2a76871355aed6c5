#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole path on the device cpu: POST, queue, worker, result, board; rerun and cancel.
. "$(dirname "$0")/../t/lib.sh"
CLI=$BIN/ptxbench
EXAMPLES=$ROOT/problems/gemm/examples
Q='problem=gemm&arch=sm_90a&device=cpu'
db_start
server_start
worker_start
ok 'a worker registers' wait_for 20 sh -c "'$CLI' workers --json | grep -q '\"healthy\": true'"

# passes FILE: posted as a newcomer would, it ends in PASSED.
passes()
{
    is "$1 is answered with its result when the client waits" \
        "$(http POST "/v1/submissions?$Q&wait=60&label=$1" --data-binary "@$EXAMPLES/$1")" 201
    is "$1 is PASSED" "$(json .verdict)" PASSED || diag "$(cat "$TMP/body")"
    id=$(json .id)
}

nvrtc=$("$CLI" version --json | jq -r .nvrtc)
passes naive.ptx
ptx=$id
if [ "$nvrtc" = null ]; then
    skip 10 'NVRTC is not installed: the examples in CUDA cannot be compiled'
else
    for file in naive.cu tiled.cu mma_sync.cu wgmma_tma.cu wgmma_cluster.cu; do
        passes "$file"
    done
fi

is 'five readable lines are given to who asks for text' \
    "$(http GET "/v1/submissions/$ptx" -H 'Accept: text/plain')" 200
is 'they are five' "$(wc -l <"$TMP/body" | tr -d ' ')" 5
like 'with the verdict' "$(cat "$TMP/body")" 'PASSED'

http GET "/v1/submissions/$ptx/report" >/dev/null
is 'the report has the same verdict' "$(json .verdict)" PASSED
is 'all stages that ran have passed' "$(json '[.stages[].state] - ["passed", "skipped"] | length')" 0
is 'the check saw several seeds' "$(json '.check.trials | length > 1')" true
is 'a strict rule was looked at' "$(json '.check.strict')" true
is 'on the device cpu nothing is timed' "$(json .speedup)" null
is 'instructions were counted' "$(json '.counts.thread_instructions > 0')" true
is 'the sandbox says what it is made of' "$(json '.sandbox | length > 2')" true
exits 'the PTX is kept' 0 "$CLI" show --part ptx "$ptx"
like 'as text' "$(head -n 20 "$TMP/out")" '\.version'
is 'a server-sent stream of a finished submission ends by itself' \
    "$(http GET "/v1/submissions/$ptx/events")" 200
like 'with its last state' "$(cat "$TMP/body")" '"state":"done"'

exits 'the board shows it' 0 "$CLI" board -p gemm -a sm_90a --workload small
like 'by its label' "$(cat "$TMP/out")" 'naive\.ptx'

exits 'it can be evaluated again' 0 "$CLI" rerun "$ptx"
exits 'and passes again' 0 "$CLI" watch --quiet "$ptx"
is 'as a second evaluation' "$(sql "SELECT count(*) FROM evaluations WHERE submission_id = '$ptx'")" 2
is 'both of whose results are kept' "$(sql "SELECT count(*) FROM results r JOIN evaluations e
    ON e.id = r.evaluation_id WHERE e.submission_id = '$ptx' AND r.verdict = 'PASSED'")" 2

# A kernel that is wrong is a job that succeeded.
sed 's/fma\.rn\.f32 .*/mul.rn.f32 %sum, %a, %b;/' "$EXAMPLES/naive.ptx" >"$TMP/wrong.ptx"
exits 'a wrong kernel has its own exit code' 2 \
    "$CLI" submit --wait -p gemm -a sm_90a -d cpu "$TMP/wrong.ptx"
like 'and verdict' "$(cat "$TMP/out")" '^INCORRECT_NUMERICAL'
sed 's/^\( *\)ret;/\1no_such_instruction;/' "$EXAMPLES/naive.ptx" >"$TMP/broken.ptx"
exits 'what does not compile has another' 3 \
    "$CLI" submit --wait -p gemm -a sm_90a -d cpu "$TMP/broken.ptx"

# What the device cpu does not execute yet is our failure, said in full.
sed 's/^\.version .*/.version 8.1/; s/^\( *\)ret;/\1multimem.red.relaxed.sys.global.add.u32 [%pc], 1;/' "$EXAMPLES/naive.ptx" >"$TMP/later.ptx"
exits 'an instruction that is not executed yet is our failure' 10 \
    "$CLI" submit --wait -p gemm -a sm_90a -d cpu "$TMP/later.ptx"
like 'which names the instruction and its line' "$(cat "$TMP/out")" \
    'unsupported_instruction: .* multimem\.red\.relaxed\.sys\.global\.add\.u32 at line [0-9]+ is not executed'

# A kernel that never ends, cancelled while it runs.
sed '/^loop:/a bra loop;' "$EXAMPLES/naive.ptx" >"$TMP/forever.ptx"
id=$("$CLI" submit --json -p gemm -a sm_90a -d cpu "$TMP/forever.ptx" | jq -r .id)
ok 'an endless kernel begins to run' wait_for 20 sh -c "'$CLI' show --json $id | grep -q '\"running\"'"
started=$(date +%s)
exits 'it can be cancelled' 0 "$CLI" cancel "$id"
exits 'and ends as CANCELLED' 11 "$CLI" watch --quiet --timeout 30 "$id"
ok 'within ten seconds' [ $(($(date +%s) - started)) -le 10 ]
is 'no child of it is left' "$(family "$WORKER_PID")" ''
passes naive.ptx
exits 'the database is sound' 0 "$CLI" fsck
done_testing
