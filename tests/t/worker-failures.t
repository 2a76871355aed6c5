#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our machinery fails in every way it can: the job is retried, at the end its owner hears of it, and the
# next job is unharmed.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/worker-lib.sh"
db_start
fake_worker

# exhausts 'SOURCE' PATTERN SENTENCE
exhausts()
{
    ex_id=$(submit "$1")
    wait_for 20 done_soon "$ex_id"
    is "$3: INFRA_ERROR" "$(of "$ex_id" verdict)" INFRA_ERROR
    is "$3: after three attempts" "$(job "$ex_id" attempt)" 3
    like "$3: its owner is told why" "$(of "$ex_id" detail)" "$2"
    is "$3: there is a report" \
        "$(sql "SELECT convert_from(b.data, 'UTF8')::json ->> 'verdict' FROM results r JOIN evaluations e
            ON e.id = r.evaluation_id JOIN blobs b ON b.sha256 = r.report_sha WHERE e.submission_id = '$ex_id'")" \
        INFRA_ERROR
}

exhausts crash 'killed by signal 11' 'a crash of the evaluation'
exhausts leave 'status 7 and no report' 'an end without a report'
exhausts noise 'unknown kind' 'noise in place of frames'
exhausts empty 'without a verdict' 'a report without a verdict'
exhausts huge 'more than the limit' 'an artefact over the limit'
exhausts infra 'the disk is on fire' 'an evaluation that blames us'
is 'a retry is told as an event' \
    "$(sql "SELECT string_agg(data ->> 'state', ' ' ORDER BY seq) FROM events WHERE topic = '$ex_id'")" \
    'queued running queued running queued running done'

id=$(submit unsupported)
ok 'what is not supported yet is not tried again' wait_for 10 is_state "$id" done
is 'one attempt' "$(job "$id" attempt)" 1
like 'names the instruction' "$(of "$id" detail)" 'wgmma.fence, line 7'

id=$(submit 'sleep 30' 1)
sql "UPDATE jobs SET max_attempts = 1" >/dev/null
ok 'a job over its budget is ended' wait_for 10 is_state "$id" done
like 'and says so' "$(of "$id" detail)" 'took longer than 1 s'
ok 'its child is dead' gone "$(child_of "$id")"

id=$(submit pass)
ok 'the next one is unharmed' wait_for 10 is_state "$id" done
is 'by the same worker' "$(kill -0 "$WORKER_PID" && of "$id" verdict)" PASSED
is 'nothing is inconsistent' "$(sql "SELECT fsck() ->> 'problems'")" '[]'
done_testing
