#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From POST to verdict on an idle service with one worker for the device cpu, as a client sees it: the
# median of five. Prints
# post_to_verdict_seconds.cpu.naive, .tiled and .naive_ptx.
. "$(dirname "$0")/../t/lib.sh"
db_start
server_start
worker_start

# measure EXAMPLE
measure()
{
    for _ in 1 2 3 4 5; do
        curl -sS --max-time 90 -o "$TMP/body" -w '%{time_total}\n' --data-binary "@$ROOT/problems/gemm/examples/$1" \
            "$URL/v1/submissions?problem=gemm&arch=sm_90a&device=cpu&wait=60"
        [ "$(json .verdict)" = PASSED ] || bail "$1: $(cat "$TMP/body")"
    done | sort -n | sed -n 3p
}

for example in naive.ptx naive.cu tiled.cu; do
    if [ "$example" != naive.ptx ] && ! "$BIN/ptxbench" version --json | jq -e .nvrtc >/dev/null; then
        continue
    fi
    name=${example%.cu}
    printf 'post_to_verdict_seconds.cpu.%s %s s\n' "$(echo "$name" | tr . _)" "$(measure "$example")"
done
T_DONE=1
