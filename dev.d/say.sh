# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Words to the person in front of it: what is going on, how long it takes, why it stops.

say()
{
    printf '%s\n' "$*"
}

die()
{
    printf './dev: %s\n' "$*" >&2
    exit 1
}

# background COMMAND…: starts it in a process group of its own, so that a Ctrl-C reaches this shell only,
# which then decides; sets CHILD.
background()
{
    set -m
    "$@" &
    CHILD=$!
    set +m
}

# Set by the traps of ./dev; a step in progress is given up.
STOPPING=''
trap 'STOPPING=1' INT TERM HUP

# step TEXT LOG COMMAND…: runs the command with its output in LOG and shows one line for it: on a
# terminal a running clock, and its last words if it fails.
step()
{
    local text=$1 log=$2 status=0 start=$SECONDS child shown=0 took
    shift 2
    mkdir -p "$(dirname "$log")"
    background "$@" >"$log" 2>&1 </dev/null
    child=$CHILD
    while kill -0 "$child" 2>/dev/null; do
        sleep 0.1
        took=$((SECONDS - start))
        if [ -n "$STOPPING" ]; then
            kill -TERM -- "-$child" 2>/dev/null || true
        elif [ -t 1 ] && [ "$took" -gt 1 ]; then
            printf '\r  %s … %d s \033[K' "$text" "$took"
        elif [ $((took - shown)) -ge 20 ]; then
            shown=$took
            printf '  %s … %d s\n' "$text" "$took"
        fi
    done
    wait "$child" || status=$?
    [ ! -t 1 ] || printf '\r\033[K'
    [ -z "$STOPPING" ] || exit 130
    if [ "$status" -eq 0 ]; then
        printf '  %s: done (%d s)\n' "$text" $((SECONDS - start))
    else
        printf '  %s: FAILED (status %d, %d s). The end of %s:\n' "$text" "$status" $((SECONDS - start)) "$log"
        tail -n 40 "$log" | sed 's/^/    /'
    fi
    return "$status"
}

jobs_default()
{
    nproc
}
