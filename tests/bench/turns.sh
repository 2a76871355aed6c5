#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Metrics over a million turns (100 cells of 12 x 105 trajectories, three prompt variants, 8 turns each; nine
# labels, a third correct), PostgreSQL with its own defaults, one request at a time over HTTP, cache passed by:
# metrics.million_turns_p99_ms        turn_correctness of all cells at T = 1, 4, 8
# metrics.million_turns_cell_p99_ms   the slowest of turn_correctness, fast_p with curves, transitions of one cell
# metrics.turns_written_per_s         turns inserted, eight at a time as a trajectory ends, rollup kept
#   usage: tests/bench/turns.sh [REQUESTS]
REQUESTS=${1:-100} # at most 100: every one reads Fast_p at another p
. "$(dirname "$0")/../t/lib.sh"
PG_BUFFERS=128MB # the default, as the service has it
db_start && server_start

sql "
INSERT INTO cells (origin, model, device_model, problem, workload)
SELECT 'local', 'model ' || m, 'NVIDIA H200', 'problem ' || p, 'w' FROM generate_series(1, 20) m, generate_series(1, 5) p;
INSERT INTO runs (id, origin, name) SELECT gen_random_uuid(), 'local', c.id FROM cells c;
INSERT INTO trajectories (run_id, n, variant, cell_id)
SELECT r.id, n, n % 3, r.name::bigint FROM runs r, generate_series(0, 1259) n" >/dev/null || bail 'cannot make cells'
# turns_of RUN FIRST LAST: turns of these trajectories, of nine labels, a third correct.
turns_of()
{
    cat <<SQL
        SELECT t.run_id, t.n, k, t.cell_id, t.variant, l.label[k + 1], coalesce(l.label[k], ''), l.label[k + 1] = 'correct',
               l.label[k + 1] = 'correct' AND random() < 0.8, CASE WHEN l.label[k + 1] = 'correct' THEN random() + 0.01 END,
               (random() * 30000)::int
          FROM trajectories t
          CROSS JOIN LATERAL (SELECT array_agg((ARRAY['correct', 'correct', 'correct', 'correct', 'numerical', 'compile',
                'compile', 'compile', 'timeout', 'runtime', 'extraction', 'other'])[1 + floor(random() * 12)::int])
                AS label FROM generate_series(0, 7 + 0 * t.n)) l
          CROSS JOIN generate_series(0, 7) k
         WHERE t.run_id = $1 AND t.n BETWEEN $2 AND $3
SQL
}
INTO='INSERT INTO turns (run_id, trajectory, n, cell_id, variant, label, prev_label, correct, inst, speedup, reasoning_tokens)'
sql "DO \$\$ DECLARE r record; BEGIN
    FOR r IN SELECT id FROM runs LOOP
        $INTO $(turns_of r.id 0 1239);
        COMMIT;
    END LOOP;
END \$\$" >/dev/null || bail 'cannot make turns'
start=$(date +%s%N)
sql "DO \$\$ DECLARE r record; BEGIN
    FOR r IN SELECT id, n FROM runs, generate_series(1240, 1259) n LOOP
        $INTO $(turns_of r.id r.n r.n);
        COMMIT;
    END LOOP;
END \$\$" >/dev/null || bail 'cannot write turns'
end=$(date +%s%N)
sql 'VACUUM ANALYZE' >/dev/null # as autovacuum would
printf 'metrics.turns_written_per_s %.0f 1/s\n' "$(awk "BEGIN { print 16000 / (($end - $start) / 1e9) }")"

# limit_of I: what the I-th request has in place of M; 100 of them differ.
limit_of()
{
    printf '%d' $(($1 % 50 + 1))
    [ "$1" -le 50 ] || printf '\\&origin=local'
}

# p99 NAME PATH…: of REQUESTS requests to each path in turn, after a dozen that let every database connection of the
# server see the path once. Every one is new to the cache: N is a number, and M is a limit, of which there are fewer, so
# that half of the requests name the origin too; neither changes what a path of one cell has to say.
p99()
{
    p9_name=$1
    shift
    : >"$TMP/times"
    for p9_path in "$@"; do
        for p9_i in $(seq 12); do
            curl -s -o /dev/null "$URL$(printf "%s" "$p9_path" | sed "s/N/10$p9_i/; s/M/$p9_i/")&format=json"
        done
        p9_i=0
        while [ $p9_i -lt "$REQUESTS" ]; do
            p9_i=$((p9_i + 1))
            printf 'url = "%s%s"\noutput = "/dev/null"\nwrite-out = "%%{http_code} %%{time_starttransfer}\\n"\n' \
                "$URL" "$(printf "%s" "$p9_path" | sed "s/N/$p9_i/; s/M/$(limit_of "$p9_i")/")"
        done >"$TMP/urls"
        curl -s -K "$TMP/urls" >>"$TMP/times" || bail "$p9_name: curl failed"
    done
    grep -qv '^200 ' "$TMP/times" && bail "$p9_name: $(grep -v '^200 ' "$TMP/times" | head -n 1)"
    sort -k2 -n "$TMP/times" | awk -v name="$p9_name" '{ t[NR] = $2 }
        END { print name, t[int(NR * 0.99)] * 1000, "ms" }'
}
p99 metrics.million_turns_p99_ms "/v1/metrics/turn_correctness?turns=1,4,8,N"
one='model=model%207&problem=problem%203'
p99 metrics.million_turns_cell_p99_ms "/v1/metrics/turn_correctness?turns=8,N&$one" \
    "/v1/metrics/fast_p?curves=1&p=N&limit=1&turns=8&$one" "/v1/metrics/transitions?limit=M&$one"
T_DONE=1
