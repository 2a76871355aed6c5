#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The disk of the cluster runs full: whoever submits hears of it, nothing half stays, and once there is
# room again everything goes on. Needs the right to mount a small file system.
if [ -z "${IN_NAMESPACE:-}" ] && unshare -m true 2>/dev/null; then
    IN_NAMESPACE=1 exec unshare -m sh "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
. "$T_DIR/worker-lib.sh"
mkdir "$TMP/disk"
mount -t tmpfs -o size=128m,mode=0711 none "$TMP/disk" 2>/dev/null || skip_all 'may not mount a small file system'
db_start
pg_stop
# Little write-ahead log, so that it is a table that finds no room.
cat >>"$PG_DIR/data/postgresql.conf" <<CONF
max_wal_size = 32MB
min_wal_size = 32MB
autovacuum = off
CONF
cp -a "$PG_DIR/data" "$TMP/disk/data" && rm -rf "$PG_DIR/data" && ln -s "$TMP/disk/data" "$PG_DIR/data"
pg_start
fake_worker

id=$(submit pass)
ok 'with room a job is done' wait_for 10 is_state "$id" done

# A source of 1 MB that does not compress.
big()
{
    sql "SELECT id FROM submission_create(gen_random_uuid(), 0, '{}', convert_to('pass ' || (SELECT
        string_agg(encode(sha256(random()::text::bytea), 'base64'), '') FROM generate_series(1, 22000)), 'UTF8'),
        'gemm', 'small', 'sm_90a', 'cuda', 'cpu', 'rank', NULL, NULL, 'public', 1, 60, 10000, NULL, NULL)"
}
head -c 20M /dev/zero >"$TMP/disk/ballast"
made=0
while big >>"$TMP/ids" 2>"$TMP/full" && [ "$made" -lt 200 ]; do
    made=$((made + 1))
done
like "after $made submissions the disk is full" "$(cat "$TMP/full")" 'No space left on device'
is 'what was answered is stored, what failed is not' \
    "$(sql 'SELECT count(*) FROM submissions')" $((made + 1))
is 'nor is any part of it' "$(sql "SELECT count(*) FROM blobs b WHERE kind = 'source'
    AND NOT EXISTS (SELECT FROM submissions s WHERE s.source_sha = b.sha256)")" 0
sleep 2
ok 'the worker has not given up' kill -0 "$WORKER_PID"

rm "$TMP/disk/ballast"
all_done()
{
    hurry
    [ "$(sql "SELECT count(*) FROM submissions WHERE state <> 'done'")" = 0 ]
}
ok 'with room again everything is worked off' wait_for 60 all_done
is 'with one result each' "$(sql 'SELECT count(*) FROM results')" $((made + 1))
id=$(submit pass)
ok 'and the next one is done' wait_for 10 is_state "$id" done
is 'nothing is inconsistent' "$(sql "SELECT fsck() ->> 'problems'")" '[]'
stop_child "$WORKER_PID"
pg_stop
umount "$TMP/disk"
done_testing
