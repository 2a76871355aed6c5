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

# damaged FAULT STATEMENT: fsck finds what the statement does to a new submission, ID, and its
# evaluation, EV. Constraints that would forbid it are off.
damaged()
{
    id=$(sql "SELECT id FROM submission_create(gen_random_uuid(), 0, '{}', 'x', 'gemm', 'small', 'sm_90a',
        'cuda', 'cpu', 'rank', NULL, NULL, 'public', 1, 60, 1000, NULL, NULL)")
    ev=$(sql "SELECT id FROM evaluations WHERE submission_id = '$id'")
    unlike "sound as to '$1'" "$("$CLI" fsck)" "$1"
    sql "SET session_replication_role = replica; $(printf '%s' "$2" | sed "s/ID/'$id'/g; s/EV/$ev/g")" ||
        bail 'cannot damage the database'
    exits 'the damage is found' 1 "$CLI" fsck
    like 'and named' "$(cat "$TMP/out")" "^problem: 1 $1"
}

RESULT='INSERT INTO results (evaluation_id, attempt, verdict, report_sha) SELECT EV'
damaged 'blobs whose bytes do not have their SHA-256' \
    "INSERT INTO blobs (sha256, kind, size, data) VALUES (decode(repeat('00', 32), 'hex'), 'source', 3, 'abc')"
damaged 'submissions without an evaluation' 'DELETE FROM evaluations WHERE id = EV'
damaged 'submissions that are done without a result' "UPDATE submissions SET state = 'done' WHERE id = ID"
damaged 'submissions that are not done but have the result' \
    "$RESULT, 0, 'PASSED', sha256 FROM blobs LIMIT 1"
damaged 'submissions that wait for a job that is not there' 'DELETE FROM jobs WHERE subject_id = EV'
damaged 'finished jobs without a result' "UPDATE submissions SET state = 'done' WHERE id = ID;
    UPDATE jobs SET state = 'failed', finished_at = now() WHERE subject_id = EV"
damaged "results of an attempt other than the job's last" \
    "UPDATE jobs SET state = 'succeeded', finished_at = now() WHERE subject_id = EV;
     UPDATE submissions SET state = 'done' WHERE id = ID; $RESULT, 9, 'PASSED', sha256 FROM blobs LIMIT 1"
damaged 'running jobs whose lease ended over 10 minutes ago' \
    "UPDATE jobs SET state = 'running', lease_until = now() - interval '1 hour' WHERE subject_id = EV;
     UPDATE submissions SET state = 'running' WHERE id = ID"
damaged "events numbered past their submission's rev" \
    "INSERT INTO events (topic, seq, kind, data) VALUES (ID, 99, 'state', '{}')"
done_testing
