# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Where things are kept, and as whom they run. The tree itself may be unreadable for the unprivileged
# user (a clone under a 0700 home), so the programs and their data are copied to APP.

STATE='' RUN='' APP='' LOG='' SERVICE_USER=''

state_folder()
{
    if [ -n "${PTXBENCH_STATE:-}" ]; then
        readlink -m "$PTXBENCH_STATE"
    elif [ "$(id -u)" -eq 0 ]; then
        echo /var/lib/ptxbench
    else
        echo "${XDG_STATE_HOME:-$HOME/.local/state}/ptxbench"
    fi
}

# Sockets and locks: gone after a reboot, and short, since the path of a socket has 107 bytes at most.
run_folder()
{
    if [ -n "${PTXBENCH_STATE:-}" ]; then
        echo "/tmp/ptxbench-$(id -u)-$(state_folder | cksum | cut -d ' ' -f 1)"
    elif [ "$(id -u)" -eq 0 ]; then
        echo /run/ptxbench
    elif [ -n "${XDG_RUNTIME_DIR:-}" ] && [ -w "$XDG_RUNTIME_DIR" ] && [ ${#XDG_RUNTIME_DIR} -lt 70 ]; then
        echo "$XDG_RUNTIME_DIR/ptxbench"
    else
        echo "/tmp/ptxbench-$(id -u)"
    fi
}

# Sets the variables only.
state_find()
{
    STATE=$(state_folder)
    RUN=$(run_folder)
    APP=$STATE/app
    LOG=$STATE/log
}

# As root everything runs as a user of its own; it is made here once, as a package would.
service_user_find()
{
    if [ "$(id -u)" -ne 0 ]; then
        SERVICE_USER=$(id -un)
        return
    fi
    SERVICE_USER=${PTXBENCH_USER:-ptxbench}
    if ! id "$SERVICE_USER" >/dev/null 2>&1; then
        useradd --system --user-group --no-create-home --home-dir /nonexistent \
            --shell /usr/sbin/nologin "$SERVICE_USER" ||
            die "could not make the system user $SERVICE_USER; name another in PTXBENCH_USER"
        say "  made the system user $SERVICE_USER"
    fi
    [ "$(id -u "$SERVICE_USER")" -ne 0 ] || die 'PTXBENCH_USER must not be root'
}

# folder MODE OWNER PATH: makes it so; refuses one that somebody else put there.
folder()
{
    if [ ! -d "$3" ]; then
        { mkdir -p "$(dirname "$3")" && mkdir -m "$1" "$3"; } || die "could not make the folder $3"
    fi
    [ ! -L "$3" ] || die "$3 is a link; remove it"
    case $(stat -c %U "$3") in
    "$2" | "$(id -un)") ;;
    *) die "$3 belongs to $(stat -c %U "$3"), not to $2; was it made by another user? Remove it or set PTXBENCH_STATE" ;;
    esac
    chown "$2" "$3" 2>/dev/null || [ "$(stat -c %U "$3")" = "$2" ] || die "could not hand $3 to $2"
    chmod "$1" "$3"
}

# The service's user must get through every folder above STATE.
state_reachable()
{
    (cd / && as_user "$SERVICE_USER" KILL test -x "$1") ||
        die "the user $SERVICE_USER cannot reach $1; choose another folder with PTXBENCH_STATE"
}

state_make()
{
    local me
    me=$(id -un)
    state_find
    service_user_find
    folder 0755 "$me" "$STATE"
    folder 0755 "$me" "$APP"
    folder 0755 "$me" "$LOG"
    folder 0755 "$me" "$RUN"
    folder 0700 "$SERVICE_USER" "$RUN/pg"
    state_reachable "$STATE"
}

# One ./dev up at a time; the lock is held as long as this process lives.
lock_take()
{
    exec 9>>"$RUN/lock"
    flock -n 9
}

# Is somebody's ./dev up running? Sets RUNNING_PID.
# shellcheck disable=SC2034 # read in up.sh
lock_held()
{
    RUNNING_PID=''
    [ -e "$RUN/lock" ] || return 1
    ! flock -n "$RUN/lock" true || return 1
    RUNNING_PID=$(cat "$RUN/pid" 2>/dev/null || true)
}
