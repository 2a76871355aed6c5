#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a worker does with jobs that go well.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/worker-lib.sh"
db_start

exits 'a worker without a database is told what it needs' 64 "$BIN/ptxbench-worker" --database ''  --device nothing
like 'and which device it cannot serve' "$(cat "$TMP/err")" 'cannot serve device nothing'
exits 'a lease shorter than two heartbeats is refused' 64 \
    "$BIN/ptxbench-worker" --database "$DATABASE" --lease-ms 300 --beat-ms 200
exits 'a number that is none is refused' 64 "$BIN/ptxbench-worker" --database "$DATABASE" --poll-ms 5x

PTXBENCH_POLL_MS=60000 fake_worker
ok 'a worker is registered' wait_for 10 test -n "$(sleep 1; sql "SELECT name FROM workers WHERE stopped_at IS NULL")"
is 'with a lane for each architecture' "$(sql 'SELECT lanes FROM workers')" '{sm_90a/cpu,sm_100a/cpu}'
is 'and its device' "$(sql 'SELECT uuid LIKE '"'cpu:%'"' AND model = '"'ptxvm'"' FROM devices')" t

begin=$(now_ms)
id=$(submit 'pass')
ok 'a job is done' wait_for 10 is_state "$id" done
took=$(($(now_ms) - begin))
ok "a notification wakes an idle worker ($took ms, its next poll was a minute away)" test "$took" -lt 3000
is 'the verdict is the report'"'"'s' "$(of "$id" verdict)" PASSED
is 'the stages of its life were told in order' \
    "$(sql "SELECT string_agg(data ->> 'state', ' ' ORDER BY seq) FROM events WHERE topic = '$id'")" \
    'queued running done'
is 'artefacts are kept' "$(sql 'SELECT ptx_sha IS NOT NULL AND log_sha IS NOT NULL AND cubin_sha IS NULL FROM results')" t

id=$(submit 'events 600')
ok 'a job with many events is done' wait_for 20 is_state "$id" done
is 'but no more than 500 are kept' "$(sql "SELECT count(*) FROM events WHERE topic = '$id' AND kind = 'progress'")" 500

id=$(submit 'big')
ok 'a cubin of 12 MiB is delivered' wait_for 20 is_state "$id" done
is 'whole' "$(sql "SELECT size FROM blobs WHERE kind = 'cubin'")" 12582912

id=$(submit 'secret')
ok 'a job is done' wait_for 10 is_state "$id" done
unlike 'the evaluation does not see how to reach the database' "$(of "$id" detail)" 'DATABASE|PG'

for _ in 1 2 3 4 5; do submit pass >/dev/null; done
none_left()
{
    [ "$(sql "SELECT count(*) FROM submissions WHERE state <> 'done'")" = 0 ]
}
ok 'a backlog is worked off without waiting for polls' wait_for 10 none_left

id=$(submit 'sleep 2')
ok 'a job runs' wait_for 10 has_child "$id"
second=$(submit 'pass')
kill -TERM "$WORKER_PID"
wait "$WORKER_PID"
is 'SIGTERM ends a worker well' $? 0
is 'after the job in hand' "$(of "$id" verdict)" PASSED
is 'but takes no other' "$(of "$second" state)" queued
is 'and signs off' "$(sql 'SELECT count(*) FROM workers WHERE stopped_at IS NULL')" 0
exits 'a worker can end by itself once nothing is queued' 0 "$BIN/ptxbench-worker" --database "$DATABASE" \
    --evaluator "$T_DIR/fake-evaluator.pl" --exit-when-idle
is 'having done it' "$(of "$second" verdict)" PASSED

sql "INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, 'future', '')"
exits 'a worker refuses a newer schema' 1 "$BIN/ptxbench-worker" --database "$DATABASE"
like 'and says so' "$(cat "$TMP/err")" 'the database has schema 9999'
done_testing
