#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The database goes away: nothing is lost, and the worker needs nobody to start it again.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/worker-lib.sh"
db_start
fake_worker

id=$(submit 'sleep 5')
ok 'a job runs' wait_for 10 has_child "$id"
child=$(child_of "$id")
pg_restart
ok 'a worker that loses its database drops its child' wait_for 5 gone "$child"
ok 'and does the job again after the lease' wait_for 30 done_soon "$id"
is 'once' "$(of "$id" verdict)" PASSED
ok 'in the same process' kill -0 "$WORKER_PID"

pg_stop QUIT
sleep 1
pg_start
id=$(submit 'pass')
ok 'after a crash of the database it works on' wait_for 20 is_state "$id" done

pg_stop
sleep 0.5
kill -TERM "$WORKER_PID"
wait "$WORKER_PID"
is 'a worker without a database still ends on SIGTERM' $? 0
pg_start
is 'nothing is inconsistent' "$(sql "SELECT fsck() ->> 'problems'")" '[]'
done_testing
