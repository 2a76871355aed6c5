# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For the http-*.t tests: requests of every kind, and a worker that is played with the queue's own SQL
# functions, so that these tests need neither a compiler nor a device. Source it after lib.sh.

PTX_QUERY='problem=gemm&arch=sm_90a&device=cpu'
PTX_FILE="$ROOT/problems/gemm/examples/naive.ptx"

# post_ptx [QUERY [CURL OPTION…]]: submits the example; sets ID, and STATUS of the answer.
post_ptx()
{
    pp_query="$PTX_QUERY${1:+&$1}"
    [ $# -eq 0 ] || shift
    STATUS=$(http POST "/v1/submissions?$pp_query" --data-binary "@$PTX_FILE" "$@")
    ID=$(json .id)
}

# post_json FILE [CURL OPTION…]: prints the status.
post_json()
{
    pj_file=$1
    shift
    http POST /v1/submissions -H 'Content-Type: application/json' --data-binary "@$pj_file" "$@"
}

# json_body FILTER: a valid JSON submission changed by a jq filter, written to $TMP/request.
json_body()
{
    jq -n --rawfile source "$PTX_FILE" \
        '{problem: "gemm", arch: "sm_90a", device: "cpu", source: $source}' | jq "$1" >"$TMP/request"
}

# raw BYTES [SECONDS]: sends bytes (printf escapes) over a socket, prints what comes back until the server
# closes or the time is up.
raw()
{
    # shellcheck disable=SC2059
    printf "$1" | perl -MIO::Socket::INET -e '
        my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => shift, Timeout => 5) or die "connect: $!";
        my $seconds = shift;
        local $/; print $s <STDIN>; $s->flush;
        $SIG{ALRM} = sub { print "\n(still open)\n"; exit 0 }; alarm $seconds;
        while (sysread($s, my $got, 65536)) { syswrite(STDOUT, $got) }' "$PORT" "${2:-3}"
}

# header NAME: its value in the last answer.
header()
{
    sed -n "s/^$1: //Ip" "$TMP/head" | tr -d '\r'
}

# add_token OWNER SCOPES TEXT: as `ptxbench token` would.
add_token()
{
    sql "SELECT token_create(sha256('$3'), '$1', '{$2}', 0, '')" >/dev/null
}

# Registers a healthy worker of a lane, so that lanes are not reported as paused.
fake_worker()
{
    sql "SELECT worker_start('fake', 'host', 'cpu', 'u-1', 'ptxvm', NULL, '{sm_90a/cpu}', interval '1 hour')" >/dev/null
}

# Claims the next job; sets JOB and ATTEMPT.
fake_claim()
{
    fc_row=$(sql "SELECT id, attempt FROM job_claim_evaluation('fake', '{sm_90a/cpu}', interval '1 hour')")
    JOB=${fc_row%|*} ATTEMPT=${fc_row#*|}
}

# fake_event KIND JSON
fake_event()
{
    sql "SELECT job_event($JOB, $ATTEMPT, '$1', '$2')" >/dev/null
}

# fake_finish [COLUMNS]: delivers a result; COLUMNS is JSON of columns of `results` that replaces defaults.
fake_finish()
{
    ff_columns=${1:-"{}"}
    sql "
    WITH report AS (SELECT result_blob($JOB, $ATTEMPT, 'report', '{\"schema\": 1, \"verdict\": \"PASSED\", \"stages\": []}') AS sha),
         ptx AS (SELECT result_blob($JOB, $ATTEMPT, 'ptx', '// made up') AS sha)
    SELECT result_deliver($JOB, $ATTEMPT, (jsonb_build_object('verdict', 'PASSED', 'flags', 0, 'epoch', 1,
               'device_model', 'ptxvm', 'thread_instructions', 1000, 'wall_ms', 12.5,
               'report_sha', report.sha::text, 'ptx_sha', ptx.sha::text) || '$ff_columns'::jsonb)::json, false, false)
      FROM report, ptx" >/dev/null
}
