#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Parts die in mid-job; the job still ends in one result, and the next one is unharmed.
. "$(dirname "$0")/../t/lib.sh"
CLI=$BIN/ptxbench
KERNEL=$ROOT/problems/gemm/examples/naive.ptx
# A worker that is gone is found out in three seconds, not in thirty.
export PTXBENCH_LEASE_MS=3000 PTXBENCH_BEAT_MS=500 PTXBENCH_REAP_MS=500
db_start
server_start
worker_start

submit()
{
    "$CLI" submit --json -p gemm -a sm_90a -d cpu "$KERNEL" | jq -r .id
}

# running ID: has a worker taken it?
running()
{
    [ "$(sql "SELECT state FROM submissions WHERE id = '$1'")" = running ]
}

has_family()
{
    [ -n "$(family "$1")" ]
}

# What became of the attempts so far: told when something is not as expected.
attempts()
{
    diag "$(sql 'SELECT attempt, outcome, error FROM job_attempts ORDER BY job_id, attempt')"
}

results()
{
    sql "SELECT count(*) FROM results r JOIN evaluations e ON e.id = r.evaluation_id
         WHERE e.submission_id = '$1'"
}

id=$(submit)
ok 'a job begins' wait_for 20 running "$id"
ok 'in processes of its own' wait_for 5 has_family "$WORKER_PID" || attempts
children=$(family "$WORKER_PID")
stop_child "$WORKER_PID" KILL
# shellcheck disable=SC2086 # one word a process
ok 'no process of a killed worker is left' wait_for 5 gone $children
worker_start
exits 'another worker finishes what a killed one held' 0 "$CLI" watch --quiet --timeout 120 "$id"
is 'with exactly one result' "$(results "$id")" 1
is 'of a later attempt' "$(sql "SELECT max(attempt) > 1 FROM results r JOIN evaluations e
    ON e.id = r.evaluation_id WHERE e.submission_id = '$id'")" t

id=$(submit)
ok 'a job begins' wait_for 20 running "$id"
ok 'in processes of its own' wait_for 5 has_family "$WORKER_PID" || attempts
kill -KILL "$(family "$WORKER_PID" | tail -n 1)"
exits 'a killed child is our failure and tried again' 0 "$CLI" watch --quiet --timeout 120 "$id"
is 'the failure is written down' "$(sql "SELECT count(*) FROM job_attempts a JOIN jobs j ON j.id = a.job_id
    JOIN evaluations e ON e.id = j.subject_id WHERE e.submission_id = '$id' AND a.outcome = 'failed'")" 1

id=$(submit)
ok 'a job begins' wait_for 20 running "$id"
stop_child "$SERVER_PID" KILL
server_start
exits 'a killed server does not harm a job' 0 "$CLI" watch --quiet --timeout 120 "$id"

id=$(submit)
ok 'a job begins' wait_for 20 running "$id"
pg_restart
# The worker may end on the lost connection, as ./dev up would then start it again.
sleep 1
kill -0 "$WORKER_PID" 2>/dev/null || worker_start
exits 'a database that was restarted does not harm a job' 0 "$CLI" watch --quiet --timeout 120 "$id"
is 'with exactly one result' "$(results "$id")" 1

id=$(submit)
ok 'a job begins' wait_for 20 running "$id"
pg_restart QUIT
sleep 1
kill -0 "$WORKER_PID" 2>/dev/null || worker_start
exits 'nor does one that crashed' 0 "$CLI" watch --quiet --timeout 120 "$id"

id=$(submit)
ok 'a job begins' wait_for 20 running "$id"
kill -TERM "$WORKER_PID"
wait "$WORKER_PID" 2>/dev/null
ok 'a worker that is asked to stop leaves its job done or queued' \
    sh -c "'$CLI' show --json $id | grep -qE '\"state\": \"(done|queued)\"'"
worker_start
exits 'and the job ends well' 0 "$CLI" watch --quiet --timeout 120 "$id"
exits 'the database is sound' 0 "$CLI" fsck
done_testing
