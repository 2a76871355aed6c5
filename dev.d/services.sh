# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# PostgreSQL, the server, the workers and the agent as children of this shell: started, watched, started again
# with backoff, and stopped in order. They get a signal when this shell dies, however it dies.

declare -A SERVICE_PID=() SERVICE_SINCE=() SERVICE_FAILS=()
SERVICES=() PORT=''

WORKER_ROLE=worker
BACKOFF_MAX=30
STEADY_S=60 # one that lived that long starts afresh in the count

# program NAME ARGUMENT…: becomes one of our programs, as the service's user and with an environment that
# says no more than it needs. A worker logs in with a role that may call the worker's functions only.
program()
{
    local name=$1 role=ptxbench
    shift
    [ "$name" != ptxbench-worker ] || role=$WORKER_ROLE
    cd / || exit 1
    as_user "$SERVICE_USER" TERM env -i PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 \
        PTXBENCH_HOME="$APP/share" PTXBENCH_BIN="$APP/bin" \
        PTXBENCH_DATABASE="$(cluster_conninfo "$RUN/pg" "$role")" ${CUDA_HOME:+CUDA_HOME="$CUDA_HOME"} \
        "$APP/bin/$name" "$@"
}

service_run()
{
    case $1 in
    postgres) cluster_run "$SERVICE_USER" "$STATE/data" "$RUN/pg" ;;
    server) program ptxbench-server --port "$PORT" ;;
    worker-cuda-*) program ptxbench-worker --device "cuda:${1#worker-cuda-}" ;;
    worker-*) program ptxbench-worker --device "${1#worker-}" ;;
    agent) agent_run ;;
    esac
}

# service_start NAME [DELAY]
service_start()
{
    background service_begin "$1" "${2:-0}" >>"$LOG/$1.log" 2>&1 </dev/null 9>&-
    SERVICE_PID[$1]=$CHILD
    SERVICE_SINCE[$1]=$((SECONDS + ${2:-0}))
}

service_begin()
{
    trap - INT TERM HUP EXIT
    [ "$2" -eq 0 ] || sleep "$2"
    service_run "$1"
}

# service_add NAME: starts it for the first time.
service_add()
{
    local log=$LOG/$1.log
    if [ "$(stat -c %s "$log" 2>/dev/null || echo 0)" -gt 10485760 ]; then
        mv "$log" "$log.1"
    fi
    SERVICES+=("$1")
    SERVICE_FAILS[$1]=0
    service_start "$1"
}

service_alive()
{
    [ -n "${SERVICE_PID[$1]:-}" ] && kill -0 "${SERVICE_PID[$1]}" 2>/dev/null
}

# service_stop NAME SIGNAL SECONDS: asks, waits, insists.
service_stop()
{
    local pid=${SERVICE_PID[$1]:-} left=$(($3 * 10))
    [ -n "$pid" ] || return 0
    kill "-$2" "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do
        if [ "$left" -eq 0 ]; then
            say "  $1 did not stop in $3 s; killed"
            kill -KILL "$pid" 2>/dev/null || true
            break
        fi
        left=$((left - 1))
        sleep 0.1
    done
    wait "$pid" 2>/dev/null || true
    unset "SERVICE_PID[$1]"
}

services_stop()
{
    local i name
    for ((i = ${#SERVICES[@]} - 1; i >= 0; i--)); do
        name=${SERVICES[i]}
        case $name in
        postgres) service_stop "$name" INT 30 ;;
        *) service_stop "$name" TERM 15 ;;
        esac
    done
    SERVICES=()
}

# One that died is started again after 0, 1, 2, 4 … seconds.
service_died()
{
    local name=$1 status=$2 fails delay=0
    if [ $((SECONDS - ${SERVICE_SINCE[$name]})) -ge "$STEADY_S" ]; then
        SERVICE_FAILS[$name]=0
    fi
    fails=${SERVICE_FAILS[$name]}
    if [ "$fails" -gt 0 ]; then
        delay=$((fails > 5 ? BACKOFF_MAX : 1 << (fails - 1)))
    fi
    SERVICE_FAILS[$name]=$((fails + 1))
    say "$(date +%T) $name ended (status $status); started again in $delay s; see ./dev logs $name"
    service_start "$name" "$delay"
}

# Until Ctrl-C or ./dev down. Looks rather than waits: `wait -n` never tells of a child that ended while
# this shell was busy with another.
services_watch()
{
    local name status
    while [ -z "$STOPPING" ]; do
        for name in "${SERVICES[@]}"; do
            if [ -z "$STOPPING" ] && ! service_alive "$name"; then
                status=0
                wait "${SERVICE_PID[$name]}" 2>/dev/null || status=$?
                service_died "$name" "$status"
            fi
        done
        sleep 0.3 || true
    done
}
