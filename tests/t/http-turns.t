#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Metrics over turns: a small import counted by hand, then the published turns against the published cells.
. "$(dirname "$0")/lib.sh"
db_start && server_start
export PTXBENCH_DATABASE="$DATABASE"
DATA=$ROOT/../shared/data

metrics()
{
    http GET "/v1/metrics/$1"
}

is 'nothing yet: an empty list' "$(metrics turn_correctness) $(json '.items | length')" '200 0'

# --- twelve turns of one model on two problems ---
mkdir "$TMP/small"
cat >"$TMP/small/published_turns.csv" <<END
model,gpu,definition,run,trajectory,turn,reasoning_tokens,outcome,speedup,target_instruction
m,H100,gemm_n7168_k5120,r,0,0,10,Compilation error,,
m,H100,gemm_n7168_k5120,r,0,1,30,Correct,0.5,1
m,H100,gemm_n7168_k5120,r,0,2,20,Correct,1.25,1
m,H100,gemm_n7168_k5120,r,1,0,20,Correct,0.75,0
m,H100,gemm_n7168_k5120,r,1,1,,Correct,1.5,
m,H100,gemm_n7168_k5120,r,4,0,40,Runtime error,,
m,H100,gemm_n7168_k5120,r,4,1,50,Numerical error,,
m,H100,mha_bwd_d128,s-nopatched-mha-bwd-d128,0,0,1,Correct,0.1,1
m,H100,mha_bwd_d128,s-nopatched-mha-bwd-d128,4,0,1,Correct,0.2,1
END
ok 'the import takes them' "$BIN/ptxbench" import published "$TMP/small"
tries=0
until [ "$(metrics turn_correctness)$(json '.items | length')" = 2002 ] || [ $tries -ge 8 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
is 'what was asked before is not answered from memory' "$(json '.items | length')" 2
is 'and again, in their place' "$("$BIN/ptxbench" import published "$TMP/small" | tr '\n' ' ')" \
    '2 runs 2 cells 9 turns 0 overrides 5 trajectories '
is 'two cells' "$(metrics 'turn_correctness?turns=1,2,8&origin=published') $(json '.items | length')" '200 2'
gemm='.items[] | select(.problem == "gemm")'
is 'the denominator is trajectories times turns' "$(json "[$gemm | .at[].of] | @csv")" '3,6,24'
is 'a limit that is asked for twice counts once' "$(metrics 'turn_correctness?turns=8,2,8&problem=gemm') $(json '[.items[].at[] | .turns, .correct] | @csv')" '200 2,3,8,4'
metrics 'turn_correctness?turns=1,2,8&origin=published' >/dev/null
is 'correct turns' "$(json "[$gemm | .at[].correct] | @csv")" '1,3,4'
is 'of these with target instructions; unknown counts for neither' \
    "$(json "[$gemm | .at[] | .target, .unknown] | @csv")" '0,0,1,1,2,1'
is 'the best' "$(json "[$gemm | .at[] | .best, .best_target] | @csv")" '0.75,,1.5,0.5,1.5,1.25'
is 'in per cent' "$(json "[$gemm | .at[].correct_percent] | join(\" \")")" '33.3 50.0 16.7'
is 'variants: two trajectories of one, one of the other' \
    "$(json "[$gemm | .at[2].variants[] | .variant, .of, .correct] | @csv")" '0,16,4,1,8,0'
is 'a trajectory that the rules leave out is in no cell' \
    "$(json '.items[] | select(.problem == "mha_bwd") | [.condition, .at[2].of, .at[2].correct] | @csv')" \
    '"w/o expert guidance",8,1'
is 'and is kept with the reason' "$(sql "SELECT left_out FROM trajectories WHERE n = 4 AND cell_id IS NULL")" \
    "12 of 20 trajectories reproduce the paper's tables"

is 'Fast_p is strict' "$(metrics 'fast_p?problem=gemm&p=0,0.5,0.75,1.25') $(json '[.items[0].points[].all.high * 16] | @csv')" \
    '200 4,3,2,1'
is 'its mean is that of the variants' "$(json '.items[0].points[0].all.mean * 32')" 4
is 'with target instructions' "$(json '[.items[0].points[].target.high * 16] | @csv')" '2,1,1,0'
is 'the curve, where it is asked for' "$(metrics 'fast_p?problem=gemm&curves=1') $(json '.items[0].variants[0].speedups | @csv')" \
    '200 0.5,0.75,1.25,1.5'
is 'transitions' "$(metrics 'transitions?problem=gemm') $(json '[.items[0].transitions[] | "\(.n) \(.from) \(.to) \(.turns)"] | join(", ")')" \
    '200 1 compile correct 1, 1 correct correct 1, 1 runtime numerical 1, 2 correct correct 1'
is 'median of reasoning tokens per turn' "$(json '[.items[0].reasoning[].median_tokens] | @csv')" '20,40,20'
is 'the words of the paper' "$(json .label_titles.timeout)" 'Kernel Execution Timeout'

is 'CSV' "$(metrics 'turn_correctness?problem=gemm&turns=8&format=csv') $(sed -n 2p "$TMP/body" | cut -d , -f 1-11 | tr -d '\r')" \
    '200 published,m,,NVIDIA H100 80GB HBM3,gemm,m8192_n7168_k5120,8,24,7,4,2'
for bad in 'turn_correctness?turns=0' 'turn_correctness?turns=1,,2' 'turn_correctness?turns=8,' 'turn_correctness?turns=x' \
    'turn_correctness?turns=1,2,3,4,5,6,7,8,9' 'fast_p?p=-1' 'fast_p?p=nan' 'fast_p?p=' 'fast_p?turns=1,2' 'fast_p?limit=65' \
    'transitions?format=xml' 'transitions?turns=8'; do
    is "400: $bad" "$(metrics "$bad")" 400
done

# --- the rollup follows what happens to turns ---
sql "UPDATE turns SET counted = false WHERE n = 2" >/dev/null
sql "INSERT INTO turns (run_id, trajectory, n, try, cell_id, variant, label, correct)
     SELECT run_id, trajectory, n, 1, cell_id, variant, 'timeout', false FROM turns WHERE n = 2" >/dev/null
is 'a turn that is done again counts once' \
    "$(sql "SELECT sum(turns), sum(correct), max(best_inst) FROM turn_counts JOIN cells ON id = cell_id WHERE problem = 'gemm'")" \
    '7|3|0.5'
ok 'the counts are those of the turns' "$BIN/ptxbench" fsck
sql 'UPDATE turn_counts SET correct = correct + 1 WHERE n = 1' >/dev/null
like 'fsck sees counts that are not' "$("$BIN/ptxbench" fsck)" '^problem: 2 counts of turns that are not those of the turns$'

# --- bad tables lose nothing ---
before=$(sql 'SELECT count(*) FROM turns')
bad()
{
    printf '%s\n' 'model,gpu,definition,run,trajectory,turn,reasoning_tokens,outcome,speedup,target_instruction' "$1" \
        >"$TMP/small/published_turns.csv"
    "$BIN/ptxbench" import published "$TMP/small" 2>&1
}
like 'an outcome that there is not' "$(bad 'm,H100,d,r,0,0,1,Perfect,,')" "line 2: there is no outcome 'Perfect'"
like 'a speedup that is none' "$(bad 'm,H100,d,r,0,0,1,Correct,fast,')" "line 2: not a speedup: 'fast'"
like 'a turn that is none' "$(bad 'm,H100,d,r,0,-1,1,Correct,1,')" 'line 2: not a trajectory and turn'
like 'a row that is too short' "$(bad 'm,H100')" 'line 2: the heading has another number of fields'
like 'a table that is not there' "$("$BIN/ptxbench" import published "$TMP/none" 2>&1)" 'cannot open|No such file'
like 'the same turn twice' "$(bad 'm,H100,d,r,0,0,1,Correct,1,
m,H100,d,r,0,0,1,Correct,1,')" 'ptxbench import: '
is 'all of what was there is there' "$(sql 'SELECT count(*) FROM turns')" "$before"

# --- the paper's turns ---
if [ -r "$DATA/published_turns.csv" ]; then
    is 'the published turns are taken in' "$("$BIN/ptxbench" import published "$DATA" | tr '\n' ' ')" \
        '105 runs 104 cells 13674 turns 6 overrides 1712 trajectories '
    metrics 'turn_correctness?origin=published&format=csv' >/dev/null
    # Both tables as: model|gpu|problem|T|n T|recorded|correct|target|best|best with target instructions
    tr -d '\r' <"$TMP/body" | awk -F, 'NR > 1 {
        split($4, gpu, " ")
        printf "%s%s|%s|%s|%d|%d|%d|%d|%d|%s|%s|%s|%s\n", $2, $3 == "" ? "" : " " $3, gpu[2], $5 "/" $6, $7, $8, $9, $10,
            $11, $13, $14, $19 == "" ? "" : sprintf("%.3f", $19), $20 == "" ? "" : sprintf("%.3f", $20)
    }' | sed -E "s/\"'?//g" | sort >"$TMP/ours"
    tr -d '\r' <"$DATA/published_cells.csv" | awk -F, 'NR > 1 {
        workload["GEMM"] = "gemm/m8192_n7168_k5120"
        workload["MHA-Fwd"] = "mha_fwd/s4096_d128"; workload["MHA-Fwd-Causal"] = "mha_fwd_causal/s4096_d128"
        workload["MHA-Bwd"] = "mha_bwd/s4096_d128"; workload["MHA-Bwd-Causal"] = "mha_bwd_causal/s4096_d128"
        sub(" / ablation: params only", " prompt: parameters", $2)
        sub(" / ablation: params . templates", " prompt: parameters and templates", $2)
        printf "%s|%s|%s|%d|%d|%d|%d|%d|%s|%s|%s|%s\n", $2, $1, workload[$3], $7, $8, $9, $10, $11, $12, $13, $14, $15
    }' | sort >"$TMP/theirs"
    is 'there are 279 published cells' "$(wc -l <"$TMP/theirs" | tr -d ' ')" 279
    is 'every one of them is equal' "$(comm -13 "$TMP/ours" "$TMP/theirs" | head -n 5)" ''
    metrics 'fast_p?model=Claude%20Opus%204.8&problem=gemm&device=NVIDIA%20B200' >/dev/null
    is 'Fast_p of a cell, as published' "$(json '[.items[0].points[].all | .mean, .low, .high | . * 1000 | round / 1000] | @csv')" \
        '0.885,0.813,0.938,0.865,0.781,0.906,0.802,0.719,0.906,0.792,0.688,0.906,0.625,0.5,0.844,0.146,0.063,0.219,0.031,0,0.063'
    is 'and with target instructions' "$(json '[.items[0].points[].target.mean | . * 1000 | round / 1000] | @csv')" \
        '0.802,0.802,0.802,0.792,0.625,0.146,0.031'
    metrics 'transitions?model=Qwen3.6-27B&problem=gemm&condition=w/o%20expert%20guidance' >/dev/null
    is 'transitions, as published' "$(json '[.items[0].transitions | group_by(.from + .to)[] | {k: (.[0].from + ">" + .[0].to), n: (map(.turns) | add)}] | sort_by(-.n) | .[:4] | map("\(.k) \(.n)") | join(", ")')" \
        'compile>compile 28, runtime>runtime 18, compile>runtime 16, runtime>compile 9'
    ok 'the counts are those of the turns, all of them' "$BIN/ptxbench" fsck
else
    skip 'published cells' 'the published tables are not on this machine'
fi
done_testing
