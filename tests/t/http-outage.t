#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The database goes and comes back; the server is told to stop in the middle of things; a port is taken.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/http-fake.sh"
db_start && server_start
fake_worker
post_ptx
curl -sSN --max-time 60 "$URL/v1/submissions/$ID/events" >"$TMP/events" 2>&1 &
stream=$!
wait_for 10 grep -q queued "$TMP/events"

# --- the database is away ---
pg_stop
is 'database away: 503' "$(http GET /v1/submissions --max-time 10) $(json .code)" '503 database_unavailable'
like 'with a time to come back' "$(header retry-after)" '^[0-9]+$'
is 'not ready' "$(http GET /readyz --max-time 10)" 503
is 'but alive' "$(http GET /healthz)" 200
is 'the catalog needs no database' "$(http GET /v1/problems)" 200
is 'nor does the page' "$(http GET /)" 200
is 'metrics say that it is away' "$(http GET /metrics --max-time 10) $(grep ^ptxbench_db_up "$TMP/body")" '200 ptxbench_db_up 0'
is 'a submission is refused, not lost' "$(http POST "/v1/submissions?$PTX_QUERY" --data-binary "@$PTX_FILE" --max-time 10)" 503
pg_start
ready()
{
    [ "$(curl -sS -o /dev/null -w '%{http_code}' "$URL/readyz")" = 200 ]
}
ok 'it is ready again by itself' wait_for 20 ready
post_ptx
is 'and takes submissions' "$STATUS" 202
ok 'the stream outlived it' kill -0 "$stream"
fake_claim && fake_finish
ok 'and gets the end' wait_for 20 grep -q '"state":"done"' "$TMP/events"
wait "$stream"
fake_claim && fake_finish

# --- drain ---
post_ptx
yes "url = $URL/v1/submissions/$ID?wait=60" | head -n 50 | sed 'a output = /dev/null' >"$TMP/urls"
curl -sS -Z --parallel-immediate --parallel-max 50 -K "$TMP/urls" -w '%{http_code}\n' >"$TMP/waits" 2>"$TMP/waits.err" &
waits=$!
curl -sSN --max-time 60 "$URL/v1/submissions/$ID/events" >"$TMP/events" 2>&1 &
stream=$!
parked()
{
    [ "$(curl -sS "$URL/metrics" | sed -n 's/^ptxbench_http_parked_requests //p')" = 50 ]
}
wait_for 20 parked
wait_for 10 grep -q queued "$TMP/events"
yes "url = $URL/v1/submissions" | head -n 3000 | sed 'a output = /dev/null' >"$TMP/urls2"
curl -sS -Z --parallel-max 8 -K "$TMP/urls2" -w '%{http_code}\n' >"$TMP/load" 2>/dev/null &
load=$!
sleep 0.5
kill -TERM "$SERVER_PID"
started=$(date +%s)
server_status=0
wait "$SERVER_PID" || server_status=$?
is 'SIGTERM under load: exit status 0' "$server_status" 0
like 'within five seconds' "$(($(date +%s) - started))" '^[0-6]$'
wait "$waits" "$stream" "$load" 2>/dev/null
is 'every request that waited got its answer' "$(grep -c '^202' "$TMP/waits")" 50
like 'streams hear bye, and when to come back' "$(cat "$TMP/events")" '^event: bye'
is 'requests of the load were answered, refused as draining, or not begun' "$(grep -vcE '^(200|503|000)$' "$TMP/load")" 0
unlike 'nothing was found by the sanitizers' "$(cat "$TMP/server.log")" 'ERROR: |runtime error|WARNING: ThreadSanitizer'

# --- start-up ---
server_start
exits 'a port that is taken is an error' 1 "$BIN/ptxbench-server" --database "$DATABASE" --port "$PORT"
like 'that names the option' "$(cat "$TMP/err")" 'port-search'
"$BIN/ptxbench-server" --database "$DATABASE" --port "$PORT" --port-search >"$TMP/second" 2>>"$TMP/server.log" &
second=$!
T_CHILDREN="$T_CHILDREN $second "
ok 'with --port-search it takes the next' wait_for 20 grep -q '^LISTENING http://127.0.0.1:' "$TMP/second"
is 'and says where' "$(curl -sS -o /dev/null -w '%{http_code}' "$(sed -n 's/^LISTENING //p' "$TMP/second")/healthz")" 200
exits 'an unknown option is an error' 2 "$BIN/ptxbench-server" --prot 1
exits 'a number that is none is an error' 2 "$BIN/ptxbench-server" --port x
sql "UPDATE schema_migrations SET version = version + 1000" 2>/dev/null
exits 'a database of another version is an error' 1 timeout 20 "$BIN/ptxbench-server" --database "$DATABASE" --port 0
like 'that says so' "$(cat "$TMP/err")" 'schema|migrat|newer'
done_testing
