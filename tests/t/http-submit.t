#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# POST /v1/submissions: what is taken, what is refused and where it says the fault is, keys, limits, tokens.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/http-fake.sh"
db_start && server_start --queued-limit 5 --trusted-proxy 10.0.0.0/8

# --- bad JSON bodies: status, path of the first fault ---
# refused NAME STATUS PATH FILTER
refused()
{
    json_body "$4"
    is "$1: $2" "$(post_json "$TMP/request")" "$2"
    is "$1: at $3" "$(json '[.errors[].path] | index("'"$3"'") != null')" true || diag "$(cat "$TMP/body")"
}
refused 'no problem' 422 '$.problem' 'del(.problem)'
refused 'unknown problem' 422 '$.problem' '.problem = "gem"'
refused 'problem of the wrong type' 422 '$.problem' '.problem = 3'
refused 'unknown workload' 422 '$.workload' '.workload = "huge"'
refused 'unknown architecture' 422 '$.arch' '.arch = "sm_12"'
refused 'unknown device' 422 '$.device' '.device = "tpu"'
refused 'unknown language' 422 '$.language' '.language = "rust"'
refused 'unknown mode' 422 '$.mode' '.mode = "fast"'
refused 'unknown field' 422 '$.sauce' '.sauce = 1'
refused 'no source' 422 '$.source' 'del(.source)'
refused 'source that is not text' 422 '$.source' '.source = ["x"]'
refused 'NUL in the source' 422 '$.source' '.source += "\u0000"'
refused 'source of the limit + 1' 422 '$.source' '.source = "x" * 1048577'
refused 'label of the limit + 1' 422 '$.label' '.label = "x" * 201'
refused 'option that is not allowed' 422 '$.options[0]' '.options = ["-I/etc"]'
refused 'visibility unknown' 422 '$.visibility' '.visibility = "secret"'
refused 'private without a token' 422 '$.visibility' '.visibility = "private"'
refused 'both plans given' 422 '$.launch' '.launch = {launches: [{kernel: "k", grid: [1], block: [1], args: []}]}'
plan='.source |= sub("/\\*ptxbench-launch[^*]*\\*/"; "") | .launch = {launches: [{kernel: "gemm_naive", grid: [1], block: [32], args: [{tensor: "A"}]}]} | .launch.launches[0]'
refused 'grid 0' 422 '$.launch.launches[0].grid[0]' "$plan.grid = [0]"
refused 'grid over the limit' 422 '$.launch.launches[0].grid[1]' "$plan.grid = [1, 65536]"
refused 'block of 1025' 422 '$.launch.launches[0].block[0]' "$plan.block = [1025]"
refused 'too much shared memory' 422 '$.launch.launches[0].shared_bytes' "$plan.shared_bytes = 1000000"
refused 'overflow in an expression' 422 '$.launch.launches[0].grid[0]' "$plan.grid = [\"M*9223372036854775807\"]"
refused 'inexact division' 422 '$.launch.launches[0].grid[0]' "$plan.grid = [\"M/7\"]"
refused 'unknown tensor' 422 '$.launch.launches[0].args[0].tensor' "$plan.args = [{tensor: \"Z\"}]"

# --- bodies that are no submission at all ---
printf '{"problem": "gemm"' >"$TMP/request"
is 'half a JSON text is 400' "$(post_json "$TMP/request")" 400
is 'with the code not_json' "$(json .code)" not_json
printf '[1, 2]' >"$TMP/request"
is 'a JSON list is 422' "$(post_json "$TMP/request")" 422
printf '' >"$TMP/request"
is 'an empty JSON body is 400' "$(post_json "$TMP/request")" 400
printf '{"problem": "gemm", "problem": "gemm"}' >"$TMP/request"
is 'a member given twice is 400' "$(post_json "$TMP/request")" 400
head -c 200000 /dev/zero | tr '\0' '[' >"$TMP/request"
is 'deep nesting is 400' "$(post_json "$TMP/request")" 400
printf '{"problem": "\377"}' >"$TMP/request"
is 'JSON that is not UTF-8 is 400' "$(post_json "$TMP/request")" 400
printf 'a\377b' >"$TMP/request"
is 'a source that is not UTF-8 is 422' "$(http POST "/v1/submissions?$PTX_QUERY" --data-binary "@$TMP/request")" 422
printf 'a\000b' >"$TMP/request"
is 'a source with a NUL is 422' "$(http POST "/v1/submissions?$PTX_QUERY" --data-binary "@$TMP/request")" 422
is 'an empty source is 422' "$(http POST "/v1/submissions?$PTX_QUERY")" 422
is 'a bare source without a problem is 422' "$(http POST '/v1/submissions?arch=sm_90a' --data-binary "@$PTX_FILE")" 422
json_body .
is 'fields in the query beside JSON are 400' "$(http POST '/v1/submissions?label=x' -H 'Content-Type: application/json' --data-binary "@$TMP/request")" 400
is 'wait=61 is 400' "$(http POST '/v1/submissions?wait=61' -H 'Content-Type: application/json' --data-binary "@$TMP/request")" 400
is 'wait=x is 400' "$(http POST "/v1/submissions?$PTX_QUERY&wait=x" --data-binary "@$PTX_FILE")" 400
is 'dry_run=2 is 400' "$(http POST "/v1/submissions?$PTX_QUERY&dry_run=2" --data-binary "@$PTX_FILE")" 400
is 'nothing of all that was stored' "$(sql 'SELECT count(*) FROM submissions')" 0

# --- good ones ---
is 'dry_run is 200' "$(http POST "/v1/submissions?$PTX_QUERY&dry_run=1" --data-binary "@$PTX_FILE")" 200
is 'and shows the lane' "$(json .lane)" sm_90a/cpu
is 'and the workload it would get' "$(json .submission.workload)" small
is 'and stores nothing' "$(sql 'SELECT count(*) FROM submissions')" 0
post_ptx 'label=J%C3%B6rg'
is 'a bare source is 202' "$STATUS" 202
like 'Location is its address' "$(header location)" "^/v1/submissions/$ID\$"
is 'it is queued' "$(json .state)" queued
is 'at place 1' "$(json .position)" 1
is 'its lane has no worker, and says so' "$(json .lane.healthy)" false
is 'the limit is stated' "$(header ratelimit-limit)/$(header ratelimit-remaining)" 5/4
is 'the label came through' "$(json .label)" 'Jörg'
http GET "/v1/submissions/$ID" -H 'Accept: text/plain' >/dev/null
like 'that nobody serves its lane is told in text too' "$(cat "$TMP/body")" \
    '^queued position 1, no worker serves sm_90a/cpu$'
is 'the source comes back byte for byte' "$(http GET "/v1/submissions/$ID/source")$(cmp "$TMP/body" "$PTX_FILE" && echo same)" 200same
like 'the source is shown as text' "$(header content-type)" '^text/plain'
json_body '.label = "by json"'
is 'a JSON body is 202' "$(post_json "$TMP/request")" 202

# --- Idempotency-Key ---
post_ptx '' -H 'Idempotency-Key: k1'
first=$ID
post_ptx 'wait=0' -H 'Idempotency-Key: k1'
is 'the same key and body give the same submission' "$ID" "$first"
is 'which is not stored twice' "$(sql 'SELECT count(*) FROM submissions')" 3
post_ptx 'label=other' -H 'Idempotency-Key: k1'
is 'the same key and another body are 409' "$STATUS $(json .code)" '409 idempotency_key_reused'
post_ptx '' -H "Idempotency-Key: $(printf '%0201d' 0)"
is 'a key of 201 bytes is 400' "$STATUS" 400
post_ptx '' -H 'Idempotency-Key;'
is 'an empty key is 400' "$STATUS" 400

# --- limit of unfinished ones ---
for i in 1 2 3 4 5 6 7 8; do
    (http POST "/v1/submissions?$PTX_QUERY&label=flood$i" --data-binary "@$PTX_FILE" -o /dev/null -D /dev/null) &
done >"$TMP/statuses"
wait_for 10 sh -c "[ \$(grep -o '202\|429' '$TMP/statuses' | wc -l) -eq 8 ]"
is 'eight at once where two fit: exactly two are taken' "$(grep -o 202 "$TMP/statuses" | wc -l)" 2
post_ptx
is 'one too many is 429' "$STATUS $(json .code)" '429 quota_exceeded'
is 'with nothing remaining' "$(header ratelimit-remaining)" 0
like 'and a time to come back' "$(header retry-after)" '^[0-9]+$'
http POST "/v1/submissions/$first/cancel" >/dev/null
post_ptx
is 'a cancelled one makes room' "$STATUS" 202

# --- tokens ---
add_token alice submit,read tokenA
add_token bob submit,read tokenB
add_token root submit,read,admin tokenR
add_token eve read tokenE
post_ptx '' -H 'Authorization: Bearer nonsense'
is 'an unknown token is 401' "$STATUS $(json .code)" '401 unauthorized'
post_ptx '' -H 'Authorization: Basic abc'
is 'another scheme is 401' "$STATUS" 401
post_ptx '' -H 'Authorization: Bearer tokenE'
is 'a token without the scope is 403' "$STATUS" 403
post_ptx 'visibility=private' -H 'Authorization: Bearer tokenA'
is 'a private submission is taken with a token' "$STATUS $(json .owner) $(json .visibility)" '202 alice private'
for path in '' /source /report /events; do
    is "a foreign private one is 404: GET …$path" "$(http GET "/v1/submissions/$ID$path" -H 'Authorization: Bearer tokenB')" 404
done
is 'without a token too' "$(http GET "/v1/submissions/$ID")" 404
is 'to cancel it is 404 too' "$(http POST "/v1/submissions/$ID/cancel" -H 'Authorization: Bearer tokenB')" 404
is 'it is in no foreign list' "$(http GET /v1/submissions -H 'Authorization: Bearer tokenB')$(json "[.items[].id] | index(\"$ID\")")" 200null
is 'its owner sees it' "$(http GET "/v1/submissions/$ID" -H "Authorization: Bearer tokenA")" 202 ||
    diag "$(cat "$TMP/body")"
is 'an administrator sees it' "$(http GET "/v1/submissions/$ID" -H "Authorization: Bearer tokenR")" 202
sql "UPDATE tokens SET revoked_at = now() WHERE sha256 = sha256('tokenA')"
is 'a revoked token ends at once' "$(http GET "/v1/submissions/$ID" -H 'Authorization: Bearer tokenA')" 401

# --- who may submit without one ---
post_ptx '' -H 'X-Forwarded-For: 127.0.0.1'
is 'not somebody behind a proxy, whatever it claims' "$STATUS" 401
post_ptx '' -H 'Via: 1.1 somewhere'
is 'by any sign of a proxy' "$STATUS" 401
unlike 'no token is logged' "$(cat "$TMP/server.log")" 'token[ABRE]'
done_testing
