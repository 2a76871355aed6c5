#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Waiting: ?wait=, event streams and where they resume, cancel, rerun. Nothing here polls.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/http-fake.sh"
db_start && server_start
fake_worker

seconds()
{
    perl -MTime::HiRes=time -e 'printf "%.2f\n", time'
}

# stream ID: follows the events in the background into $TMP/events; $TMP/ended appears at their end.
stream()
{
    rm -f "$TMP/ended"
    (
        curl -sSN --max-time 60 "$URL/v1/submissions/$1/events" >"$TMP/events" 2>&1
        : >"$TMP/ended"
    ) &
}

# metric LINE: is it in /metrics?
metric()
{
    curl -sS "$URL/metrics" | grep -qFx "$1"
}

# --- wait ---
(
    sleep 1
    fake_claim && fake_finish
    seconds >"$TMP/finished"
) &
post_ptx 'wait=30'
answered=$(seconds)
wait $!
is 'a POST that waits gets the verdict' "$STATUS $(json .state) $(json .verdict)" '201 done PASSED'
like 'within a second of its coming' "$(perl -e 'printf "%.2f", shift() - shift()' "$answered" "$(cat "$TMP/finished")")" '^-?0\.'
is 'with a report' "$(http GET "$(json .report)") $(json .verdict)" '200 PASSED'
is 'a GET that waits for something done answers at once' "$(http GET "/v1/submissions/$ID?wait=60" --max-time 5)" 200
post_ptx
started=$(seconds)
is 'a GET whose wait runs out is 202' "$(http GET "/v1/submissions/$ID?wait=1") $(json .state)" '202 queued'
like 'after that time' "$(perl -e 'printf "%.2f", shift() - shift()' "$(seconds)" "$started")" '^(0\.9|1\.)'
http GET "/v1/submissions/$ID" -H 'Accept: text/plain' >/dev/null
is 'text/plain is five lines' "$(wc -l <"$TMP/body")" 5
fake_claim && fake_finish

# --- many waits at once: no thread is held ---
post_ptx
many=$ID
yes "url = $URL/v1/submissions/$many?wait=30" | head -n 200 | sed 'a output = /dev/null' >"$TMP/urls"
curl -sS -Z --parallel-immediate --parallel-max 200 -K "$TMP/urls" -w '%{http_code}\n' >"$TMP/many" 2>/dev/null &
many_pid=$!
ok '200 requests wait at once' wait_for 20 metric 'ptxbench_http_parked_requests 200'
is 'and another is answered meanwhile' "$(http GET /v1/submissions --max-time 5)" 200
fake_claim && fake_finish
wait "$many_pid"
is 'all 200 get the verdict' "$(grep -c '^200' "$TMP/many")" 200

# --- events ---
post_ptx
stream "$ID"
fake_claim
fake_event stage '{"kind": "stage", "stage": "compile", "state": "started"}'
fake_event stage '{"kind": "stage", "stage": "compile", "state": "passed", "wall_ms": 12.3}'
ok 'events arrive while it runs' wait_for 10 grep -q '"wall_ms":12.3' "$TMP/events"
fake_finish
ok 'the stream ends by itself when it is done' wait_for 10 test -e "$TMP/ended"
is 'every event came once, in order' "$(sed -n 's/^id: //p' "$TMP/events" | tr '\n' ' ')" '1 2 3 4 5 '
like 'the last says done and the verdict' "$(tail -n 3 "$TMP/events")" '"state":"done".*"verdict":"PASSED"'
http GET "/v1/submissions/$ID/events" >/dev/null
like 'proxies are told not to buffer' "$(header x-accel-buffering)" '^no$'
like 'its type is an event stream' "$(header content-type)" '^text/event-stream'
is 'a stream that resumes gets what it missed' \
    "$(curl -sSN --max-time 5 -H 'Last-Event-ID: 3' "$URL/v1/submissions/$ID/events" | sed -n 's/^id: //p' | tr '\n' ' ')" '4 5 '
is 'with nothing to come it is 204, so that a browser stops' "$(http GET "/v1/submissions/$ID/events" -H 'Last-Event-ID: 5')" 204
sql "DELETE FROM events WHERE topic = '$ID' AND seq < 4"
curl -sSN --max-time 5 -H 'Last-Event-ID: 1' "$URL/v1/submissions/$ID/events" >"$TMP/events"
is 'older than retention: one reset' "$(grep -c '^event: reset' "$TMP/events") $(grep -c '^event:' "$TMP/events")" '1 1'
is 'with the whole state' "$(sed -n 's/^data: //p' "$TMP/events" | jq -r .verdict)" PASSED
is 'a number that never was: reset too' "$(curl -sSN --max-time 5 -H 'Last-Event-ID: 99' "$URL/v1/submissions/$ID/events" | grep -c '^event: reset')" 1
is 'a position that is no number is 400' "$(http GET "/v1/submissions/$ID/events" -H 'Last-Event-ID: x')" 400
is 'events of nothing are 404' "$(http GET /v1/submissions/01a22971-c52b-75bd-b28d-feb012af546b/events)" 404
is 'HEAD of a stream ends' "$(http HEAD "/v1/submissions/$ID/events" -I --max-time 5)" 200

# --- the LISTEN connection is cut: the hint is lost, the event is not ---
post_ptx
stream "$ID"
sleep 0.5
sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'ptxbench-server%'" >/dev/null
fake_claim && fake_finish
ok 'after every connection was cut the stream still ends' wait_for 20 test -e "$TMP/ended"
like 'with the verdict' "$(cat "$TMP/events")" '"state":"done"'
wait_for 10 curl -fsS "$URL/readyz"

# --- streams per address ---
post_ptx
yes "url = $URL/v1/submissions/$ID/events" | head -n 70 | sed 'a output = /dev/null' >"$TMP/urls"
curl -sS -Z --parallel-immediate --parallel-max 70 -K "$TMP/urls" --max-time 40 >/dev/null 2>&1 &
many_pid=$!
ok '64 streams of one address are open' wait_for 10 metric 'ptxbench_http_streams 64'
ok 'the other six are 503' wait_for 10 \
    metric 'ptxbench_http_requests_total{method="GET",route="/v1/submissions/:uuid/events",status="503"} 6'
kill "$many_pid"
wait "$many_pid" 2>/dev/null
ok 'streams whose clients left are noticed' wait_for 25 metric 'ptxbench_http_streams 0'

# --- cancel, rerun ---
is 'cancel of a queued one' "$(http POST "/v1/submissions/$ID/cancel") $(json .cancelling)" '200 false'
is 'it is done and cancelled' "$(http GET "/v1/submissions/$ID") $(json .verdict)" '200 CANCELLED'
is 'cancel of a done one is 409' "$(http POST "/v1/submissions/$ID/cancel") $(json .code)" '409 conflict'
is 'rerun is 202' "$(http POST "/v1/submissions/$ID/rerun") $(json .evaluation)" '202 2'
is 'rerun of an unfinished one is 409' "$(http POST "/v1/submissions/$ID/rerun")" 409
fake_claim
is 'cancel of a running one is 202' "$(http POST "/v1/submissions/$ID/cancel") $(json .cancelling)" '202 true'
sql "SELECT job_fail($JOB, $ATTEMPT, 'killed', false)" >/dev/null
is 'once the worker gave up it is cancelled' "$(http GET "/v1/submissions/$ID?wait=5") $(json .verdict)" '200 CANCELLED'
done_testing
