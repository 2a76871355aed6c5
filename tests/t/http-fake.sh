# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For the http-*.t tests: a worker that is played with the queue's own SQL functions, so that these tests
# need neither a compiler nor a device. Source it after lib.sh.

PTX_QUERY='problem=gemm&arch=sm_90a&device=cpu'
PTX_FILE="$ROOT/problems/gemm/examples/naive.ptx"

# post_ptx [QUERY]: submits the example; sets ID, and STATUS of the answer.
post_ptx()
{
    STATUS=$(http POST "/v1/submissions?$PTX_QUERY${1:+&$1}" --data-binary "@$PTX_FILE")
    ID=$(json .id)
}

# Registers a healthy worker of a lane, so that lanes are not reported as paused.
fake_worker()
{
    sql "SELECT worker_start('fake', 'host', 'cpu', 'u-1', 'ptxvm', NULL, '{sm_90a/cpu}', interval '1 hour')" >/dev/null
}

# Claims the next job; sets JOB and ATTEMPT.
fake_claim()
{
    fc_row=$(sql "SELECT id, attempt FROM job_claim_evaluation('fake', '{sm_90a/cpu}', interval '1 hour')")
    JOB=${fc_row%|*} ATTEMPT=${fc_row#*|}
}

# fake_event KIND JSON
fake_event()
{
    sql "SELECT job_event($JOB, $ATTEMPT, '$1', '$2')" >/dev/null
}

# fake_finish [COLUMNS]: delivers a result; COLUMNS is JSON of columns of `results` that replaces defaults.
fake_finish()
{
    sql "
    WITH report AS (SELECT result_blob($JOB, $ATTEMPT, 'report', '{\"schema\": 1, \"verdict\": \"PASSED\", \"stages\": []}') AS sha),
         ptx AS (SELECT result_blob($JOB, $ATTEMPT, 'ptx', '// made up') AS sha)
    SELECT result_deliver($JOB, $ATTEMPT, (jsonb_build_object('verdict', 'PASSED', 'flags', 0, 'epoch', 1,
               'device_model', 'ptxvm', 'thread_instructions', 1000, 'wall_ms', 12.5,
               'report_sha', report.sha::text, 'ptx_sha', ptx.sha::text) || '${1:-{\}}'::jsonb)::json, false, false)
      FROM report, ptx" >/dev/null
}
