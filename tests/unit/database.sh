#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Becomes a throw-away PostgreSQL server for database.h: usage: database.sh FOLDER. 77: not installed.
set -eu
. "$(dirname "$0")/../../dev.d/cluster.sh"
[ -n "$(cluster_bindir)" ] || exit 77
if [ "$(id -u)" -ne 0 ]; then
    user=$(id -un)
elif id postgres >/dev/null 2>&1; then
    user=postgres
else
    user=nobody
fi
mkdir -m 0700 "$1/pg"
chown "$user" "$1/pg"
(cluster_init "$user" "$1/pg/data" --no-sync >"$1/log" 2>&1)
cluster_run "$user" "$1/pg/data" "$1/pg" -c fsync=off -c full_page_writes=off -c shared_buffers=16MB \
    -c max_connections=100 >>"$1/log" 2>&1
