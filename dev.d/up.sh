# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# ./dev up, down, status, logs, reset: the whole service on this machine.

cmd_up()
{
    [ $# -eq 0 ] || die "up takes no argument; see ./dev help"
    state_find
    if lock_held; then
        local url
        url=$(cat "$RUN/url" 2>/dev/null || true)
        say "Already running (process $RUNNING_PID): ${url:-still starting}"
        say 'Stop it with Ctrl-C there or with ./dev down.'
        return 0
    fi
    packages_install up
    tree_writable
    build_release || die 'the build failed'
    page_modules
    state_make
    lock_take || die 'another ./dev up is just starting'
    echo $$ >"$RUN/pid"
    rm -f "$RUN/url"
    trap up_end EXIT
    app_install
    providers_find
    database_up
    server_up
    workers_up
    service_add agent
    [ -z "$STOPPING" ] || return 0
    report
    services_watch
}

up_end()
{
    local status=$?
    trap '' INT TERM HUP
    if [ ${#SERVICES[@]} -gt 0 ]; then
        say ''
        say 'Stopping…'
        services_stop
        say "Stopped. The data stays in $STATE; ./dev up goes on with it, ./dev reset removes it."
    fi
    rm -f "$RUN/url" "$RUN/pid"
    exit "$status"
}

# up_failed WHAT LOG: why the start did not succeed.
up_failed()
{
    [ -z "$STOPPING" ] || exit 130
    tail -n 20 "$2" 2>/dev/null | sed 's/^/    /' >&2
    die "$1; see $2"
}

# --- the parts --------------------------------------------------------------------------------------

database_up()
{
    if [ -s "$STATE/data/PG_VERSION" ]; then
        CLUSTER_VERSION=$(cat "$STATE/data/PG_VERSION")
        [ -n "$(cluster_bindir)" ] ||
            die "the database in $STATE/data needs PostgreSQL $CLUSTER_VERSION, which is not installed; install it or ./dev reset"
    else
        # Made aside and moved, so that an interrupted initdb leaves nothing that looks like a cluster.
        rm -rf "$STATE/data" "$STATE/data.new"
        folder 0700 "$SERVICE_USER" "$STATE/data.new"
        step 'new database cluster' "$LOG/initdb.log" \
            cluster_init "$SERVICE_USER" "$STATE/data.new" || die 'initdb failed'
        mv "$STATE/data.new" "$STATE/data"
        rm -f "$STATE/admin.token"
    fi
    service_add postgres
    cluster_ready "$RUN/pg" 60 || up_failed 'PostgreSQL did not start' "$LOG/postgres.log"
    if [ -z "$(database_sql postgres "SELECT 1 FROM pg_database WHERE datname = 'ptxbench'")" ]; then
        database_sql postgres 'CREATE DATABASE ptxbench' || die 'could not create the database'
    fi
    step 'database schema' "$LOG/migrate.log" program ptxbench migrate || die 'the migration failed'
    if [ -z "$(database_sql postgres "SELECT 1 FROM pg_roles WHERE rolname = '$WORKER_ROLE'")" ]; then
        database_sql postgres "CREATE ROLE $WORKER_ROLE LOGIN IN ROLE ptxbench_worker" ||
            die 'could not create the role of the workers'
    fi
    if [ ! -s "$STATE/admin.token" ]; then
        (umask 077 && (program ptxbench token create --owner admin --scopes submit,read,admin \
            --note './dev up') >"$STATE/admin.token") || die 'could not create the admin token'
    fi
}

# database_sql DATABASE STATEMENT
database_sql()
{
    (cd / && as_user "$SERVICE_USER" KILL psql -qXAt "host=$RUN/pg user=ptxbench dbname=$1" -c "$2")
}

port_busy()
{
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

server_up()
{
    local first=${PTXBENCH_PORT:-8080}
    PORT=$first
    while port_busy "$PORT"; do
        PORT=$((PORT + 1))
        [ "$PORT" -lt $((first + 100)) ] || die "no free port from $first on; set PTXBENCH_PORT"
    done
    [ "$PORT" = "$first" ] || say "  port $first is taken; using $PORT"
    URL=http://127.0.0.1:$PORT
    service_add server
    answers "$URL/readyz" 30 || up_failed 'the server did not become ready' "$LOG/server.log"
    echo "$URL" >"$RUN/url"
}

# answers URL SECONDS: waits for a success, as long as the server lives.
answers()
{
    local left=$(($2 * 5))
    until curl -fs --max-time 2 -o /dev/null "$1"; do
        left=$((left - 1))
        if [ "$left" -eq 0 ] || [ -n "$STOPPING" ] || ! service_alive server; then
            return 1
        fi
        sleep 0.2
    done
}

# One worker for the device cpu and one for each GPU. A GPU may take its time, or fail: its worker says so in
# /v1/workers, and the rest of the service runs.
workers_up()
{
    local left=100 gpu gpus
    service_add worker-cpu
    gpus=$(gpus_count)
    if [ -x "$APP/bin/ptxbench-keeper" ]; then
        for ((gpu = 0; gpu < gpus; gpu++)); do
            service_add "worker-cuda-$gpu"
        done
    fi
    until curl -fs --max-time 2 "$URL/v1/workers" | grep -q '"healthy": *true'; do
        left=$((left - 1))
        if [ "$left" -eq 0 ] || [ -n "$STOPPING" ] || ! service_alive worker-cpu; then
            up_failed 'the worker did not register' "$LOG/worker-cpu.log"
        fi
        sleep 0.2
    done
}

# --- words ------------------------------------------------------------------------------------------

# How many GPUs there are, as the driver's own tool or device files say; PTXBENCH_GPUS overrides.
gpus_count()
{
    if [ -n "${PTXBENCH_GPUS:-}" ]; then
        echo "$PTXBENCH_GPUS"
    elif command -v nvidia-smi >/dev/null; then
        nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true
    else
        find /dev -maxdepth 1 -name 'nvidia[0-9]*' 2>/dev/null | wc -l
    fi
}

gpus_found()
{
    local n
    n=$(gpus_count)
    if [ "$n" -eq 0 ]; then
        echo 'none; kernels run on the device cpu (ptxvm)'
    elif [ ! -x "$APP/bin/ptxbench-keeper" ]; then
        echo "$n, not used: this was built without the headers of CUDA"
    else
        echo "$n, a worker each; how they are: $URL/v1/workers"
    fi
}

report()
{
    local can example=naive.ptx
    can=$( (program ptxbench version) 2>/dev/null || true)
    if grep -q '^nvrtc ' <<<"$can"; then
        example=naive.cu
    fi
    cat <<TEXT

PTXBench is up.

  GPUs      $(gpus_found)
  NVRTC     $(found nvrtc "$can" 'not found: language cuda is not available, ptx is')
  ptxas     $(found ptxas "$can" 'not found: PTX is checked by ptxvm only, there is no cubin')
  sandbox   $(found sandbox "$can" 'no layer reported')
  agent     $(agents_found)
  data      $STATE
  logs      ./dev logs, or $LOG

  page      $URL/
  admin     token in $STATE/admin.token:
            $(cat "$STATE/admin.token")

Try it from another terminal; the answer ends in PASSED:

  curl -H 'Accept: text/plain' --data-binary @$(printf '%q' "$ROOT/problems/gemm/examples/$example") \\
    '$URL/v1/submissions?problem=gemm&arch=sm_90a&device=cpu&wait=60'

Stop with Ctrl-C or ./dev down; the data stays. ./dev reset removes it.
TEXT
}

# found NAME TEXT OTHERWISE: the rest of the line "NAME …".
found()
{
    sed -n "s/^$1 //p" <<<"$2" | grep . || echo "$3"
}

# --- around it --------------------------------------------------------------------------------------

cmd_down()
{
    local left=600
    state_find
    if ! lock_held; then
        say 'Not running.'
        return 0
    fi
    [ -n "$RUNNING_PID" ] || die "$RUN/pid is empty; is it just starting?"
    kill -TERM "$RUNNING_PID" || die "could not stop process $RUNNING_PID"
    while lock_held; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || die "process $RUNNING_PID did not stop within a minute"
        sleep 0.1
    done
    say "Stopped. The data stays in $STATE."
}

cmd_status()
{
    local url
    state_find
    if ! lock_held; then
        say "Not running. State: $STATE$([ -d "$STATE/data" ] || echo ' (empty)')"
        return 1
    fi
    url=$(cat "$RUN/url" 2>/dev/null || true)
    say "Running (process $RUNNING_PID): ${url:-still starting}"
    say "State: $STATE"
    if [ -n "$url" ]; then
        "$APP/bin/ptxbench" workers --server "$url"
        "$APP/bin/ptxbench" queue --server "$url"
    fi
}

cmd_logs()
{
    state_find
    local -a files=("$LOG"/*.log)
    [ $# -eq 0 ] || files=("${@/#/$LOG/}")
    [ $# -eq 0 ] || files=("${files[@]/%/.log}")
    [ -e "${files[0]}" ] || die "there is no ${files[0]} yet"
    exec tail -n 50 -F "${files[@]}"
}

cmd_reset()
{
    local answer=''
    state_find
    ! lock_held || die 'it is running; stop it first: ./dev down'
    [ -d "$STATE" ] || { say "Nothing to remove in $STATE."; return 0; }
    if [ "${1:-}" != -y ]; then
        [ -t 0 ] || die 'reset asks; without a terminal say ./dev reset -y'
        read -r -p "Remove the database, all submissions and the admin token in $STATE? [y/N] " answer
        case $answer in y | Y | yes) ;; *) say 'Nothing removed.' && return 1 ;; esac
    fi
    # Only what ./dev up makes: the folder may hold other things when PTXBENCH_STATE names it.
    rm -rf "${STATE:?}/data" "$STATE/data.new" "$STATE/app" "$STATE/app.new" "$STATE/log" "$STATE/admin.token"
    rm -rf "$RUN"
    rmdir "$STATE" 2>/dev/null || say "  other files stay in $STATE"
    say 'Removed. The next ./dev up begins anew.'
}
