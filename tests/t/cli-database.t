#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The operator's commands, which reach the database themselves.
. "$(dirname "$0")/lib.sh"
CLI=$BIN/ptxbench
db_start

exits 'migrating a second time changes nothing' 0 "$CLI" migrate
like 'and says so' "$(cat "$TMP/out")" ' 0 migration\(s\) applied'
exits 'a fresh database is sound' 0 "$CLI" fsck
like 'fsck says so' "$(cat "$TMP/out")" '^sound$'
exits 'fsck prints JSON on request' 0 "$CLI" fsck --json
is 'with an empty list of problems' "$(jq '.problems | length' "$TMP/out")" 0
exits 'a database that is not there is a failure' 1 "$CLI" fsck --database "host=$TMP/nowhere"

exits 'a token can be made' 0 "$CLI" token create --owner ada --scopes submit --days 3 --note 'a test'
token=$(cat "$TMP/out")
is 'it is one line' "$(printf '%s\n' "$token" | wc -l | tr -d ' ')" 1
is 'the database keeps its hash only' "$(sql "SELECT count(*) FROM tokens t WHERE t::text LIKE '%$token%'")" 0
exits 'tokens can be listed' 0 "$CLI" token list
like 'with their owner' "$(cat "$TMP/out")" ' ada '
unlike 'but without the token' "$(cat "$TMP/out")" "$token"
id=$("$CLI" token list --json | jq -r '.items[0].id')
exits 'a token can be revoked' 0 "$CLI" token revoke "$id"
is 'and shows as such' "$("$CLI" token list --json | jq -r '.items[0].revoked_at != null')" true
exits 'an id that is not there cannot' 1 "$CLI" token revoke 0123456789abcdef
exits 'an unknown scope is refused' 1 "$CLI" token create --owner ada --scopes root
exits 'a token needs an owner' 64 "$CLI" token create
exits 'an odd life time is refused' 64 "$CLI" token create --owner ada --days 0
exits 'an unknown action is refused' 64 "$CLI" token destroy

sql "SET session_replication_role = replica; INSERT INTO blobs (sha256, kind, size, data)
     VALUES (decode(repeat('00', 32), 'hex'), 'source', 3, 'abc')" || bail 'cannot damage the database'
exits 'a blob whose hash is wrong is found' 1 "$CLI" fsck
like 'and named' "$(cat "$TMP/out")" '^problem: 1 blobs .*SHA-256'
done_testing
