#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command line against a live server that has no worker: what is queued stays queued.
. "$(dirname "$0")/lib.sh"
CLI=$BIN/ptxbench
KERNEL=$ROOT/problems/gemm/examples/naive.ptx
db_start
server_start

exits 'a dry run of a good submission succeeds' 0 \
    "$CLI" submit --dry-run -p gemm -a sm_90a -d cpu "$KERNEL"
is 'and stores nothing' "$(sql 'SELECT count(*) FROM submissions')" 0
exits 'a submission with faults is refused' 1 "$CLI" submit -p gemn "$KERNEL"
like 'all of them are named: the missing architecture' "$(cat "$TMP/err")" '\$\.arch'
like 'and the unknown problem' "$(cat "$TMP/err")" 'gemn'
exits 'an empty source is refused' 1 "$CLI" submit -p gemm -a sm_90a /dev/null

exits 'a file can be submitted' 0 \
    "$CLI" submit -p gemm -a sm_90a -d cpu --label 'first try' --method hand --json "$KERNEL"
id=$(jq -r .id "$TMP/out")
exits 'standard input can be submitted, the rest from the environment' 0 \
    env PTXBENCH_PROBLEM=gemm PTXBENCH_ARCH=sm_90a "$CLI" submit -d cpu - <"$KERNEL"
printf '{"launches": []}' >"$TMP/plan.json"
exits 'a second plan beside the embedded one is refused' 1 \
    "$CLI" submit -p gemm -a sm_90a -d cpu --launch "$TMP/plan.json" "$KERNEL"

exits 'what has no verdict shows with a status of its own' 75 "$CLI" show "$id"
like 'and its place in the queue' "$(cat "$TMP/out")" 'position 1'
like 'and its label' "$(cat "$TMP/out")" 'first try'
"$CLI" show --part source "$id" >"$TMP/source" 2>"$TMP/err"
ok 'the source comes back byte for byte' cmp "$TMP/source" "$KERNEL"
exits 'an artefact that is not there yet is a failure' 1 "$CLI" show --part cubin "$id"
exits 'a part nobody knows is a failure' 1 "$CLI" show --part soul "$id"
exits 'an id nobody knows is a failure' 1 "$CLI" show 01234567-89ab-7def-8123-456789abcdef
exits 'the list shows it' 0 "$CLI" list --label 'first try'
like 'with its id' "$(cat "$TMP/out")" "$id"
exits 'the queue shows two jobs' 0 "$CLI" queue
like 'in the lane of the device' "$(cat "$TMP/out")" '^sm_90a/cpu +2 '
exits 'without a worker the list of workers says so' 0 "$CLI" workers
like 'in words' "$(cat "$TMP/out")" 'no worker'
exits 'an empty board is no failure' 0 "$CLI" board -p gemm -a sm_90a

started=$(date +%s)
exits 'watching ends when its time is up' 75 "$CLI" watch --timeout 2 "$id"
ok 'and not much later' [ $(($(date +%s) - started)) -le 6 ]
"$CLI" watch "$id" >"$TMP/watched" 2>&1 &
watcher=$!
sleep 0.5
exits 'a queued submission can be cancelled' 0 "$CLI" cancel "$id"
wait "$watcher"
is 'a watcher ends with the exit code of the verdict' $? 11
like 'and prints it' "$(cat "$TMP/watched")" '^CANCELLED'
exits 'it cannot be cancelled twice' 1 "$CLI" cancel "$id"
exits 'it can be evaluated again' 0 "$CLI" rerun "$id"
exits 'and waits once more' 75 "$CLI" show "$id"
exits 'but not a third time while the second waits' 1 "$CLI" rerun "$id"

umask 077
"$CLI" token create --owner ada >"$TMP/token"
exits 'a token from a file is used' 0 "$CLI" submit --token-file "$TMP/token" -p gemm -a sm_90a -d cpu \
    --visibility private --json "$KERNEL"
private=$(jq -r .id "$TMP/out")
like 'and names the owner' "$(cat "$TMP/out")" '"owner": "ada"'
exits 'others do not see what is private' 1 "$CLI" show "$private"
exits 'its owner does' 75 env PTXBENCH_TOKEN="$(cat "$TMP/token")" "$CLI" show "$private"
exits 'nobody else cancels it' 1 "$CLI" cancel "$private"
exits 'revoking works by the id that the list shows' 0 \
    "$CLI" token revoke "$("$CLI" token list --json | jq -r '.items[0].id')"
exits 'a revoked token is refused' 1 "$CLI" list --token-file "$TMP/token"
unlike 'without being shown' "$(cat "$TMP/out" "$TMP/err")" "$(cat "$TMP/token")"

stop_child "$SERVER_PID"
exits 'a server that is gone is a failure' 1 "$CLI" show "$id"
exits 'after all that the database is sound' 0 "$CLI" fsck
done_testing
