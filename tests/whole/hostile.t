#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What floods of output get through the whole path: a verdict at the first attempt, and the next is unharmed.
. "$(dirname "$0")/../t/lib.sh"
CLI=$BIN/ptxbench
EXAMPLES=$ROOT/problems/gemm/examples
Q='problem=gemm&arch=sm_90a&device=cpu'
[ "$("$CLI" version --json | jq -r .nvrtc)" != null ] || skip_all 'NVRTC is not installed'
db_start
server_start
worker_start

# ends FILE VERDICT
ends()
{
    http POST "/v1/submissions?$Q&wait=60" --data-binary "@$1" >/dev/null
    is "$(basename "$1") ends in $2" "$(json .verdict)" "$2" || diag "$(cat "$TMP/body")"
    id=$(json .id)
    is 'at the first attempt' "$(json .evaluation.attempt)" 1 ||
        diag "$(sql "SELECT a.* FROM job_attempts a JOIN jobs j ON j.id = a.job_id
            JOIN evaluations e ON e.id = j.subject_id WHERE e.submission_id = '$id' ORDER BY attempt")"
}

ends "$ROOT/tests/exploits/cpu/printf_flood.cu" PASSED
is 'what it printed is kept' "$(http GET "/v1/submissions/$id/log")" 200
ok 'up to the limit' [ "$(wc -c <"$TMP/body")" -gt 65000 ]
ok 'and not beyond' [ "$(wc -c <"$TMP/body")" -le 132096 ]
is 'no event has more digits than were measured' "$(sql "SELECT count(*) FROM events
    WHERE topic = '$id' AND data->>'wall_ms' ~ '\\.[0-9]{4}'")" 0
ends "$EXAMPLES/naive.cu" PASSED
done_testing
