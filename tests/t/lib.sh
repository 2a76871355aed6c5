# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# TAP helpers for tests/t/*.t (POSIX sh): a throw-away PostgreSQL cluster, server and workers on it,
# assertions, and a clean-up that leaves no process and no file. A test starts like this:
#
#   #!/bin/sh
#   . "$(dirname "$0")/lib.sh"
#   db_start && server_start && worker_start
#   is 'a health check answers' "$(http GET /healthz)" 200
#   done_testing
#
# A test's name is a sentence. What a test leaves in $TMP is removed unless KEEP=1.
set -u
T_DIR=$(cd "$(dirname "$0")" && pwd)
ROOT=$(cd "$T_DIR/../.." && pwd)
. "$ROOT/dev.d/cluster.sh"

# Where the programs are: what ctest says, else the newest build.
t_newest_build()
{
    for t_build in release dev; do
        [ -x "$ROOT/build/$t_build/bin/ptxbench" ] && echo "$ROOT/build/$t_build/bin" && return
    done
    echo "$ROOT/build/dev/bin"
}
BIN=${PTXBENCH_BIN:-$(t_newest_build)}
BUILD=$(dirname "$BIN")
export PTXBENCH_BIN="$BIN" PTXBENCH_HOME="$ROOT"
unset PTXBENCH_SERVER PTXBENCH_TOKEN PTXBENCH_TOKEN_FILE PTXBENCH_DATABASE PTXBENCH_STATE
unset PTXBENCH_PROBLEM PTXBENCH_ARCH PGHOST PGDATABASE PGUSER

# Short, since a unix socket lives in it; 0711 so that the cluster's user gets through to its part.
TMP=$(mktemp -d "/tmp/ptxt.XXXXXX") || exit 1
chmod 0711 "$TMP"

# --- assertions -------------------------------------------------------------------------------------

T_COUNT=0 T_FAILED=0 T_DONE=0 T_CHILDREN='' PORT=''

diag()
{
    printf '%s\n' "$*" | sed 's/^/# /'
}

# t_result STATUS NAME: one TAP line.
t_result()
{
    T_COUNT=$((T_COUNT + 1))
    if [ "$1" -eq 0 ]; then
        printf 'ok %d - %s\n' "$T_COUNT" "$2"
    else
        T_FAILED=$((T_FAILED + 1))
        printf 'not ok %d - %s\n' "$T_COUNT" "$2"
        return 1
    fi
}

# ok NAME COMMAND…: the command succeeds.
ok()
{
    ok_name=$1
    shift
    if ok_out=$("$@" 2>&1); then
        t_result 0 "$ok_name"
    else
        ok_status=$?
        t_result 1 "$ok_name"
        diag "exit status $ok_status of: $*"
        diag "$ok_out"
        return 1
    fi
}

# is NAME GOT WANT: the same text.
is()
{
    if [ "$2" = "$3" ]; then
        t_result 0 "$1"
    else
        t_result 1 "$1"
        diag "got:  $2"
        diag "want: $3"
        return 1
    fi
}

# like NAME TEXT PATTERN: some line of the text matches the extended regular expression.
like()
{
    if printf '%s\n' "$2" | grep -Eq -e "$3"; then
        t_result 0 "$1"
    else
        t_result 1 "$1"
        diag "text:    $2"
        diag "pattern: $3"
        return 1
    fi
}

unlike()
{
    if printf '%s\n' "$2" | grep -Eq -e "$3"; then
        t_result 1 "$1"
        diag "text:    $2"
        diag "has:     $3"
        return 1
    fi
    t_result 0 "$1"
}

# exits NAME STATUS COMMAND…: the command ends with that exit status; its output is in $TMP/out and
# $TMP/err.
exits()
{
    ex_name=$1 ex_want=$2
    shift 2
    ex_got=0
    "$@" >"$TMP/out" 2>"$TMP/err" || ex_got=$?
    if [ "$ex_got" -eq "$ex_want" ]; then
        t_result 0 "$ex_name"
    else
        t_result 1 "$ex_name"
        diag "exit status $ex_got, want $ex_want, of: $*"
        diag "$(tail -n 20 "$TMP/out" "$TMP/err")"
        return 1
    fi
}

# skip COUNT REASON: that many assertions cannot be made here.
skip()
{
    sk_left=$1
    while [ "$sk_left" -gt 0 ]; do
        T_COUNT=$((T_COUNT + 1))
        printf 'ok %d # SKIP %s\n' "$T_COUNT" "$2"
        sk_left=$((sk_left - 1))
    done
}

# skip_all REASON: the whole file cannot run here.
skip_all()
{
    printf '1..0 # SKIP %s\n' "$1"
    T_DONE=1
    exit 0
}

bail()
{
    diag "$*"
    for bail_log in "$TMP"/*.log; do
        [ -s "$bail_log" ] && diag "--- $(basename "$bail_log")" && diag "$(tail -n 30 "$bail_log")"
    done
    printf 'Bail out! %s\n' "$1"
    T_DONE=1
    exit 1
}

# The last line of every test: what is not reached here is a failure.
done_testing()
{
    printf '1..%d\n' "$T_COUNT"
    T_DONE=1
    [ "$T_FAILED" -eq 0 ]
    exit
}

# --- processes --------------------------------------------------------------------------------------

# Ends one child that this test started, waits for it, and forgets it.
stop_child()
{
    kill "-${2:-TERM}" "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    T_CHILDREN=$(printf '%s' "$T_CHILDREN" | sed "s/ $1 / /g")
}

# family PID: its children, their children and so on, one a line.
family()
{
    for fa_pid in $(pgrep -P "$1"); do
        printf '%s\n' "$fa_pid"
        family "$fa_pid"
    done
}

# gone PID…: none of them runs. A zombie that nobody reaps is as dead as can be.
gone()
{
    for go_pid; do
        [ ! -d "/proc/$go_pid" ] || grep -q '^State:.*Z' "/proc/$go_pid/status" || return 1
    done
}

t_cleanup()
{
    t_status=$?
    trap - EXIT INT TERM
    for t_child in $T_CHILDREN; do
        kill -TERM "$t_child" 2>/dev/null
    done
    # A server that drains gets three seconds; then it is a fault of the test, but not of the next one.
    t_left=30
    for t_child in $T_CHILDREN; do
        while [ "$t_left" -gt 0 ] && kill -0 "$t_child" 2>/dev/null; do
            sleep 0.1
            t_left=$((t_left - 1))
        done
        kill -KILL "$t_child" 2>/dev/null
        wait "$t_child" 2>/dev/null
    done
    if [ -n "${PG_PID:-}" ]; then
        kill -QUIT "$PG_PID" 2>/dev/null
        wait "$PG_PID" 2>/dev/null
    fi
    if [ "${KEEP:-}" = 1 ]; then
        diag "kept $TMP"
    else
        rm -rf "$TMP"
    fi
    if [ "$T_DONE" -eq 0 ]; then
        echo 'Bail out! the test ended before done_testing'
        [ "$t_status" -ne 0 ] || t_status=1
    fi
    exit "$t_status"
}
trap t_cleanup EXIT
trap 'exit 130' INT TERM

# wait_for SECONDS COMMAND…: repeats the command until it succeeds.
wait_for()
{
    wf_left=$(($1 * 10))
    shift
    until "$@" >/dev/null 2>&1; do
        wf_left=$((wf_left - 1))
        [ "$wf_left" -gt 0 ] || return 1
        sleep 0.1
    done
}

# --- database ---------------------------------------------------------------------------------------

# PostgreSQL refuses root.
t_pg_user()
{
    if [ "$(id -u)" -ne 0 ]; then
        id -un
    elif id postgres >/dev/null 2>&1; then
        echo postgres
    else
        echo nobody
    fi
}

# initdb takes two seconds: done once per build folder, unpacked per test.
t_pg_template()
{
    t_tar="$BUILD/t-cluster-$(id -u).tar"
    (
        flock 9
        [ -s "$t_tar" ] && exit 0
        mkdir "$TMP/init" && chown "$PG_USER" "$TMP/init"
        cluster_init "$PG_USER" "$TMP/init/data" --no-sync >"$TMP/initdb.log" 2>&1 &&
            tar -C "$TMP/init" -cf "$t_tar.new" data && mv "$t_tar.new" "$t_tar"
        t_made=$?
        rm -rf "$TMP/init"
        exit "$t_made"
    ) 9>"$t_tar.lock"
}

# Starts the cluster, creates and migrates the database. Sets DATABASE (conninfo).
db_start()
{
    [ -n "$(cluster_bindir)" ] || skip_all 'PostgreSQL is not installed'
    PG_USER=$(t_pg_user)
    PG_DIR="$TMP/pg"
    mkdir -m 0700 "$PG_DIR" || bail 'cannot make a folder for the cluster'
    t_pg_template || bail 'initdb failed'
    tar -C "$PG_DIR" -xf "$t_tar" || bail 'cannot unpack the cluster'
    chown -R "$PG_USER" "$PG_DIR" || bail 'cannot hand over the cluster'
    DATABASE=$(cluster_conninfo "$PG_DIR")
    export PTXBENCH_DATABASE="$DATABASE"
    pg_start
    psql -qX "host=$PG_DIR user=ptxbench dbname=postgres" -c 'CREATE DATABASE ptxbench' ||
        bail 'cannot create the database'
    "$BIN/ptxbench" migrate --database "$DATABASE" >"$TMP/migrate.log" 2>&1 || bail 'cannot migrate'
}

pg_start()
{
    cluster_run "$PG_USER" "$PG_DIR/data" "$PG_DIR" -c fsync=off -c full_page_writes=off \
        -c shared_buffers="${PG_BUFFERS:-16MB}" -c max_connections=60 >>"$TMP/postgres.log" 2>&1 &
    PG_PID=$!
    cluster_ready "$PG_DIR" 20 || bail 'PostgreSQL did not start'
}

# pg_stop [SIGNAL]: INT is a fast shutdown, QUIT a crash.
pg_stop()
{
    kill "-${1:-INT}" "$PG_PID"
    wait "$PG_PID" 2>/dev/null
    PG_PID=''
}

pg_restart()
{
    pg_stop "${1:-INT}"
    pg_start
}

# sql STATEMENT: rows without decoration, columns separated by |.
sql()
{
    psql -qXAt -v ON_ERROR_STOP=1 "$DATABASE" -c "$1"
}

# --- server and workers -----------------------------------------------------------------------------

# server_start [OPTION…]: on a free port, or again on the same one. Sets PORT, URL, SERVER_PID.
server_start()
{
    : >"$TMP/server.out"
    "$BIN/ptxbench-server" --database "$DATABASE" --port "${PORT:-0}" "$@" \
        >"$TMP/server.out" 2>>"$TMP/server.log" &
    SERVER_PID=$!
    T_CHILDREN="$T_CHILDREN $SERVER_PID "
    wait_for 20 grep -q '^LISTENING ' "$TMP/server.out" || bail 'the server did not start'
    URL=$(sed -n 's/^LISTENING *//p' "$TMP/server.out")
    URL=${URL%/}
    PORT=${URL##*:}
    export PTXBENCH_SERVER="$URL"
    wait_for 20 curl -fsS "$URL/readyz" || bail 'the server did not become ready'
}

# worker_start [OPTION…]: a worker for the device cpu unless told otherwise. Sets WORKER_PID.
worker_start()
{
    [ $# -gt 0 ] || set -- --device cpu
    "$BIN/ptxbench-worker" --database "$DATABASE" "$@" >>"$TMP/worker.log" 2>&1 &
    WORKER_PID=$!
    T_CHILDREN="$T_CHILDREN $WORKER_PID "
}

# http METHOD PATH [CURL OPTION…]: prints the status; body in $TMP/body, header fields in $TMP/head.
http()
{
    http_method=$1 http_path=$2
    shift 2
    curl -sS --max-time 90 -X "$http_method" -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" \
        "$URL$http_path"
}

# json PATH: one member of the last body, such as .verdict; text is printed bare, null as "null".
json()
{
    jq -r "$1" "$TMP/body"
}
