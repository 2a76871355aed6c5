# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For tests of the GPU device without a GPU: a folder of programs in which ptxbench-keeper is the fake of
# tests/fake/keeper.c. Source it after lib.sh.
FAKE="$TMP/bin"
mkdir "$FAKE"
for program in "$BIN"/ptx*; do
    ln -s "$program" "$FAKE/"
done
ln -sf "$BIN/fake-keeper" "$FAKE/ptxbench-keeper"
BIN=$FAKE
export PTXBENCH_BIN="$BIN"

# keeper_acts OP WORD: what the fake does from now on; without a WORD it passes.
keeper_acts()
{
    if [ -n "${2:-}" ]; then
        printf '%s\n' "$2" >"$FAKE/keeper.$1"
    else
        rm -f "$FAKE/keeper.$1"
    fi
}

# keepers: process ids of those that the worker runs.
keepers()
{
    pgrep -P "$WORKER_PID" -x ptxbench-keeper
}

# lane NAME: its state as the service tells it.
lane()
{
    curl -fsS "$URL/v1/queue" | jq -r --arg lane "$1" '.lanes[] | select(.name == $lane) | .state'
}

lane_is()
{
    [ "$(lane "$1")" = "$2" ]
}

# device MEMBER: of the one worker.
device()
{
    curl -fsS "$URL/v1/workers" | jq -r ".items[0].$1"
}
