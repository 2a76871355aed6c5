#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole path on a GPU, of which only the keeper is a fake: POST, queue, worker, result, board.
. "$(dirname "$0")/../t/lib.sh"
. "$ROOT/tests/t/gpu-lib.sh"
CLI=$BIN/ptxbench
KERNEL=$ROOT/problems/gemm/examples/naive.ptx
Q='problem=gemm&arch=sm_90a'
[ "$("$CLI" version --json | jq -r .ptxas)" != null ] || skip_all 'there is no assembler'
export PTXBENCH_LEASE_MS=5000 PTXBENCH_BEAT_MS=500 PTXBENCH_REAP_MS=500
db_start
server_start
worker_start --device cuda:0

# timed LABEL 'VALUE LOW HIGH': posts a kernel that is so fast.
timed()
{
    printf '%s\n' "$2" >"$FAKE/keeper.speedup"
    http POST "/v1/submissions?$Q&wait=60&label=$1" --data-binary "@$KERNEL" >/dev/null
    is "$1 is PASSED" "$(json .verdict)" PASSED || diag "$(cat "$TMP/body")"
    id=$(json .id)
}

timed fast '1.25 1.24 1.26'
is 'it has a speedup' "$(json .speedup.value)" 1.25
is 'with its interval' "$(json '.speedup.ci95 | join(" ")')" '1.24 1.26'
is 'over a baseline' "$(json .baseline.name)" cuBLAS
is 'and a time' "$(json .candidate_us)" 640
is 'target instructions were executed' "$(json .target.executed)" true
is 'it ran on the device' "$(json .device_model)" 'NVIDIA H200'
is 'it is first' "$(json .rank)" 1
is 'the default workload is the paper'"'"'s' "$(json .workload)" m8192_n7168_k5120
http GET "/v1/submissions/$id" -H 'Accept: text/plain' >/dev/null
like 'readers of text see it too' "$(cat "$TMP/body")" '^speedup: 1\.250 \[1\.240, 1\.260\] over cuBLAS 13\.1\.0, 640\.00 us$'

http GET "/v1/submissions/$id/report" >/dev/null
cp "$TMP/body" "$TMP/service.json"
is 'every stage ran' "$(json '[.stages[].state] | unique | join(" ")')" passed
is 'the report says how it was timed' "$(json .timing.blocks)" 32
is 'and where' "$(json .environment.uuid)" GPU-00000000-fake
is 'the sanitizer ran the small workload' "$(json .sanitize.workload)" small
is 'and found nothing' "$(json '.sanitize.findings | length')" 0
exits 'ptxbench eval gives the same verdict' 0 "$CLI" eval --device cuda:0 --json "$KERNEL"
is 'in a report of the same shape' "$(jq -c 'del(.id) | paths | map(if type == "number" then 0 else . end)' "$TMP/out" | sort -u)" \
    "$(jq -c 'del(.id) | paths | map(if type == "number" then 0 else . end)' "$TMP/service.json" | sort -u)"
exits 'which it can also show' 0 "$CLI" eval --device gpu "$KERNEL"
like 'with the speedup' "$(cat "$TMP/out")" 'speedup +1\.250 \[1\.240, 1\.260\] over cuBLAS 13\.1\.0'
keeper_acts start failed
exits 'mode compile needs no keeper' 0 "$CLI" eval --device cuda:0 --mode compile "$KERNEL"
exits 'any other mode is our failure' 10 "$CLI" eval --device cuda:0 --mode check "$KERNEL"
like 'with the keeper'"'"'s own words' "$(cat "$TMP/out")" 'cannot load the CUDA driver'
keeper_acts start

timed close '1.245 1.235 1.255'
is 'who cannot be told apart from the first shares the rank' "$(json .rank)" 1
timed slow '0.8 0.79 0.81'
is 'who can does not' "$(json .rank)" 3
exits 'the board shows them' 0 "$CLI" board -p gemm -a sm_90a --device h200
like 'with the time of the fast one' "$(cat "$TMP/out")" '^ *1 +1\.25[0]* +1\.24[0]*,1\.26[0]* +640 .* fast '
like 'and the slow one last' "$(tail -n 1 "$TMP/out")" '^ *3 +0\.8[0]* .* slow '

# submit: prints the id.
submit()
{
    "$CLI" submit --json -p gemm -a sm_90a -d gpu "$KERNEL" | jq -r .id
}

attempts()
{
    sql "SELECT string_agg(a.outcome, ' ' ORDER BY a.attempt) FROM job_attempts a JOIN jobs j ON j.id = a.job_id
         JOIN evaluations e ON e.id = j.subject_id WHERE e.submission_id = '$1'"
}

keeper_acts time slow
one=$(submit)
two=$(submit)
exits 'of two jobs at a time the first passes' 0 "$CLI" watch --quiet --timeout 60 "$one"
exits 'and the second' 0 "$CLI" watch --quiet --timeout 60 "$two"
is 'which was compiled meanwhile' "$(sql "SELECT b.started_at < a.finished_at FROM jobs a, jobs b
    WHERE a.subject_id = (SELECT id FROM evaluations WHERE submission_id = '$one')
      AND b.subject_id = (SELECT id FROM evaluations WHERE submission_id = '$two')")" t
keeper_acts time

keeper_acts time 'die once'
id=$(submit)
exits 'a keeper that dies in a job costs an attempt, not the submission' 0 "$CLI" watch --quiet --timeout 60 "$id"
is 'of two' "$(attempts "$id")" 'failed succeeded'
keeper_acts check 'hang'
id=$(submit)
ok 'a job reaches the keeper' wait_for 20 sh -c "tail -n 1 '$FAKE/keeper.log' | grep -q check"
keeper_acts check
kill -KILL "$(keepers)"
exits 'nor does one that is killed' 0 "$CLI" watch --quiet --timeout 60 "$id"
is 'of two' "$(attempts "$id")" 'failed succeeded'

keeper_acts check 'hang'
id=$(submit)
ok 'a job reaches the keeper' wait_for 20 sh -c "tail -n 1 '$FAKE/keeper.log' | grep -q check"
exits 'it can be cancelled there' 0 "$CLI" cancel "$id"
exits 'and ends as CANCELLED' 11 "$CLI" watch --quiet --timeout 30 "$id"
keeper_acts check 'wrong'
kill -KILL "$(keepers)" # the fake does not hear that a connection closed; a keeper does
exits 'a wrong kernel is wrong' 2 "$CLI" submit --wait -p gemm -a sm_90a -d gpu "$KERNEL"
like 'for the keeper'"'"'s reason' "$(cat "$TMP/out")" '7 of 64 elements are wrong'
exits 'the database is sound' 0 "$CLI" fsck
done_testing
