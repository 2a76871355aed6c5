# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For worker-*.t: workers whose evaluation is fake-evaluator.pl, submissions whose source says what it
# should do, short times.
LEASE_MS=2000
export PTXBENCH_LEASE_MS=$LEASE_MS PTXBENCH_BEAT_MS=250 PTXBENCH_POLL_MS=1000 PTXBENCH_REAP_MS=300

# fake_worker [OPTION…]: sets WORKER_PID.
fake_worker()
{
    worker_start --device cpu --evaluator "$T_DIR/fake-evaluator.pl" "$@"
}

# submit 'WORD ARGUMENT' [TIMEOUT_S]: prints the id.
submit()
{
    sql "SELECT id FROM submission_create(gen_random_uuid(), 0, '{\"problem\":\"gemm\"}', convert_to('$1', 'UTF8'),
        'gemm', 'small', 'sm_90a', 'cuda', 'cpu', 'rank', NULL, NULL, 'public', 1, ${2:-60}, 1000, NULL, NULL)"
}

# of ID COLUMN: of the submission with its newest evaluation and result.
of()
{
    sql "SELECT $2 FROM submission_rows WHERE id = '$1'"
}

# job ID COLUMN
job()
{
    sql "SELECT j.$2 FROM jobs j JOIN evaluations e ON e.id = j.subject_id WHERE e.submission_id = '$1'"
}

is_state()
{
    [ "$(of "$1" state)" = "$2" ]
}

# Retries would wait 5 s and longer.
hurry()
{
    sql "UPDATE jobs SET run_after = now() WHERE state = 'queued'; NOTIFY job_queued, 'sm_90a/cpu'"
}

# done_soon ID: hurries it to its end.
done_soon()
{
    hurry
    is_state "$1" done
}

# child_of ID: the process that the fake evaluation told of in its event.
child_of()
{
    sql "SELECT data ->> 'pid' FROM events WHERE topic = '$1' AND data ->> 'pid' IS NOT NULL ORDER BY seq DESC LIMIT 1"
}

has_child()
{
    [ -n "$(child_of "$1")" ]
}

now_ms()
{
    date +%s%3N
}
