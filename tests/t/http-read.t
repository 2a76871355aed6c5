#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What can be read: lists and their pages, tables, boards, artefacts, catalog, operation.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/http-fake.sh"
db_start && server_start --db-threads 5
fake_worker

# --- five submissions: timed, timed, wrong, untimed and loose, waiting ---
timed='"cand_us": 10, "base_us": 15, "base_name": "cuBLAS", "base_version": "13", "inst": true, "tensor_share": 0.98'
timed="$timed, \"target_counts\": {\"gmma\": 5, \"tma\": 2}"
add()
{
    post_ptx "label=$1"
    [ -z "$2" ] || { fake_claim && fake_finish "$2"; }
}
add first "{\"speedup\": 1.5, \"ci_lo\": 1.4, \"ci_hi\": 1.6, $timed}"
first=$ID
add second "{\"speedup\": 1.1, \"ci_lo\": 1.05, \"ci_hi\": 1.15, $timed}"
add wrong '{"verdict": "INCORRECT_NUMERICAL", "detail": "C differs"}'
wrong=$ID
add loose '{"flags": 1}'
add '=waiting%2C%22' ''
waiting=$ID

# --- list ---
is 'the list is 200' "$(http GET /v1/submissions)" 200
is 'newest first' "$(json '[.items[].label] | join(" ")')" '=waiting," loose wrong second first'
is 'a verdict that does not exist is refused' "$(http GET '/v1/submissions?verdict=NOPE')" 400
like 'with those that do' "$(json .detail)" 'PASSED, INCORRECT_NUMERICAL'
is 'a state that does not exist too' "$(http GET '/v1/submissions?state=over')" 400
is 'a filter by verdict' "$(http GET '/v1/submissions?verdict=PASSED')$(json '.items | length')" 2003
is 'a filter by state and label' "$(http GET '/v1/submissions?state=done&label=first')$(json '.items[0].id')" "200$first"
http GET '/v1/submissions?limit=2&arch=sm_90a' >/dev/null
like 'a full page links the next' "$(header link)" '^</v1/submissions\?cursor=[0-9a-f-]{36}&limit=2&arch=sm_90a>; rel="next"$'
pages='' address='/v1/submissions?limit=2&arch=sm_90a'
for page in 1 2 3; do
    http GET "$address" >/dev/null
    pages="$pages $(json '[.items[].label] | join(" ")')"
    address=$(header link | sed 's/^<\(.*\)>.*/\1/')
done
is 'pages follow each other without gap or repeat' "$pages" ' =waiting," loose wrong second first'
is 'the last has no next' "$address" ''
is 'CSV of it' "$(http GET '/v1/submissions?format=csv&limit=1') $(header content-type)" '200 text/csv; charset=utf-8'
like 'a label that a spreadsheet would run is quoted' "$(cat "$TMP/body")" "\"'=waiting,\"\"\""
is 'another format is 400' "$(http GET '/v1/submissions?format=xml')" 400
http GET '/v1/submissions' >/dev/null
is 'a list has a tag' "$(http GET /v1/submissions -H "If-None-Match: $(header etag)")" 304

# --- one ---
is 'a timed one' "$(http GET "/v1/submissions/$first") $(json '"\(.verdict) \(.speedup.value) \(.speedup.ci95[0]) \(.candidate_us) \(.baseline.name) \(.target.executed)"')" \
    '200 PASSED 1.5 1.4 10 cuBLAS true'
etag=$(header etag)
is 'with its plan, which came in a comment of the source' "$(json '.launch.launches[0].kernel')" gemm_naive
is 'unchanged: 304, without a body' "$(http GET "/v1/submissions/$first" -H "If-None-Match: $etag" -w '%{http_code} %{size_download}')" '304 0'
http GET "/v1/submissions/$first" -H 'Accept: text/plain' >/dev/null
like 'in five lines' "$(cat "$TMP/body")" '^speedup: 1.500 \[1.400, 1.600\] over cuBLAS 13, 10.00 us$'
is 'ptx' "$(http GET "/v1/submissions/$first/ptx") $(cat "$TMP/body")" '200 // made up'
like 'a download is named by its id' "$(header content-disposition)" "filename=\"$first.ptx\""
is 'a cubin that is not there is 404' "$(http GET "/v1/submissions/$first/cubin")" 404
is 'the report is JSON' "$(http GET "/v1/submissions/$first/report") $(json .schema) $(header content-type)" '200 1 application/json'

# --- board ---
board='/v1/leaderboard?problem=gemm&arch=sm_90a&device=cpu'
is 'the board' "$(http GET "$board") $(json '[.items[] | "\(.rank) \(.label)"] | join(", ")')" '200 1 first, 2 second, null loose'
is 'its workload is the default of the device' "$(json .workload)" small
unlike 'a wrong one is on no board' "$(cat "$TMP/body")" "$wrong"
is 'unchanged: 304' "$(http GET "$board" -H "If-None-Match: $(header etag)")" 304
is 'as CSV' "$(http GET "$board&format=csv") $(wc -l <"$TMP/body")" '200 4'
unlike 'numbers are not smeared' "$(cat "$TMP/body")" '[0-9]{16}'
is 'with what was executed of each family' "$(grep -c ',tma=2 gmma=5,' "$TMP/body")" 2
is 'a wrong one stays off it' "$(grep -c "$wrong" "$TMP/body")" 0
http GET "$board" >/dev/null
fake_claim && fake_finish "{\"speedup\": 1.3, \"ci_lo\": 1.2, \"ci_hi\": 1.4, $timed}"
is 'a new entry shows at once, also on a board that was just asked for' \
    "$(http GET "/v1/submissions/$waiting?wait=10") $(http GET "$board") $(json '.items[1].id')" "200 200 $waiting"
sql "UPDATE submissions SET visibility = 'private' WHERE id = '$waiting'"
sleep 2.5
http GET "$board" >/dev/null
unlike 'a change that nobody announced shows soon' "$(cat "$TMP/body")" "$waiting"
post_ptx
is 'unknown problem is 400' "$(http GET '/v1/leaderboard?problem=x&arch=sm_90a')" 400
is 'unknown workload is 400' "$(http GET "$board&workload=x")" 400
is 'no arch is 400' "$(http GET '/v1/leaderboard?problem=gemm')" 400
like 'and says which there are' "$(json .detail)" '/v1/archs'
is 'a board nobody is on is empty' "$(http GET '/v1/leaderboard?problem=gemm&arch=sm_100a') $(json '.items | length')" '200 0'

# --- taken off by an operator ---
add_token boss admin ptxb_admin
add_token ann submit ptxb_ann
boss='Authorization: Bearer ptxb_admin'
is 'to hide takes a token, also on this machine' "$(http POST "/v1/submissions/$first/hide?reason=x")" 401
is 'with the scope admin' "$(http POST "/v1/submissions/$first/hide?reason=x" -H 'Authorization: Bearer ptxb_ann')" 403
is 'and a reason' "$(http POST "/v1/submissions/$first/hide" -H "$boss") $(http POST "/v1/submissions/$first/hide?reason=" -H "$boss")" '400 400'
is 'of what there is' "$(http POST "/v1/submissions/01a22971-c52b-75bd-b28d-feb012af546b/hide?reason=x" -H "$boss")" 404
is 'hidden' "$(http POST "/v1/submissions/$first/hide?reason=reads%20%3Cfiles%3E" -H "$boss") $(json .hidden.reason)" '200 reads <files>'
http GET "$board" >/dev/null
is 'it is off the board at once, and stands below with the reason' \
    "$(json '"\(.items[0].label): \([.hidden[] | .label + " " + .reason] | join(","))"')" 'second: first reads <files>'
is 'it says so itself' "$(http GET "/v1/submissions/$first") $(json .hidden.reason) $(json .rank)" '200 reads <files> null'
http GET '/board?problem=gemm&arch=sm_90a&device=cpu' >/dev/null
like 'so does the plain page' "$(cat "$TMP/body")" "$first\">first</a>: reads &lt;files&gt;"
ok 'the command line puts it back' env PTXBENCH_TOKEN=ptxb_admin "$BIN/ptxbench" unhide "$first"
exits 'it hides with a reason only' 64 "$BIN/ptxbench" hide "$first"
exits 'and a token' 1 env PTXBENCH_TOKEN=ptxb_ann "$BIN/ptxbench" hide "$first" --reason x
is 'it is back' "$(http GET "$board") $(json '.items[0].label') $(json '.hidden | length')" '200 first 0'
ok 'boards are those of the results' "$BIN/ptxbench" fsck

# --- the same answer, kept, compressed or not ---
for form in '' '' 'Accept-Encoding: gzip' 'Accept-Encoding: gzip'; do
    http GET "$board&limit=77" --compressed -H "${form:-Accept-Encoding: identity}" >/dev/null
    md5sum <"$TMP/body"
done | sort -u >"$TMP/sums"
is 'a kept answer is the answer' "$(wc -l <"$TMP/sums" | tr -d ' ')" 1
is 'its tag too' "$(http GET "$board&limit=77" -H "If-None-Match: $(header etag)") $(http GET "$board&limit=77" -H 'If-None-Match: "x"')" '304 200'
is 'a bad token gets no kept answer' "$(http GET "$board&limit=77" -H 'Authorization: Bearer ptxb_none')" 401
is 'the board of one baseline' "$(http GET "$board&baseline=cuBLAS") $(json '[.items[].label] | join(" ")') $(json .baseline)" \
    '200 first second loose cuBLAS'
is 'and of another' "$(http GET "$board&baseline=cuDNN") $(json '[.items[].label] | join(" ")') $(json '.baselines | join(" ")')" '200 loose cuBLAS'
is 'of an epoch; which there are' "$(http GET "$board&epoch=1") $(json '.items | length') $(json '.epochs | @csv')" '200 3 1'
is 'and of none' "$(http GET "$board&epoch=7") $(json '.items | length')" '200 0'
is 'it says what it takes' "$(json .flops)" 134217728

# --- catalog ---
is 'problems' "$(http GET /v1/problems) $(json '[.items[].name] | join(" ")')" \
    '200 gemm mha_bwd mha_bwd_causal mha_fwd mha_fwd_causal'
is 'one problem is its document' "$(http GET /v1/problems/gemm) $(jq -cS . "$TMP/body" | md5sum)" \
    "200 $(jq -cS . "$ROOT/problems/gemm/problem.json" | md5sum)"
is 'unchanged: 304' "$(http GET /v1/problems/gemm -H "If-None-Match: $(header etag)")" 304
is 'an unknown one is 404' "$(http GET /v1/problems/none)" 404
is 'archs' "$(http GET /v1/archs) $(json '[.items[].name] | join(" ")')" '200 sm_90a sm_100a'
is 'an unknown one is 404' "$(http GET /v1/archs/sm_12)" 404

# --- operation ---
is 'queue' "$(http GET /v1/queue) $(json '.lanes[] | select(.name == "sm_90a/cpu") | .queued')" '200 1'
is 'workers' "$(http GET /v1/workers) $(json '.items[0].name')" '200 fake'
is 'version' "$(http GET /version) $(json .api)" '200 v1'
is 'ready, with the lanes' "$(http GET /readyz) $(json .ready) $(json '.lanes | length > 0')" '200 true true'
is 'the index says what verdicts mean' "$(http GET /v1) $(json '.verdicts[] | select(.name == "TIMEOUT").meaning')" \
    '200 the kernel did not finish in time'
is 'architectures name their devices' "$(http GET /v1/archs) $(json '.items[] | select(.name == "sm_90a").devices | index("h200") != null')" '200 true'
is 'the index names the endpoints' "$(http GET /v1) $(json '[.endpoints[].path] | index("/v1/leaderboard") != null')" '200 true'
is 'OpenAPI' "$(http GET /v1/openapi.json) $(json .openapi)" '200 3.1.0'
is 'every path of it is there' "$(json '[.paths | keys[] | select(startswith("/v1/submissions"))] | length')" 12
is 'metrics' "$(http GET /metrics)" 200
for row in 'ptxbench_http_requests_total{method="GET",route="/v1/submissions",status="200"} [1-9]' \
    'ptxbench_http_request_seconds_count [1-9]' 'ptxbench_db_pool_threads 5' 'ptxbench_db_up 1' 'ptxbench_submissions 6' 'ptxbench_llm_calls_open 0' \
    'ptxbench_jobs_queued{lane="sm_90a/cpu",priority="0"} 1'; do
    like "metrics hold ${row% *}" "$(cat "$TMP/body")" "^$(printf '%s' "$row" | sed 's/[{}]/\\&/g')"
done
is 'each line of it is well formed' "$(grep -vcE '^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)*\})? [-+0-9.e]+(Inf|NaN)?)$' "$TMP/body")" 0
done_testing
