#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How much HTTP one server process bears on this machine, with a throw-away PostgreSQL (fsync off) beside it:
# http.submissions_per_s   POST of the bare example, validated, stored, queued; 16 connections
# http.board_per_s         GET of a board of 1,000 entries; 16 connections
# Prints one JSON object a line for tests/bench/results/http.jsonl. Needs wrk; PTXBENCH_BIN names a release build.
#   usage: tests/bench/http.sh [SECONDS]
SECONDS_EACH=${1:-10}
. "$(dirname "$0")/../t/lib.sh"
. "$ROOT/tests/t/http-fake.sh"
command -v wrk >/dev/null || bail 'wrk is not installed (apt-get install wrk)'
db_start && server_start --queued-limit 1000000
fake_worker

# 1,000 timed submissions of as many labels, put where results are.
sql "
DO \$\$ DECLARE i int; BEGIN
    FOR i IN 1 .. 1000 LOOP
        PERFORM submission_create(gen_random_uuid(), 0, '{}', convert_to('source ' || i, 'UTF8'), 'gemm', 'small', 'sm_90a',
                                  'ptx', 'cpu', 'rank', 'label ' || i, NULL, 'public', 1, 300, 1000000, NULL, NULL);
    END LOOP;
END \$\$;
DO \$\$ DECLARE j record; BEGIN
    LOOP
        SELECT * INTO j FROM job_claim_evaluation('fake', '{sm_90a/cpu}', interval '1 hour');
        EXIT WHEN NOT FOUND;
        PERFORM result_deliver(j.id, j.attempt, json_build_object('verdict', 'PASSED', 'flags', 0, 'epoch', 1,
            'device_model', 'ptxvm', 'speedup', 1 + random(), 'ci_lo', 1, 'ci_hi', 2, 'cand_us', 10, 'base_us', 15,
            'report_sha', result_blob(j.id, j.attempt, 'report', '{}')::text), false, false);
    END LOOP;
END \$\$;
ANALYZE" >/dev/null || bail 'cannot fill the board'

cat >"$TMP/post.lua" <<LUA
local f = io.open("$PTX_FILE", "rb")
wrk.method = "POST"
wrk.body = f:read("a")
wrk.headers["Content-Type"] = "text/plain"
LUA

# measure NAME PATH [WRK OPTION…]
measure()
{
    me_name=$1 me_path=$2
    shift 2
    wrk -t2 -c16 -d"${SECONDS_EACH}s" "$@" "$URL$me_path" >"$TMP/wrk" || bail 'wrk failed'
    grep -q 'Non-2xx' "$TMP/wrk" && bail "$me_name: $(grep 'Non-2xx' "$TMP/wrk")"
    me_value=$(sed -n 's/^Requests\/sec: *//p' "$TMP/wrk")
    printf '{"date": "%s", "commit": "%s", "device": "%s", "driver": null, "command": "tests/bench/http.sh %s", "name": "%s", "value": %s, "unit": "1/s"}\n' \
        "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(git -C "$ROOT" rev-parse --short HEAD)" \
        "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$SECONDS_EACH" "$me_name" "$me_value"
}

measure http.board_per_s '/v1/leaderboard?problem=gemm&arch=sm_90a&device=cpu'
measure http.submissions_per_s "/v1/submissions?$PTX_QUERY" -s "$TMP/post.lua"
T_DONE=1
