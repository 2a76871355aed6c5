#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How a worker of a GPU keeps its keeper running, and what the service tells of it. The keeper is a fake, the
# evaluation too.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/worker-lib.sh"
. "$T_DIR/gpu-lib.sh"
db_start
server_start

gpu_worker()
{
    worker_start --device cuda:0 --evaluator "$T_DIR/fake-evaluator.pl"
}

# submit_gpu 'WORD ARGUMENT' [DEVICE]: prints the id.
submit_gpu()
{
    sql "SELECT id FROM submission_create(gen_random_uuid(), 0, '{\"problem\":\"gemm\"}', convert_to('$1', 'UTF8'),
        'gemm', 'small', 'sm_90a', 'cuda', '${2:-gpu}', 'rank', NULL, NULL, 'public', 1, 60, 1000, NULL, NULL)"
}

exits 'a device without an index is refused' 64 "$BIN/ptxbench-worker" --database "$DATABASE" --device cuda:
exits 'nor is there one with a word for it' 64 "$BIN/ptxbench-worker" --database "$DATABASE" --device cuda:x

keeper_acts start failed
id=$(submit_gpu pass)
gpu_worker
ok 'a worker shows up even if its keeper fails' wait_for 10 sh -c "curl -fsS $URL/v1/workers | grep -q CUDA"
is 'its device is out' "$(device device_state)" out
is 'with the reason' "$(device device_detail)" 'cannot load the CUDA driver'
like 'which the command line shows' "$("$BIN/ptxbench" workers)" 'cuda:0 .* out .* cannot load the CUDA driver'
is 'so it is not healthy' "$(device healthy)" false
is 'the lane is paused' "$(lane sm_90a/gpu)" paused
is 'and the job waits' "$(of "$id" state)" queued
http GET "/v1/submissions/$id" -H 'Accept: text/plain' >/dev/null
like 'which a reader is told' "$(cat "$TMP/body")" 'no worker serves sm_90a/gpu'
ok 'the keeper is tried again' wait_for 10 sh -c "[ \$(grep -c start '$FAKE/keeper.log') -ge 3 ]"

keeper_acts start
ok 'once there is one, the lane is served' wait_for 20 lane_is sm_90a/gpu served
ok 'and the job done' wait_for 10 is_state "$id" done
is 'the device has a name' "$(device device_model)" 'NVIDIA H200'
is 'and an id' "$(device device_uuid)" GPU-00000000-fake
is 'lanes are those of its architecture' "$(device 'lanes | join(" ")')" 'sm_90a/gpu sm_90a/h200'
is 'its health is told' "$(device health.temperature_c)" 41
is 'with what slows it down' "$(device 'health.throttle[0]')" sw_power_cap
like 'also to Prometheus' "$(curl -fsS "$URL/metrics")" \
    '^ptxbench_device_temperature_celsius.*"GPU-00000000-fake".* 41$'

id=$(submit_gpu keeper h200)
ok 'a job for the model is taken' wait_for 10 is_state "$id" done
is 'with a connection to the keeper' "$(of "$id" detail)" connected
is 'the result says on which device' "$(sql "SELECT DISTINCT device_uuid FROM results WHERE device_uuid IS NOT NULL")" \
    GPU-00000000-fake

# While one job is on the device, the next is compiled; no more than that.
running()
{
    sql "SELECT count(*) FROM jobs WHERE state = 'running'"
}
running_is()
{
    [ "$(running)" = "$1" ]
}
one=$(submit_gpu 'sleep 4')
two=$(submit_gpu 'sleep 2')
three=$(submit_gpu pass)
ok 'a second job is taken while the first has the device' wait_for 5 running_is 2
sleep 1
is 'a third is not' "$(of "$three" state)" queued
is 'the worker shows the first' "$(device job.submission)" "$one"
exits 'the second can be cancelled' 0 "$BIN/ptxbench" cancel "$two"
ok 'and is at once' wait_for 3 is_state "$two" done
ok 'so that the third takes its place' wait_for 3 is_state "$three" done
is 'before the first has ended' "$(of "$one" state)" running
ok 'which it does' wait_for 5 is_state "$one" done
is 'unharmed' "$(of "$one" verdict)" PASSED

before=$(keepers)
kill -KILL "$before"
new_keeper()
{
    [ -n "$(keepers)" ] && [ "$(keepers)" != "$before" ]
}
ok 'a keeper that is killed is started again' wait_for 20 new_keeper
ok 'and serves' wait_for 20 lane_is sm_90a/gpu served

before=$(keepers)
id=$(submit_gpu blame)
sql "UPDATE jobs SET max_attempts = 99 WHERE finished_at IS NULL"
# It may be there for 70 ms only, since the job is tried again and takes it down too.
ok 'a keeper that failed in a job is replaced' wait_for 90 new_keeper
like 'the job is tried again' "$(job "$id" state)" 'queued|running'
is 'and has no verdict' "$(of "$id" verdict)" ''
exits 'until it is cancelled' 0 "$BIN/ptxbench" cancel "$id"
ok 'and over' wait_for 10 is_state "$id" done

# The job may have cost a second or third keeper before it was cancelled: the pause after each doubles, to 32 s.
ok 'the new one serves' wait_for 60 lane_is sm_90a/gpu served
children=$(family "$WORKER_PID")
stop_child "$WORKER_PID" KILL
# shellcheck disable=SC2086 # one word a process
ok 'a killed worker takes its keeper with it' wait_for 5 gone $children
ok 'its lane is paused once its lease is over' wait_for 10 lane_is sm_90a/gpu paused
gpu_worker
ok 'another worker serves it' wait_for 20 lane_is sm_90a/gpu served
kill -TERM "$WORKER_PID"
wait "$WORKER_PID"
is 'SIGTERM ends it well' $? 0
submit_gpu pass >/dev/null
ok 'and the lane is paused' wait_for 10 lane_is sm_90a/gpu paused
done_testing
