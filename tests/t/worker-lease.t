#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Leases: killed, stopped and drained workers; cancelling what runs.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/worker-lib.sh"
db_start

fake_worker
id=$(submit 'sleep 20')
ok 'a job runs' wait_for 10 has_child "$id"
child=$(child_of "$id")
stop_child "$WORKER_PID" KILL
ok 'the child of a killed worker is dead within a second' wait_for 1 gone "$child"
is 'the job is still leased' "$(of "$id" state)" running
sql "UPDATE blobs SET data = 'pass', size = 4 WHERE kind = 'source'"
fake_worker
ok 'after the lease it is queued, and done by another' wait_for 15 done_soon "$id"
is 'in the second attempt' "$(job "$id" attempt)" 2
is 'the first is written down as lost' "$(sql 'SELECT outcome FROM job_attempts WHERE attempt = 1')" lost
stop_child "$WORKER_PID"

fake_worker
first=$WORKER_PID
id=$(submit 'sleep 4')
ok 'a job runs' wait_for 10 has_child "$id"
kill -STOP "$first"
fake_worker
again()
{
    hurry
    [ "$(job "$id" attempt)" = 2 ]
}
ok 'the job of a worker that stands still goes to another' wait_for 15 again
kill -CONT "$first"
ok 'it ends' wait_for 15 is_state "$id" done
is 'with the result of the second attempt' "$(of "$id" attempt)" 2
is 'and only that' "$(sql "SELECT count(*) FROM results r JOIN evaluations e ON e.id = r.evaluation_id
    WHERE e.submission_id = '$id'")" 1
like 'the first noticed' "$(cat "$TMP/worker.log")" 'lease lost'
stop_child "$first"

id=$(submit 'sleep 30')
ok 'a job runs' wait_for 10 has_child "$id"
child=$(child_of "$id")
begin=$(now_ms)
is 'cancelling what runs says so' "$(sql "SELECT submission_cancel('$id', 0) ->> 'cancelling'")" true
ok 'it is over' wait_for 5 is_state "$id" done
took=$(($(now_ms) - begin))
ok "within two seconds ($took ms)" test "$took" -lt 2000
is 'as CANCELLED' "$(of "$id" verdict)" CANCELLED
ok 'and its child is dead' gone "$child"

id=$(submit 'grandchild 30')
ok 'a job with a grandchild runs' wait_for 10 has_child "$id"
child=$(child_of "$id")
sql "SELECT submission_cancel('$id', 0)" >/dev/null
ok 'it is over' wait_for 5 is_state "$id" done
ok 'the grandchild is dead too' wait_for 2 gone "$child"

id=$(submit 'sleep 30')
ok 'a job runs' wait_for 10 has_child "$id"
child=$(child_of "$id")
kill -TERM "$WORKER_PID"
sleep 0.5
is 'one SIGTERM lets it go on' "$(of "$id" state)" running
kill -TERM "$WORKER_PID"
wait "$WORKER_PID"
is 'a second one ends the worker well' $? 0
is 'the job is given back' "$(of "$id" state)" queued
is 'at no cost of attempts' "$(job "$id" max_attempts)" 4
ok 'its child is dead' gone "$child"
# An event and the end of its attempt at the same time, both by hand.
sql "SELECT submission_cancel('$id', 0)" >/dev/null
id=$(submit pass)
job=$(sql "SELECT id FROM job_claim('by-hand:1:1', '{sm_90a/cpu}', '1 minute')")
sql "BEGIN; SELECT job_fail($job, 1, 'by hand'); SELECT pg_sleep(1); COMMIT" >/dev/null &
sleep 0.4
is 'an event cannot follow the end of its attempt' \
    "$(sql "SELECT job_event($job, 1, 'progress', '{}')")" f
wait $!
is 'whose end is the last word' "$(sql "SELECT data ->> 'state' FROM events WHERE topic = '$id'
    ORDER BY seq DESC LIMIT 1")" queued
is 'nothing is inconsistent but the source that was changed above' \
    "$(sql "SELECT fsck() ->> 'problems'")" '["1 blobs whose bytes do not have their SHA-256"]'
done_testing
