#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Models behind real sockets, well and badly behaved: every call ends in one clear state, with what came, in bounded
# time and memory, and the key goes nowhere but to its provider.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/provider-lib.sh"
command -v openssl >/dev/null || skip_all 'openssl is not installed'
provider_start

# --- what is asked and what must come of it ---
# FORMATS  c: openai_chat, r: openai_responses, a: anthropic, g: gemini
# PORT     of the fake; with "short:" in front the timeouts are of seconds
# MODEL    of the fake: what it does
# USAGE    input/cached/output/reasoning; usual: 100/60/20/0, none: nothing is known
# TEXT     all: "Hello, wörld ≤ 1."; half: "Hello, "; none: ""; otherwise as it is, less the spaces
# DETAIL   a pattern of what is told
cat >"$TMP/table" <<'END'
c    short:tls drip          broken   200  -  none    none  none   no answer
c    short:tls stall         broken   200  -  none    none  none   .
c    short:tls silent        broken   null -  none    none  none   .
crag short:tls stall-in-text cut      200  -  none    none  half   nothing came for 3 s
c    plain normal            answered 200  -  stop    usual all
crag tls   normal            answered 200  -  stop    usual all
crag tls   stream            answered 200  -  stop    usual all
crg  plain whole             answered 200  -  stop    usual all
a    plain whole             answered 200  -  stop    100/60/20/null all
crag plain reasoning         answered 200  -  stop    100/60/20/7 all
crg  plain reasoning-whole   answered 200  -  stop    100/60/20/7 all
a    plain reasoning-whole   answered 200  -  stop    100/60/20/null all
crag plain no-usage          answered 200  -  stop    none  all
crag plain length            answered 200  -  length  usual all
crag plain refusal           answered 200  -  refused usual Icannothelpwiththat.
cg   plain two-choices       answered 200  -  stop    usual all
crag plain nothing-said      answered 200  -  stop    usual none
c    plain nul-escaped       answered 200  -  stop    usual ?Hello,wörld≤1.
c    tls   keepalive-close   answered 200  -  stop    usual all
c    tls   slow-headers      answered 200  -  stop    usual all
ca   tls   long              answered 200  -  stop    usual any
crag plain cut               cut      200  -  none    none  half   broke off
c    tls   cut               cut      200  -  none    none  half   broke off
crag plain cut-close         cut      200  -  none    none  half   without saying that it was all
ca   tls   cut-tls           cut      200  -  none    none  half   broke off
c    plain cut-length        cut      200  -  none    none  half   broke off
ca   plain cut-before-text   broken   200  -  none    none  none   no answer
ca   plain cut-whole         broken   200  -  none    none  none   .
crag plain malformed         broken   200  -  none    any   half   not JSON
c    plain malformed-whole   broken   200  -  none    none  none   not JSON
c    plain bad-utf8          broken   200  -  none    any   half   not JSON
c    plain nul               broken   200  -  none    any   half   not JSON
c    plain surrogate         broken   200  -  none    any   half   not JSON
crag plain overloaded-in-text cut     200  -  none    none  half   [Oo]verloaded
crag plain overloaded-stream busy     200  -  none    any   none   [Oo]verloaded
c    plain html              broken   200  -  none    none  none   502 Bad Gateway
c    plain html-502          broken   502  -  none    none  none   502 Bad Gateway
c    plain empty             broken   200  -  none    none  none   sent nothing
crag plain other-format      broken   200  -  none    none  none   not of the format
c    plain not-http          broken   null -  none    none  none   .
c    tls   hang-up           broken   null -  none    none  none   .
c    plain redirect          refused  307  -  none    none  none   307
crag plain 429               busy     429  2  none    none  none   429
c    plain 429-always        busy     429  7  none    none  none   Rate limit reached for 429-always
c    plain 429-date          busy     429  D  none    none  none   429
c    plain 429-plain         busy     429  -  none    none  none   429
c    plain 429-soon          busy     429  -  none    none  none   429
cag  plain 503               busy     503  -  none    none  none   [Oo]verloaded
a    plain 529               busy     529  -  none    none  none   Overloaded
cag  plain 500               broken   500  -  none    none  none   error
cag  plain 401               refused  401  -  none    none  none   answered 401
cag  plain 404               refused  404  -  none    none  none   404
crag plain 400-context       refused  400  -  none    none  none   maximum
crag plain key-echo          refused  401  -  none    none  none   \*\*\*
c    plain key-echo-500      broken   500  -  none    none  none   \*\*\* failed
crag plain key-echo-stream   cut      200  -  none    none  half   \*\*\* failed
crag plain huge              broken   200  -  none    any   any    larger than 8 MiB
c    plain huge-event        broken   200  -  none    none  none   too large
c    plain huge-reasoning    broken   200  -  none    none  none   larger than 8 MiB
c    plain huge-line         broken   200  -  none    none  none   too large
c    plain huge-error        broken   500  -  none    none  none   500
c    plain huge-head         broken   any  -  none    none  none   .
c    plain huge-count        cut      200  -  none    none  none   without saying that it was all
a    plain huge-count        broken   200  -  none    none  none   more thoughts than can be kept
ca   expired  normal         broken   null -  none    none  none   certificate
ca   name     normal         broken   null -  none    none  none   certificate
ca   stranger normal         broken   null -  none    none  none   certificate
END
# shellcheck disable=SC2046 # a list of models
providers_of_fake 300 200 $(awk '{ print $3 }' "$TMP/table" | sort -u) >"$TMP/providers.json"
jq '.providers[] |= (.timeout_s = 8 | .stall_s = 3)' "$TMP/providers.json" >"$TMP/short.json"
cat >"$TMP/messages" <<'END'
[{"role": "system", "content": "You write PTX."}, {"role": "user", "content": "First."},
 {"role": "assistant", "content": "One."}, {"role": "user", "content": "Second: ∀ \"x\"."}]
END

# ask FORMAT PORT MODEL: one call. Its answer is left in $TMP/answers, what else it said, its exit status and its use
# of memory (KiB) in $TMP/logs, as FORMAT.PORT.MODEL.
mkdir "$TMP/answers" "$TMP/logs"
cat >"$TMP/ask" <<'END'
name=$1.${2#short:}.$3
case $2 in short:*) file=short.json ;; *) file=providers.json ;; esac
perl -e 'my $code = system(@ARGV); my $usage = "\0" x 144;
    chomp(my $machine = `uname -m`);
    syscall({x86_64 => 98, aarch64 => 165}->{$machine} // 0, -1, $usage) if $machine =~ /^(x86_64|aarch64)$/;
    print STDERR "rss ", (unpack("l!18", $usage))[4], "\n"; exit($code >> 8)' \
    timeout 280 "$BIN/ptxbench-agent" ask --providers "$TMP/$file" --provider "$1-${2#short:}" --model "$3" \
    --max-output 1000 <"$TMP/messages" >"$TMP/answers/$name" 2>"$TMP/logs/$name"
echo "status $?" >>"$TMP/logs/$name"
END
export BIN TMP

# cases: FORMAT PORT MODEL and what is wanted, of the table.
cases()
{
    while read -r formats rest; do
        for format in openai_chat openai_responses anthropic gemini; do
            case $format in openai_chat) letter=c ;; openai_responses) letter=r ;; *) letter=${format%"${format#?}"} ;; esac
            case $formats in *$letter*) printf '%s %s\n' "$format" "$rest" ;; esac
        done
    done <"$TMP/table"
}
# Some at a time; most of them wait. What is loaded is many times as slow as what is not.
cases | awk '{ print $1, $2, $3 }' | ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1" xargs -P 8 -L 1 sh "$TMP/ask"

# Each call as NAME|END|STATUS|RETRY|FINISH|USAGE|TEXT|DETAIL, behind the line of its case.
jq -rR 'def told: {"Hello, wörld ≤ 1.": "all", "Hello, ": "half", "": "none"}[.] // (.[:80] | gsub(" "; ""));
    (fromjson? // {}) | [(input_filename | sub(".*/"; "")), .end, (.status | tostring), (.retry_after_s // "-"), .finish,
    (.usage // {} | [.input, .cached, .output, .reasoning | tostring] | join("/")), (.answer // "nothing" | told),
    .detail] | join("|")' "$TMP"/answers/* >"$TMP/got"
cases | awk 'FNR == NR { split($0, f, "|"); got[f[1]] = $0; next }
    { sub("short:", "", $2); name = $1 "." $2 "." $3; print $0 "|" (name in got ? got[name] : "|") }' "$TMP/got" - >"$TMP/both"
while IFS='|' read -r case name got_end got_status got_retry got_finish got_usage got_text got_detail; do
    read -r format port model end status retry finish usage text detail <<END
$case
END
    case $usage in usual) usage=100/60/20/0 ;; none) usage=null/null/null/null ;; any) got_usage=any ;; esac
    case $got_retry in [5-9] | [12][0-9] | 30) [ "$retry" != D ] || got_retry=D ;; esac
    [ "$status" != any ] || got_status=any
    [ "$text" != any ] || got_text=any
    is "$format over $port, $model: $end" "$got_end $got_status $got_retry $got_finish $got_usage $got_text" \
        "$end $status $retry $finish $usage $text" || diag "$(cut -c 1-400 "$TMP/answers/$name" "$TMP/logs/$name")"
    [ "$end" = answered ] || like "  and says why" "$got_detail" "${detail:-.}"
done <"$TMP/both"
is 'the exit status says whether there is an answer' \
    "$(cd "$TMP/logs" && grep -l '^status 0' ./* | sort)" "$(cd "$TMP/answers" && grep -l '^{"end":"answered"' ./* | sort)"
is 'and is 1 if there is none' "$(grep -h '^status' "$TMP"/logs/* | sort -u | tr '\n' ' ')" 'status 0 status 1 '

answer()
{
    jq -r "$2" "$TMP/answers/$1"
}
for format in openai_chat openai_responses anthropic gemini; do
    is "$format: thoughts are told apart, streamed and not" \
        "$(answer $format.plain.reasoning .reasoning) $(answer $format.plain.reasoning-whole .reasoning)" \
        'Let me think. Let me think.'
    is "$format: prices are per million, less for what was cached" "$(answer $format.tls.normal '.usd * 1e6 | round')" 292
done
is 'signed thoughts are kept as they came' "$(answer anthropic.plain.reasoning '.blocks | tojson')" \
    '[{"type":"thinking","thinking":"Let me think.","signature":"c2ln"}]'
is 'a long answer is whole' "$(answer openai_chat.tls.long '.answer | length') $(answer anthropic.tls.long '.answer | length')" \
    '261888 261888'

# --- what was sent ---
# sent FORMAT FILTER: of the request for `normal` over TLS.
sent()
{
    case $1 in openai_chat) path=completions ;; openai_responses) path=responses ;; anthropic) path=messages ;; *) path=stream ;; esac
    jq -r --arg path "$path" "select(.listener == \"tls\" and .model == \"normal\" and (.path | test(\$path))) | $2" "$TMP/requests"
}
is 'as many requests as calls: nothing is tried twice' "$(jq -r 'select(.method) | [.listener, .path, .model] | join(" ")' "$TMP/requests" | sort | uniq -d)" ''
is 'all of them are POSTs' "$(jq -r '.method // empty' "$TMP/requests" | sort -u)" POST
for port in expired name stranger; do
    is "no trust in the port $port: handshakes, and no request" \
        "$(jq -r "select(.listener == \"$port\") | .method // \"handshake\"" "$TMP/requests" | sort -u)" handshake
done
is 'a redirect is not followed' "$(jq -r 'select(.path == "/stolen") | .path' "$TMP/requests")" ''
is 'the key is in no address and no body' \
    "$(jq -r --arg key "$KEY" 'select((.path // "" | contains($key)) or (.body // "" | tojson | contains($key))) | .path' "$TMP/requests")" ''
is 'the key is in no answer and no log' "$(grep -rlF "$KEY" "$TMP/answers" "$TMP/logs")" ''
is 'nor is most of it' "$(grep -rlF "${KEY%?????}" "$TMP/answers" "$TMP/logs")" ''
is 'OpenAI gets it as a bearer, and no header beside what is needed' \
    "$(sent openai_chat '.headers | "\(.authorization) \(keys | join(" "))"')" \
    "Bearer $KEY accept authorization content-length content-type host user-agent"
is 'so it does for responses' "$(sent openai_responses .headers.authorization)" "Bearer $KEY"
is 'Anthropic gets it in its own header, with the version' \
    "$(sent anthropic '.headers | [."x-api-key", ."anthropic-version", .authorization, ."x-goog-api-key"] | tojson')" \
    "[\"$KEY\",\"2023-06-01\",null,null]"
is 'so does Gemini' "$(sent gemini '[.headers | ."x-goog-api-key", .authorization, ."x-api-key"] | tojson') $(sent gemini .path)" \
    "[\"$KEY\",null,null] /v1/models/normal:streamGenerateContent?alt=sse"
is 'Anthropic is told to cache the system message and the conversation so far, and nothing else' \
    "$(sent anthropic '[.body | paths(. == "ephemeral") | map(tostring) | join(".")] | join(" ")')" \
    'messages.2.content.0.cache_control.type system.0.cache_control.type'
is 'the texts arrive as they were' "$(sent openai_chat '.body.messages | tojson')" "$(jq -c . "$TMP/messages")"
is 'and in the words of the others' \
    "$(sent anthropic '.body.messages[2].content[0].text')|$(sent gemini '.body.contents[2].parts[0].text')|$(sent openai_responses '.body.input[2].content')" \
    'Second: ∀ "x".|Second: ∀ "x".|Second: ∀ "x".'
is 'the limit of tokens is sent' \
    "$(sent openai_chat .body.max_completion_tokens) $(sent openai_responses .body.max_output_tokens) $(sent anthropic .body.max_tokens) $(sent gemini .body.generationConfig.maxOutputTokens)" \
    '1000 1000 1000 1000'

# --- later, elsewhere, without a key ---
sh "$TMP/ask" openai_chat plain 429
is 'after the wait that was asked for it is answered' "$(answer openai_chat.plain.429 .end)" answered
http_proxy="http://127.0.0.1:$(port_of proxy)" sh "$TMP/ask" openai_chat plain normal
is 'what goes to this host does not go through a proxy' \
    "$(answer openai_chat.plain.normal .end) $(jq -r 'select(.listener == "proxy") | .path' "$TMP/requests")" 'answered '
before=$(wc -l <"$TMP/requests")
for url in http://example.org/v1 http://localhost.example.org/v1 http://localhost:x@example.org/v1 ftp://127.0.0.1/v1; do
    jq --arg url "$url" '.providers[].url = $url' "$TMP/providers.json" >"$TMP/bad.json"
    exits "no model is called at $url" 1 "$BIN/ptxbench-agent" ask --providers "$TMP/bad.json" --provider gemini-tls --model normal
    like '  and it is said what may be' "$(cat "$TMP/err")" 'must be https://.*, or http:// to this host'
done
refused()
{
    FAKE_KEY=$1 "$BIN/ptxbench-agent" ask --providers "$TMP/providers.json" --provider openai_chat-plain --model normal \
        <"$TMP/messages" 2>&1
}
like 'without a key no call is made' "$(refused '')" 'FAKE_KEY is not set'
like 'nor with one that would be two headers' "$(refused "a
X-Other: b")" 'not one line'
unlike 'of which nothing is told' "$(refused "a
X-Other: b")" 'X-Other'
is 'the fake heard of none of them' "$(wc -l <"$TMP/requests")" "$before"

# --- memory ---
# What a sanitizer adds is in a call that is answered with little.
rss_of()
{
    sed -n 's/^rss //p' "$TMP/logs/$1"
}
base=$(rss_of openai_chat.plain.no-usage)
for name in "$TMP"/logs/*.huge*; do
    name=$(basename "$name")
    rss=$(rss_of "$name")
    ok "$name takes at most 48 MiB more than a small answer ($((rss / 1024)) MiB, $((base / 1024)) MiB)" \
        test "$rss" -gt 0 -a "$((rss - base))" -lt $((48 * 1024))
done
ok 'the fake has outlived all of it' kill -0 "$PROVIDER_PID"
done_testing
