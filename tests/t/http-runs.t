#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Agent runs over HTTP: starting, reading, following, changing, out to files and back in. What agents do is played with
# the queue's own SQL functions.
. "$(dirname "$0")/lib.sh"
. "$T_DIR/http-fake.sh"
db_start && server_start
add_token alice submit,read alice-secret-token
add_token bob submit,read bob-secret-token
ALICE='Authorization: Bearer alice-secret-token'
BOB='Authorization: Bearer bob-secret-token'

# body [FILTER]: a small run, changed by a jq filter, written to $TMP/request.
body()
{
    jq -n '{problem: "gemm", workload: "small", arch: "sm_90a", device: "cpu", provider: "replay", model: "m/1",
            variants: ["parameters", "contract"], trajectories: 1, turns: 2}' | jq "${1:-.}" >"$TMP/request"
}

# post PATH [CURL OPTION…]: sends $TMP/request as JSON; prints the status.
post()
{
    po_path=$1
    shift
    http POST "$po_path" -H 'Content-Type: application/json' --data-binary "@$TMP/request" "$@"
}

# start [FILTER [CURL OPTION…]]: sets RUN.
start()
{
    body "${1:-.}"
    [ $# -eq 0 ] || shift
    post /v1/runs "$@" >/dev/null
    RUN=$(json .id)
}

# --- the agent ---

# claim: sets JOB, ATTEMPT and AT (trajectory/n), work in $TMP/work; and the messages that the work makes in $TMP/sent.
claim()
{
    sql "SELECT id, attempt, trajectory || '/' || n, work FROM step_claim('fake', '{llm/replay}', interval '1 hour')" >"$TMP/claimed"
    IFS='|' read -r JOB ATTEMPT AT _ <"$TMP/claimed"
    sed 's/^[^|]*|[^|]*|[^|]*|//' "$TMP/claimed" >"$TMP/work"
    jq -cjS '[{role: "system", content: .system}, {role: "user", content: .task}] +
        ([.past[] | ({role: "assistant", content: .answer} + if .blocks then {blocks} else {} end),
                    {role: "user", content: .feedback}])' "$TMP/work" >"$TMP/sent"
}

hex()
{
    od -An -v -tx1 "$1" | tr -d ' \n'
}

# ask: the call is made with the bytes of $TMP/sent; sets CALL.
ask()
{
    CALL=$(echo "SELECT call FROM call_start($JOB, $ATTEMPT, 'fake', decode('$(hex "$TMP/sent")', 'hex'), 1000, 0.5);" |
        psql -qXAt -v ON_ERROR_STOP=1 "$DATABASE")
}

# answer TEXT
answer()
{
    sql "SELECT call_finish($JOB, $ATTEMPT, $CALL, '{\"status\": \"stored\", \"finish\": \"stop\", \"tokens_in\": 900,
         \"tokens_out\": 70, \"reasoning_tokens\": 20, \"usd\": 0.25, \"http_status\": 200}',
         convert_to('$1', 'UTF8'), convert_to('a thought', 'UTF8'), '[{\"type\": \"thinking\", \"signature\": \"x\"}]')" >/dev/null
}

# conclude LABEL SPEEDUP|NULL FEEDBACK [EXTRACTION]
conclude()
{
    co_correct=false
    [ "$1" != correct ] || co_correct=true
    sql "SELECT step_conclude($JOB, $ATTEMPT, '$1', $co_correct, false, NULL, $2, 20, '${4:-kernel}',
         convert_to('__global__ void k() {}', 'UTF8'), NULL, '{\"turn\": 1, \"verdict\": \"INCORRECT_NUMERICAL\"}', '$3')" >/dev/null
}

# --- what is refused ---
# refused NAME STATUS PATH FILTER
refused()
{
    body "$4"
    is "$1: $2" "$(post /v1/runs)" "$2"
    is "$1: at $3" "$(json '[.errors[].path] | index("'"$3"'") != null')" true || diag "$(cat "$TMP/body")"
}
refused 'no model' 422 '$.model' 'del(.model)'
refused 'unknown variant' 422 '$.variants[1]' '.variants = ["contract", "none"]'
like 'names those that there are' "$(json .detail)" 'there are: backward-forward, backward, complete'
refused 'params with an address' 422 '$.params.url' '.params = {url: "http://127.0.0.1"}'
refused 'private without a token' 422 '$.visibility' '.visibility = "private"'
body '.turns = 0 | .arch = "sm_1" | .budget = {usd: -1}'
is 'every fault is in one answer' "$(post /v1/runs) $(json '[.errors[].path] | sort | join(" ")')" '422 $.arch $.budget.usd $.turns'
body
is 'a body that does not say it is JSON is 415' "$(http POST /v1/runs --data-binary "@$TMP/request")" 415
is 'an Idempotency-Key is refused rather than forgotten' "$(post /v1/runs -H 'Idempotency-Key: a') $(json .code)" '400 bad_request'
is 'nothing was stored' "$(http GET /v1/runs) $(json '.items | length')" '200 0'

# --- dry run ---
body 'del(.variants)'
is 'a dry run is 200' "$(post '/v1/runs?dry_run=1') $(json .valid)" '200 true'
is 'with every default' "$(json '.run | [.history, .feedback, .target_speedup, (.variants | join(" "))] | @csv')" \
    '"full","full",1.2,"complete gemm-multicast gemm-warps"'
is 'and whether anybody serves it' "$(json '.lane | [.name, .healthy, .workers] | @csv')" '"llm/replay",false,0'
is 'the messages are system and task' "$(json '[.messages[0].messages[].role] | join(" ")')" 'system user'
json '[.messages[0].messages[].content] | join("\n")' >"$TMP/both"
http GET '/v1/prompts/preview?arch=sm_90a&problem=gemm&workload=small&variant=complete' -H 'Accept: text/plain' >/dev/null
is 'which are the prompt' "$(cat "$TMP/both")" "$(cat "$TMP/body")"
is 'nothing was stored by it' "$(sql 'SELECT count(*) FROM runs')" 0

# --- start and read ---
body
is 'a run is 201' "$(post /v1/runs) $(json .state)" '201 running'
RUN=$(json .id)
is 'with its address' "$(header location)" "/v1/runs/$RUN"
is 'and its links' "$(json '[.url, .events] | join(" ")')" "/v1/runs/$RUN /v1/runs/$RUN/events"
is 'it is shown' "$(http GET "/v1/runs/$RUN") $(json '[.state, .trajectories, .turns, .model, .owner] | @csv')" '200 "running",2,2,"m/1","anonymous"'
is 'every trajectory stands at its first call' "$(json '[.grid[] | .at.n, .at.state] | @csv')" '0,"call",0,"call"'
is 'nobody serves its lane' "$(json '.lane | [.name, .healthy, .workers] | @csv')" '"llm/replay",false,0'
tag=$(header etag)
is 'what has not changed is 304' "$(http GET "/v1/runs/$RUN" -H "If-None-Match: $tag")" 304
sql "SELECT worker_start('fake', 'host', 'llm', 'llm:host', 'agent', NULL, '{llm/replay}', interval '1 hour')" >/dev/null
is 'somebody who serves it shows' "$(http GET "/v1/runs/$RUN" -H "If-None-Match: $tag") $(json .lane.healthy)" '200 true'
tag=$(header etag)
is 'a run in the list' "$(http GET '/v1/runs?state=running&model=m/1&problem=gemm&owner=anonymous') $(json '.items[].id')" "200 $RUN"
is 'a filter that fits none' "$(http GET '/v1/runs?model=other') $(json '.items | length')" '200 0'
is 'a state that is none is 400' "$(http GET '/v1/runs?state=queued')" 400
is 'a wait that runs out is 202' "$(http GET "/v1/runs/$RUN?wait=1") $(header location)" "202 /v1/runs/$RUN"
is 'there is no such run' "$(http GET /v1/runs/01a22971-c52b-75bd-b28d-feb012af546b)" 404
is 'nor is a run a submission' "$(http GET "/v1/submissions/$RUN/events")" 404
post_ptx
is 'nor a submission a run' "$(http GET "/v1/runs/$ID/events")" 404

# --- the messages of a call: preview, what the agent sends and what is stored are the same bytes ---
# same NAME PATH
same()
{
    is "$1: 200" "$(http GET "$2")" 200
    is "$1: the bytes that the work makes" "$(jq -cjS .messages "$TMP/body" | sha256sum)" "$(sha256sum <"$TMP/sent")"
    is "$1: named by them" "$(json .sha256)" "$(sha256sum <"$TMP/sent" | cut -d ' ' -f 1)"
}
claim
of="/v1/runs/$RUN/trajectories/${AT%/*}"
same 'before the call' "$of/messages"
is 'not sent yet' "$(json .sent)" false
ask
same 'while it is made' "$of/messages?n=0"
is 'sent' "$(json .sent)" true
answer 'first answer: é'
conclude numerical NULL 'it is wrong'
is 'a word is added' "$(echo '{"n": 0, "text": "look at the strides"}' >"$TMP/request" && post "$of/supervision") $(json .state)" '200 running'
first=${AT%/*}
claim
[ "${AT%/*}" = "$first" ] || { sql "SELECT job_release($JOB, $ATTEMPT)" >/dev/null && claim; }
claim_of=${AT%/*}
of="/v1/runs/$RUN/trajectories/$claim_of"
same 'of any turn' "$of/messages?n=${AT#*/}"
is 'a turn that cannot be told yet is 404' "$(http GET "$of/messages?n=7")" 404
is 'a trajectory that is not there is 404' "$(http GET "/v1/runs/$RUN/trajectories/9/messages")" 404
is 'nor is one over what a run has' "$(http GET "/v1/runs/$RUN/trajectories/99999999999999999999")" 404
sql "SELECT job_release($JOB, $ATTEMPT)" >/dev/null
is 'the turn after it' "$(http GET "/v1/runs/$RUN/trajectories/$first/messages") $(json '.messages[3].content')" \
    '200 it is wrong

look at the strides'
is 'blocks go back as they came' "$(json '.messages[2].blocks')" '[
  {
    "type": "thinking",
    "signature": "x"
  }
]'
is 'a trajectory whole' "$(http GET "/v1/runs/$RUN/trajectories/$first") $(json '[.steps[0] | .label, .counted, .feedback_text, .supervision, .call.answer, .call.reasoning] | @csv')" \
    '200 "numerical",true,"it is wrong","look at the strides","first answer: é","a thought"'
is 'the grid has the turn' "$(http GET "/v1/runs/$RUN" -H "If-None-Match: $tag") $(json "[.grid[$first].turns[] | .n, .label, .usd] | @csv")" '200 0,"numerical",0.25'
is 'and the run what it spent' "$(json '[.spent.calls, .spent.tokens_in, .spent.tokens_out, .spent.usd] | @csv')" '1,900,70,0.25'

# --- events, and the end ---
rm -f "$TMP/ended"
(
    curl -sSN --max-time 60 "$URL/v1/runs/$RUN/events" >"$TMP/events" 2>&1
    : >"$TMP/ended"
) &
ok 'what was is sent first' wait_for 10 grep -q '^event: feedback' "$TMP/events"
(
    http GET "/v1/runs/$RUN?wait=30" >"$TMP/waited"
) &
waiter=$!
turns=0
while [ "$turns" -lt 3 ]; do
    claim
    ask
    answer "answer $AT"
    conclude correct 0.5 "good $AT"
    turns=$((turns + 1))
done
wait "$waiter"
is 'who waited gets the end' "$(cat "$TMP/waited")" 200
ok 'the stream ends with the run' wait_for 10 test -e "$TMP/ended"
is 'every event came once, in order' "$(sed -n 's/^id: //p' "$TMP/events" | tr '\n' ' ')" \
    "$(sql "SELECT string_agg(seq || ' ', '' ORDER BY seq) FROM events WHERE topic = '$RUN'")"
like 'turns began' "$(cat "$TMP/events")" '^event: turn$'
like 'the last says done' "$(grep '^data:' "$TMP/events" | tail -n 1)" '"state":"done"'
rev=$(sed -n 's/^id: //p' "$TMP/events" | tail -n 1)
is 'with nothing to come it is 204' "$(http GET "/v1/runs/$RUN/events" -H "Last-Event-ID: $rev")" 204
is 'a number that never was: the whole run' "$(curl -sSN --max-time 5 -H 'Last-Event-ID: 999' "$URL/v1/runs/$RUN/events" | sed -n 's/^data: //p' | jq -r '[.state, (.grid | length)] | @csv')" '"done",2'
is 'it is done' "$(http GET "/v1/runs/$RUN?wait=60" --max-time 5) $(json '[.state, .reason, .done, .best.speedup] | @csv')" '200 "done",,4,0.5'
is 'and says nothing of who serves it' "$(json 'has("lane")')" false

# --- changes ---
is 'cancel of a done one is 409' "$(http POST "/v1/runs/$RUN/cancel") $(json .code)" '409 conflict'
is 'resume of a done one is 409' "$(http POST "/v1/runs/$RUN/resume")" 409
echo '{}' >"$TMP/request"
is 'extend must say how far' "$(post "/v1/runs/$RUN/extend") $(json '.errors[0].path')" '422 $'
echo '{"turns": 65, "target_speedup": 0, "more": 1}' >"$TMP/request"
is 'every fault of it' "$(post "/v1/runs/$RUN/extend") $(json '[.errors[].path] | sort | join(" ")')" '422 $.more $.target_speedup $.turns'
echo '{"turns": 3}' >"$TMP/request"
is 'extend goes on' "$(post "/v1/runs/$RUN/extend") $(json .state)" '200 running'
is 'with the next turn of each' "$(http GET "/v1/runs/$RUN") $(json '[.turns, .grid[].at.n] | @csv')" '200 3,2,2'
is 'cancel stops it' "$(http POST "/v1/runs/$RUN/cancel") $(json .state)" '200 done'
is 'and says so' "$(http GET "/v1/runs/$RUN") $(json '[.reason, .grid[].reason] | @csv')" '200 "cancelled","cancelled","cancelled"'
echo '{"budget": {"tokens": -1, "eur": 5}}' >"$TMP/request"
is 'a budget that is none is 422' "$(post "/v1/runs/$RUN/resume") $(json '[.errors[].path] | sort | join(" ")')" '422 $.budget.eur $.budget.tokens'
echo '{"budget": {"usd": 7.5}}' >"$TMP/request"
is 'resume goes on with another budget' "$(post "/v1/runs/$RUN/resume") $(json .state)" '200 running'
is 'which is kept' "$(http GET "/v1/runs/$RUN") $(json '[.budget.tokens, .budget.usd] | @csv')" '200 ,7.5'
http POST "/v1/runs/$RUN/cancel" >/dev/null
is 'resume needs no body' "$(http POST "/v1/runs/$RUN/resume") $(json .state)" '200 running'
http POST "/v1/runs/$RUN/cancel" >/dev/null
for bad in '{"text": "x"}' '{"n": 0}' '{"n": 0, "text": ""}' '{"n": -1, "text": "x"}' '{"n": 0, "text": "a\u0000"}'; do
    printf '%s' "$bad" >"$TMP/request"
    is "no supervision: $bad" "$(post "/v1/runs/$RUN/trajectories/0/supervision")" 422
done
echo '{"n": 40, "text": "x"}' >"$TMP/request"
is 'of a turn that is not there' "$(post "/v1/runs/$RUN/trajectories/0/supervision")" 404

# --- whose it is ---
DONE=$RUN
start '.visibility = "private"' -H "$ALICE"
is 'a private run is nothing to others' "$(http GET "/v1/runs/$RUN")$(http GET "/v1/runs/$RUN" -H "$BOB")$(http GET "/v1/runs/$RUN/events")$(http GET "/v1/runs/$RUN/export")$(http GET "/v1/runs/$RUN/trajectories/0")$(http GET "/v1/runs/$RUN/trajectories/0/messages")$(http POST "/v1/runs/$RUN/cancel" -H "$BOB")" \
    404404404404404404404
is 'nor in their lists' "$(http GET /v1/runs -H "$BOB") $(json "[.items[].id] | index(\"$RUN\")")" '200 null'
is 'its owner sees it' "$(http GET "/v1/runs/$RUN" -H "$ALICE") $(json .owner)" '200 alice'
start . -H "$ALICE"
is 'a public run is for its owner to change' "$(http POST "/v1/runs/$RUN/cancel" -H "$BOB") $(json .code)" '403 forbidden'
is 'not for one without a token' "$(http POST "/v1/runs/$RUN/cancel")" 403
is 'who may' "$(http POST "/v1/runs/$RUN/cancel" -H "$ALICE") $(json .state)" '200 done'
add_token carol read carol-secret-token
body
is 'a token for reading starts none' "$(post /v1/runs -H 'Authorization: Bearer carol-secret-token')" 403

# --- out and in ---
RUN=$DONE
is 'an export is a line a trajectory' "$(http GET "/v1/runs/$RUN/export") $(wc -l <"$TMP/body") $(header content-type)" '200 2 application/x-ndjson'
cp "$TMP/body" "$TMP/export"
is 'in the layout of mini-swe-agent' "$(jq -r '[.trajectory_format, (.messages | length), .messages[2].role, .messages[3].role, .messages[-1].role] | @csv' "$TMP/export" | sort -u)" \
    '"mini-swe-agent-1.1",7,"assistant","user","exit"'
is 'one alone is the same' "$(http GET "/v1/runs/$RUN/trajectories/1/export") $(cmp "$TMP/body" - <<END
$(sed -n 2p "$TMP/export")
END
)" '200 '
is 'an import is 201' "$(http POST '/v1/runs/import' -H 'Content-Type: application/x-ndjson' --data-binary "@$TMP/export") $(json '[.trajectories, .turns] | @csv')" '201 2,4'
RUN=$(json .id)
is 'with its address' "$(header location)" "/v1/runs/$RUN"
is 'it says where it comes from' "$(http GET "/v1/runs/$RUN") $(json '[.state, .source, .done, .spent.calls] | @csv')" "200 \"done\",\"imported: run $DONE\",4,4"
is 'and is in no cell' "$(sql "SELECT count(*) FROM turns WHERE run_id = '$RUN' AND cell_id IS NOT NULL")" 0
http GET "/v1/runs/$RUN/export" >/dev/null
# What is of this database: ids and the bytes that were sent.
own='del(.info.ptxbench.run.id, .info.ptxbench.left_out) | walk(if type == "object" then del(.id, .request_sha256, .submission?) else . end)'
is 'and comes out as it went in' "$(jq -S "$own" "$TMP/body")" "$(jq -S "$own" "$TMP/export")"
is 'its messages can be read' "$(http GET "/v1/runs/$RUN/trajectories/$first/messages?n=1") $(json '[.sent, (.messages | length)] | @csv')" '200 false,4'
is 'it does not go on' "$(http POST "/v1/runs/$RUN/resume")" 409
jq -c '.messages[2].extra.ptxbench.n = 5' "$TMP/export" >"$TMP/bad"
is 'every fault of a file' "$(http POST /v1/runs/import --data-binary "@$TMP/bad") $(json '[.errors[].path] | unique | join(" ")')" \
    '422 $[0].messages[2].extra.ptxbench.n $[1].messages[2].extra.ptxbench.n'
cat >"$TMP/paper" <<END
{"info": {"config": {"model": {"model_name": "glm"}}, "exit_status": "LimitsExceeded"}, "trajectory_format": "mini-swe-agent-1.1",
 "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "t"},
  {"role": "assistant", "content": "\`\`\`cpp\n__global__ void k() {}\n\`\`\`", "extra": {"cost": 0.5}},
  {"role": "user", "content": "PASSED", "extra": {"event": "evaluation", "all_passed": false, "traces": [{"status": "TIMEOUT"}]}},
  {"role": "exit", "content": ""}]}
END
is 'a file of another agent needs a problem' "$(http POST /v1/runs/import --data-binary "@$TMP/paper") $(json '.errors[].path')" '422 $.info.ptxbench.run.problem'
is 'then it is taken' "$(http POST '/v1/runs/import?problem=gemm&arch=sm_90a&name=theirs' --data-binary "@$TMP/paper") $(json .turns)" '201 1'
is 'with labels by its fields' "$(http GET "$(json .url)") $(json '[.name, .model, .grid[0].turns[0].label, .grid[0].reason] | @csv')" '200 "theirs","glm","timeout","turns"'
is 'a private import needs a token' "$(http POST '/v1/runs/import?problem=gemm&visibility=private' --data-binary "@$TMP/paper")" 422

# --- pages of the list ---
is 'a page' "$(http GET '/v1/runs?limit=2') $(json '.items | length')" '200 2'
next=$(header link | sed -n 's/^<\(.*\)>; rel="next"$/\1/p')
like 'links the next' "$next" '^/v1/runs\?cursor=.*&limit=2$'
http GET '/v1/runs' >/dev/null
all=$(json '.items[].id')
http GET '/v1/runs?limit=2' >/dev/null
json '.items[].id' >"$TMP/pages"
while [ -n "$next" ]; do
    http GET "$next" >/dev/null
    json '.items[].id' >>"$TMP/pages"
    next=$(header link | sed -n 's/^<\(.*\)>; rel="next"$/\1/p')
done
is 'pages have every run once' "$(cat "$TMP/pages")" "$all"
http GET /v1/openapi.json >/dev/null
is 'the API describes its bodies' "$(json '.paths["/v1/runs"].post.requestBody.content["application/json"].schema.required | join(" ")')" 'problem arch provider model'
ok 'the database is as it should be' "$BIN/ptxbench" fsck
done_testing
