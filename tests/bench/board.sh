#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A board of 20,000 entries over HTTP, its first 100 asked for, PostgreSQL beside it on the same cores:
# board.requests_per_s            the same question again and again: answered from what is kept; 16 connections
# board.p99_ms                    of these
# board.uncached_requests_per_s   every question in an order of its parameters that the cache does not know
# board.uncached_p99_ms           of these
# board.nginx_requests_per_s      a static file of the same size from nginx, 2 workers, in the same run
# board.fraction_of_nginx         the first over it
# board.rank_ms                   one submission of the last place with its rank, mean of 50
# board.uncached10_requests_per_s likewise, of 10 entries
# Prints one JSON object a line for tests/bench/results/board.jsonl. Needs wrk and nginx; PTXBENCH_BIN names a
# release build.
#   usage: tests/bench/board.sh [SECONDS] [ENTRIES]
SECONDS_EACH=${1:-10} ENTRIES=${2:-20000}
. "$(dirname "$0")/../t/lib.sh"
. "$ROOT/tests/t/http-fake.sh"
NGINX=$(command -v nginx || echo /usr/sbin/nginx)
command -v wrk >/dev/null || bail 'wrk is not installed (apt-get install wrk)'
[ -x "$NGINX" ] || bail 'nginx is not installed (apt-get install nginx-light)'
PG_BUFFERS=128MB # the default, as the service has it
db_start && server_start
fake_worker

# figure NAME VALUE UNIT
figure()
{
    printf '{"date": "%s", "commit": "%s", "device": "%s", "driver": null, "command": "tests/bench/board.sh %s %s", "name": "%s", "value": %s, "unit": "%s"}\n' \
        "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(git -C "$ROOT" rev-parse --short HEAD)" \
        "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores" "$SECONDS_EACH" "$ENTRIES" "$1" "$2" "$3"
}

sql "
SELECT worker_start('bench', 'host', 'gpu', 'GPU-1', 'NVIDIA H200', '580', '{sm_90a/gpu}', interval '1 hour');
CREATE PROCEDURE fill(first int, last int) LANGUAGE plpgsql AS \$\$ DECLARE j record; BEGIN
    FOR i IN first .. last LOOP
        PERFORM submission_create(gen_random_uuid(), 0, '{}', convert_to('source ' || i, 'UTF8'), 'gemm',
            'm8192_n7168_k5120', 'sm_90a', 'cuda', 'gpu', 'rank', 'label ' || i, 'a method', 'public', 1, 300, 1000000, NULL, NULL);
        SELECT * INTO j FROM job_claim_evaluation('bench', '{sm_90a/gpu}', interval '1 hour');
        PERFORM result_deliver(j.id, j.attempt, json_build_object('verdict', 'PASSED', 'flags', i % 4, 'epoch', 1,
            'device_model', 'NVIDIA H200', 'speedup', 1.2 - i * 0.00002, 'ci_lo', 1.199 - i * 0.00002, 'ci_hi',
            1.201 - i * 0.00002, 'cand_us', 722.1 + i, 'base_us', 866.4, 'base_name', 'cuBLAS', 'base_version', '13.1.0',
            'inst', true, 'tensor_share', 0.998, 'report_sha', result_blob(j.id, j.attempt, 'report', '{}')::text), false, false);
        COMMIT;
    END LOOP;
END \$\$;" >/dev/null || bail 'cannot begin to fill the board'
filled=0
while [ $filled -lt "$ENTRIES" ]; do # in parts, so that plans know how large the tables have become
    sql "CALL fill($filled + 1, $filled + 1000)" || bail 'cannot fill the board'
    sql 'VACUUM ANALYZE' || bail 'cannot analyze'
    filled=$((filled + 1000))
done

QUERY='problem=gemm&workload=m8192_n7168_k5120&arch=sm_90a&device=gpu&epoch=1&limit=100&format=json&baseline=cuBLAS'
[ "$(http GET "/v1/leaderboard?$QUERY") $(json '.items | length')" = '200 100' ] || bail "no board: $(cat "$TMP/body")"
cp "$TMP/body" "$TMP/board.json" && chmod 0644 "$TMP/board.json"
ok 'the board is that of the results' "$BIN/ptxbench" fsck | grep '^not ok' && bail 'fsck'

last=$(sql 'SELECT submission_id FROM board_entries ORDER BY speedup LIMIT 1')
for _ in $(seq 50); do
    http GET "/v1/submissions/$last" -w '%{http_code} %{time_total}\n'
done | awk '$1 ~ /^200/ { s += $2; n++ } END { printf "%.2f\n", 1000 * s / n }' >"$TMP/rank"
[ "$(json '.rank > 1')" = true ] || bail 'the last has no rank'
figure board.rank_ms "$(cat "$TMP/rank")" ms

# Every request has the eight parameters in another order.
cat >"$TMP/shuffle.lua" <<LUA
local names = {}
for word in ("$QUERY"):gmatch("[^&]+") do names[#names + 1] = word end
local seed = 0
function setup(thread) thread:set("seed", seed); seed = seed + 1 end
function init() math.randomseed(seed + os.time()) end
function request()
    for i = #names, 2, -1 do
        local j = math.random(i)
        names[i], names[j] = names[j], names[i]
    end
    return wrk.format("GET", "/v1/leaderboard?" .. table.concat(names, "&"))
end
LUA

# measure URL [WRK OPTION…]: sets RATE, and P99 in ms.
measure()
{
    me_url=$1
    shift
    wrk -t2 -c16 -d"${SECONDS_EACH}s" --latency "$@" "$me_url" >"$TMP/wrk" || bail 'wrk failed'
    grep -q 'Non-2xx\|Socket errors' "$TMP/wrk" && bail "$me_url: $(grep 'Non-2xx\|Socket errors' "$TMP/wrk")"
    RATE=$(sed -n 's/^Requests\/sec: *//p' "$TMP/wrk")
    P99=$(awk '$1 == "99%" { v = $2 + 0; print $2 ~ /us$/ ? v / 1000 : $2 ~ /ms$/ ? v : v * 1000 }' "$TMP/wrk")
}

measure "$URL/v1/leaderboard?$QUERY"
kept=$RATE
figure board.requests_per_s "$RATE" 1/s
figure board.p99_ms "$P99" ms
measure "$URL/v1/leaderboard?$QUERY" -s "$TMP/shuffle.lua"
figure board.uncached_requests_per_s "$RATE" 1/s
figure board.uncached_p99_ms "$P99" ms

sed 's/limit=100/limit=10/' "$TMP/shuffle.lua" >"$TMP/shuffle10.lua"
measure "$URL/v1/leaderboard?$QUERY" -s "$TMP/shuffle10.lua"
figure board.uncached10_requests_per_s "$RATE" 1/s

port=$((PORT + 1))
cat >"$TMP/nginx.conf" <<CONF
worker_processes 2; daemon off; pid $TMP/nginx.pid; error_log $TMP/nginx.log;
events { worker_connections 256; }
http {
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=10;
    types { application/json json; }
    client_body_temp_path $TMP/n1; proxy_temp_path $TMP/n2; fastcgi_temp_path $TMP/n3; uwsgi_temp_path $TMP/n4; scgi_temp_path $TMP/n5;
    server { listen 127.0.0.1:$port; root $TMP; }
}
CONF
"$NGINX" -c "$TMP/nginx.conf" 2>"$TMP/nginx.err" &
T_CHILDREN="$T_CHILDREN $! "
wait_for 5 curl -fsS -o /dev/null "http://127.0.0.1:$port/board.json" || bail "nginx: $(cat "$TMP/nginx.err")"
measure "http://127.0.0.1:$port/board.json"
figure board.nginx_requests_per_s "$RATE" 1/s
figure board.fraction_of_nginx "$(awk "BEGIN { printf \"%.3f\", $kept / $RATE }")" ratio
T_DONE=1
