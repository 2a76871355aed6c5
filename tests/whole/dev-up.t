#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev up, down, status, reset, in a state folder of its own.
. "$(dirname "$0")/../t/lib.sh"
case $BUILD in */release) ;; *) skip_all 'tried with the release build only, which ./dev up makes' ;; esac
unset PTXBENCH_BIN PTXBENCH_HOME
export PTXBENCH_STATE="$TMP/state" PTXBENCH_PORT PTXBENCH_GPUS=1 XDG_CONFIG_HOME="$TMP/none"
unset PTXBENCH_PROVIDERS
PTXBENCH_PORT=$(perl -MIO::Socket::INET -e \
    'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport')
cd "$ROOT" || exit 1

# up: starts it in the background and waits for its last words. Sets UP_PID.
up()
{
    : >"$TMP/up.log"
    # A shell ignores SIGINT in what it puts into the background.
    env --default-signal=INT ./dev up >"$TMP/up.log" 2>&1 &
    UP_PID=$!
    T_CHILDREN="$T_CHILDREN $UP_PID "
    wait_for 300 grep -qE '^Stop with|^./dev: ' "$TMP/up.log"
    grep -q '^Stop with' "$TMP/up.log" || bail 'up did not come up'
}

# what_runs: processes that ./dev up started and that still live.
what_runs()
{
    pgrep -f "$TMP/state/" | wc -l | tr -d ' '
}

nothing_runs()
{
    [ "$(what_runs)" -eq 0 ]
}

exits 'status says when nothing runs' 1 ./dev status
up
like 'up names the page' "$(cat "$TMP/up.log")" "http://127.0.0.1:$PTXBENCH_PORT/"
like 'and the sandbox' "$(cat "$TMP/up.log")" 'sandbox +[a-z]'
is 'the token is for its owner only' "$(stat -c %a "$TMP/state/admin.token")" 600
exits 'status says where it runs' 0 ./dev status
exits 'a second up says where it runs' 0 ./dev up
like 'by address' "$(cat "$TMP/out")" "http://127.0.0.1:$PTXBENCH_PORT"
exits 'reset refuses while it runs' 1 ./dev reset -y
if [ -x "$TMP/state/app/bin/ptxbench-keeper" ]; then
    ok 'a GPU has a worker of its own, even one that does not answer' \
        wait_for 20 sh -c "curl -fsS http://127.0.0.1:$PTXBENCH_PORT/v1/workers | grep -q '\"cuda:0\"'"
else
    skip 1 'this was built without CUDA'
fi

sed -n '/^  curl /,/^$/p' "$TMP/up.log" >"$TMP/line"
exits 'the printed line runs as it stands' 0 sh "$TMP/line"
like 'and ends in PASSED' "$(cat "$TMP/out")" 'PASSED'
if [ "$(id -u)" -eq 0 ]; then
    is 'nothing of it runs as root' "$(pgrep -u root -f "$TMP/state/(app|data)" | wc -l | tr -d ' ')" 0
fi

if [ -e /etc/ptxbench/providers.json ]; then
    skip 2 'this host has providers of its own: the example is not served'
else
    exits 'the example of an agent run comes to its end' 0 \
        env PTXBENCH_SERVER="http://127.0.0.1:$PTXBENCH_PORT" "$TMP/state/app/bin/ptxbench" run start -p gemm \
        -a sm_90a --device cpu --provider replay --model example --variants parameters --trajectories 1 --turns 3 --watch
    like 'by way of no code and wrong numbers' "$(cat "$TMP/out")" 'extract +wrong +ok$'
fi

server=$(pgrep -f "$TMP/state/app/bin/ptxbench-server")
worker=$(pgrep -o -f "$TMP/state/app/bin/ptxbench-worker")
kill -KILL "$server" "$worker"
ok 'a killed server is started again' wait_for 30 curl -fsS "http://127.0.0.1:$PTXBENCH_PORT/readyz"
ok 'and a killed worker' wait_for 30 pgrep -f "$TMP/state/app/bin/ptxbench-worker"
exits 'the line works after that too' 0 sh "$TMP/line"
like 'ending in PASSED' "$(cat "$TMP/out")" 'PASSED'

exits 'down stops it' 0 ./dev down
is 'and nothing of it is left' "$(what_runs)" 0
like 'up says that the data stays' "$(cat "$TMP/up.log")" 'data stays'
exits 'down twice is harmless' 0 ./dev down

token=$(cat "$TMP/state/admin.token")
# Somebody else has the port.
perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1",
    LocalPort => $ARGV[0], ReuseAddr => 1) or die; sleep 600' "$PTXBENCH_PORT" &
T_CHILDREN="$T_CHILDREN $! "
sleep 0.5
up
like 'a port that is taken is said' "$(cat "$TMP/up.log")" "port $PTXBENCH_PORT is taken; using $((PTXBENCH_PORT + 1))"
url=$(sed -n 's/^  page *//p' "$TMP/up.log")
is 'the data of the first run is still there' \
    "$(curl -fsS "${url}v1/submissions?verdict=PASSED" | jq '[.items[] | select(.method == null)] | length')" 2
is 'and the token' "$(cat "$TMP/state/admin.token")" "$token"
is 'which works' "$(curl -sS -o "$TMP/body" -w '%{http_code}' -H "Authorization: Bearer $token" "${url}v1/submissions")" 200

kill -KILL "$UP_PID"
ok 'even if up is killed, everything ends' wait_for 20 nothing_runs
up
kill -INT "$UP_PID"
wait "$UP_PID"
is 'Ctrl-C ends it cleanly' $? 0
is 'with nothing left' "$(what_runs)" 0
exits 'reset asks, and so needs -y without a terminal' 1 ./dev reset
exits 'reset removes the data' 0 ./dev reset -y
ok 'all of it' [ ! -e "$TMP/state" ]
done_testing
