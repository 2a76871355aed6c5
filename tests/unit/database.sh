#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Becomes a throw-away PostgreSQL server for cluster.h: usage: database.sh FOLDER fast|durable. 77: not
# installed.
set -eu
folder=$1
case $2 in
fast) set -- -c fsync=off -c full_page_writes=off ;;
durable) set -- -c fsync=on ;;
esac
. "$(dirname "$0")/../../dev.d/cluster.sh"
[ -n "$(cluster_bindir)" ] || exit 77
if [ "$(id -u)" -ne 0 ]; then
    user=$(id -un)
elif id postgres >/dev/null 2>&1; then
    user=postgres
else
    user=nobody
fi
mkdir -m 0700 "$folder/pg"
chown "$user" "$folder/pg"
(cluster_init "$user" "$folder/pg/data" --no-sync >"$folder/log" 2>&1)
cluster_run "$user" "$folder/pg/data" "$folder/pg" -c shared_buffers=32MB -c max_connections=100 "$@" \
    >>"$folder/log" 2>&1
