#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs whose models are behind real sockets: what the database keeps of calls that end well, later and never, and that
# no key gets there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/agent-lib.sh"
. "$(dirname "$0")/provider-lib.sh"
command -v openssl >/dev/null || skip_all 'openssl is not installed'
export PTXBENCH_POLL_MS=200
db_start && server_start && provider_start
providers_of_fake 60 20 reasoning 429 overloaded-in-text key-echo >"$TMP/providers.json"
agent_start

# run_of PROVIDER MODEL: one trajectory of one turn; prints its id.
run_of()
{
    run_start "{\"provider\": \"$1\", \"model\": \"$2\", \"variants\": [\"parameters\"], \"trajectories\": 1, \"turns\": 1}"
}
ANSWERED=$(run_of anthropic-tls reasoning)
LATER=$(run_of openai_chat-tls 429)
REFUSED=$(run_of gemini-tls key-echo)
STRANGER=$(run_of openai_responses-stranger reasoning)
CUT=$(run_of openai_responses-tls overloaded-in-text)

# calls RUN COLUMNS: of its calls, in their order, on one line.
calls()
{
    sql "SELECT $2 FROM llm_calls WHERE run_id = '$1' ORDER BY id" | tr '\n' ' '
}
trajectory()
{
    sql "SELECT state, reason FROM trajectories WHERE run_id = '$1'"
}
tried()
{
    [ "$(sql "SELECT count(*) FROM llm_calls WHERE run_id = '$1' AND status <> 'started'")" -ge "$2" ]
}

ok 'a run is done' wait_for 60 run_done "$ANSWERED"
is 'its turn has the answer, which is no kernel' \
    "$(sql "SELECT label FROM turns WHERE run_id = '$ANSWERED'") $(trajectory "$ANSWERED")" 'extraction done|turns'
is 'its call is kept with what was used' \
    "$(calls "$ANSWERED" 'status, http_status, finish, tokens_in, cached, cache_write, tokens_out, reasoning_tokens')" \
    'stored|200|stop|100|60|10|20|7 '
is 'and with the thoughts, signed' "$(calls "$ANSWERED" "blocks->0->>'signature'")" 'c2ln '
ok 'a run whose provider had no room is done' wait_for 60 run_done "$LATER"
is 'by a second call' "$(calls "$LATER" 'status, http_status')" 'failed|429 stored|200 '
is 'not before the time that was asked for' \
    "$(sql "SELECT max(started_at) - min(finished_at) >= interval '2 s' FROM llm_calls WHERE run_id = '$LATER'")" t
ok 'a run that was refused is done' wait_for 60 run_done "$REFUSED"
is 'by one call' "$(trajectory "$REFUSED") $(calls "$REFUSED" 'status, http_status')" 'done|provider failed|401 '
like 'and says why, without the key' "$(sql "SELECT detail FROM trajectories WHERE run_id = '$REFUSED'")" \
    'answered 401: API key not valid: \*\*\*'
ok 'an answer that broke off is kept' wait_for 60 tried "$CUT" 1
is 'as far as it came, for nothing' \
    "$(sql "SELECT c.status, convert_from(b.data, 'UTF8'), c.tokens_out, t.state FROM llm_calls c JOIN blobs b ON sha256 = answer_sha
              JOIN trajectories t ON t.run_id = c.run_id WHERE c.run_id = '$CUT' ORDER BY c.id LIMIT 1")" 'partial|Hello, ||running'
ok 'whom nobody vouches for' wait_for 60 tried "$STRANGER" 1
like 'is not talked to' "$(calls "$STRANGER" 'status, http_status, error' | head -n 1)" '^failed\|\|.*certificate'
is 'nor sent a request' "$(jq -r 'select(.listener == "stranger" and .method) | .path' "$TMP/requests")" ''
pg_dump "$DATABASE" >"$TMP/dump.sql" 2>"$TMP/dump.log" || bail 'cannot dump the database'
ok 'the dump is whole' grep -q '^COPY public.llm_calls' "$TMP/dump.sql"
is 'the key is neither in the database nor in a log' "$(grep -lF "$KEY" "$TMP/dump.sql" "$TMP"/*.log)" ''
http GET "/v1/runs/$REFUSED/trajectories/0" >/dev/null
ok 'what the API tells has the reason' grep -qF 'API key not valid' "$TMP/body"
is 'and not the key' "$(grep -cF "$KEY" "$TMP/body")" 0
done_testing
