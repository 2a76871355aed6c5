#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The server takes back what a lost worker held, when no worker is there to do so.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/http-fake.sh"
db_start && server_start --lease-ms 500 --reap-ms 200

state()
{
    sql "SELECT state FROM submissions WHERE id = '$ID'"
}

is_state()
{
    [ "$(state)" = "$1" ]
}

fake_worker
post_ptx
sql "SELECT job_claim_evaluation('ghost', '{sm_90a/cpu}', interval '600 ms')" >/dev/null
is 'a worker claims and falls silent' "$(state)" running
ok 'its job is queued again without any worker' wait_for 10 is_state queued
is 'and says why' "$(sql "SELECT error FROM jobs")" 'worker ghost lost: lease expired'
is 'the attempt is on record' "$(sql 'SELECT outcome FROM job_attempts')" lost
done_testing
