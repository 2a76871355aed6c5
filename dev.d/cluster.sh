# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A private PostgreSQL cluster: unix socket only, owned by an unprivileged user, no configuration of
# the system's own cluster touched. Sourced by ./dev and by tests/t/lib.sh; POSIX sh.

# Folder of initdb and postgres: of major version CLUSTER_VERSION if that is set (a cluster runs with the
# version that made it), else the newest that Debian installed, else whatever is on the PATH.
cluster_bindir()
{
    for cb_dir in $(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin \
        -path "*/${CLUSTER_VERSION:-*}/bin" 2>/dev/null | sort -Vr); do
        if [ -x "$cb_dir/initdb" ] && [ -x "$cb_dir/postgres" ]; then
            printf '%s\n' "$cb_dir"
            return 0
        fi
    done
    [ -z "${CLUSTER_VERSION:-}" ] || return 1
    cb_dir=$(command -v initdb) && dirname "$cb_dir"
}

# as_user USER SIGNAL COMMAND…: becomes COMMAND as USER (as oneself when USER is oneself), with no more
# privileges than that user has; it gets SIGNAL once the process that started it is gone.
# Call it in the background or in a subshell: it does not return.
as_user()
{
    au_user=$1 au_signal=$2
    shift 2
    if [ "$au_user" = "$(id -un)" ]; then
        exec setpriv --pdeathsig "$au_signal" -- "$@"
    fi
    exec setpriv --reuid "$(id -u "$au_user")" --regid "$(id -g "$au_user")" --clear-groups \
        --inh-caps=-all --no-new-privs --pdeathsig "$au_signal" -- "$@"
}

# cluster_init USER DATA [OPTION…]: makes the cluster. The superuser is called ptxbench; who can reach
# the socket's folder (mode 0700) may connect.
cluster_init()
{
    ci_user=$1 ci_data=$2
    shift 2
    (cd / && as_user "$ci_user" KILL env -u PGDATA LC_ALL=C.UTF-8 "$(cluster_bindir)/initdb" \
        --pgdata "$ci_data" --username ptxbench --auth trust --locale C.UTF-8 --encoding UTF8 "$@")
}

# cluster_run USER DATA SOCKET_DIR [SETTING…]: becomes the server process (call it in the background).
# -k with an empty listen_addresses: nothing is opened on TCP.
cluster_run()
{
    cr_user=$1 cr_data=$2 cr_socket=$3
    shift 3
    cd / || exit 1
    as_user "$cr_user" INT env -u PGDATA LC_ALL=C.UTF-8 "$(cluster_bindir)/postgres" \
        -D "$cr_data" -k "$cr_socket" -c listen_addresses= -c unix_socket_permissions=0700 "$@"
}

# cluster_ready SOCKET_DIR SECONDS: waits until it takes connections.
cluster_ready()
{
    cy_left=$(($2 * 10))
    until "$(cluster_bindir)/pg_isready" --quiet --host "$1" --username ptxbench --dbname postgres; do
        cy_left=$((cy_left - 1))
        [ "$cy_left" -gt 0 ] || return 1
        sleep 0.1
    done
}

# cluster_conninfo SOCKET_DIR [ROLE]: what libpq needs to reach the service's database.
cluster_conninfo()
{
    printf 'host=%s dbname=ptxbench user=%s\n' "$1" "${2:-ptxbench}"
}
