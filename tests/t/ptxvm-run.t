#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `ptxvm run` and `ptxvm launch`, for people who write kernels. PTX only: no compiler is needed.
. "$(dirname "$0")/lib.sh"
VM=$BIN/ptxvm
EXAMPLE=$ROOT/problems/gemm/examples/naive.ptx
KERNELS=$ROOT/tests/data/ptxvm/kernels.ptx

# plan KERNEL GRID [MORE]: a launch plan for one of the kernels.
plan()
{
    cat > "$TMP/plan.json" <<END
{"buffers": {"scratch": {"dtype": "u32", "shape": [1], "init": "zero"}},
 "launches": [{"kernel": "$1", "grid": [$2], "block": [32], ${3:-}
               "args": [{"tensor": "C"}, {"buffer": "scratch"}]}]}
END
}

# vm ARGUMENTS…: runs ptxvm; $CODE and $TMP/out, $TMP/err afterwards.
vm()
{
    CODE=0
    "$VM" "$@" > "$TMP/out" 2> "$TMP/err" || CODE=$?
}

# sample PROGRAM ARGUMENTS…: the same on a few CTAs of a small grid, as JSON.
json()
{
    vm run "$@" --json
    jq . < "$TMP/out" > /dev/null || diag "$(cat "$TMP/err")"
}

member()
{
    jq -c "$1" < "$TMP/out"
}

vm --help
is 'help is no error' "$CODE" 0
vm run --help
is 'each command has help of its own' "$CODE $(grep -c -- '--ctas N' "$TMP/out")" '0 1'
vm nonsense
is 'an unknown command is a wrong command line' "$CODE" 2
vm run
is 'so is a missing file' "$CODE" 2
vm run "$TMP/none.ptx"
is 'and one that is not there' "$CODE $(grep -c none.ptx "$TMP/err")" '2 1'
vm run "$EXAMPLE" --seed many
is 'and a number that is none' "$CODE" 2
vm run "$KERNELS"
is 'a source without a plan says so' "$CODE $(grep -c launch "$TMP/err")" '2 1'

# A part of the real grid.
vm run "$EXAMPLE" --ctas 2
is 'two CTAs at the size of the paper are right' "$CODE" 0
is 'and the text says how much was checked' \
    "$(grep -c '2 of 229376 CTAs run, 1024 of 1024 elements that they wrote checked' "$TMP/out")" 1
json "$EXAMPLE" --ctas 2 --workload small
is 'as JSON it has the verdict' "$(member .verdict)" '"PASSED"'
is 'the distributions' "$(member '[.check.trials[].distribution]')" '["normal","integers"]'
is 'exact results where they can be' "$(member '.check.trials[1].tensors[0].exact')" true
is 'counts that add up' \
    "$(member '[.counts.by_instruction[].threads] | add == 0 + 2656256 or add > 100000')" true
is 'families too' "$(member '(.counts.by_family | map(.threads) | add) == .counts.thread_instructions')" true
first=$(member .sample.numbers)
json "$EXAMPLE" --ctas 2 --workload small
is 'the same seed draws the same CTAs' "$(member .sample.numbers)" "$first"
json "$EXAMPLE" --ctas 2 --workload small --seed 2
ok 'another seed others' [ "$(member .sample.numbers)" != "$first" ]

# What cannot be sampled.
plan meet 64
json "$KERNELS" --plan "$TMP/plan.json" --ctas 2 --deadline 2
is 'CTAs that wait for others cannot be judged alone' "$CODE $(member .verdict)" '3 null'
is 'and the reason is said' "$(member '.detail | test("wait for CTAs")')" true
plan meet 64 '"cooperative": true,'
json "$KERNELS" --plan "$TMP/plan.json" --ctas 2
is 'a cooperative launch is refused at once' "$CODE $(member '.detail | test("cooperative")')" '3 true'
plan draw 64
json "$KERNELS" --plan "$TMP/plan.json" --ctas 3
is 'a counter that hands out tiles gets a note' "$(member '.notes[0] | test("atomics on global memory")')" true

# Findings.
plan outside 1
vm run "$KERNELS" --plan "$TMP/plan.json"
is 'a write outside a tensor is wrong' "$CODE" 1
is 'and is told with kernel, CTA and thread' \
    "$(grep -c '^out_of_bounds_write in outside, CTA (0,0,0), thread (0,0,0)$' "$TMP/out")" 1
is 'and instruction' "$(grep -cE 'ptx [0-9]+ \| st.global.u16' "$TMP/out")" 1
plan race 200
json "$KERNELS" --plan "$TMP/plan.json" --schedules 3
is 'results that depend on the order differ between schedules' \
    "$CODE $(member '.schedules.run == 3 and (.schedules.differ | length) > 0')" '1 true'
# repeat N ARGUMENTS…: how many different answers N runs of the same command give.
repeat()
{
    n=$1
    shift
    for _ in $(seq "$n"); do
        vm run "$KERNELS" --plan "$TMP/plan.json" "$@"
        echo "$CODE"; cat "$TMP/out"
        echo end
    done | awk '{ text = text $0 "\n" } /^end$/ { if (!seen[text]++) n++; text = "" } END { print n + 0 }'
}
is 'the same command gives the same answer each time, though CTAs race' "$(repeat 20 --schedules 3)" 1
is 'so does a seed alone' "$(repeat 20 --seed 5 --count)" 1
vm run "$KERNELS" --plan "$TMP/plan.json" --threads 0
is 'no thread at all is a wrong command line' "$CODE" 2

# Traces.
vm run "$EXAMPLE" --ctas 1 --workload small --trace gemm_naive,5,1 --trace-lines 12
is 'a trace has as many lines as it may' "$(grep -cE '^ptx:[0-9]+ +ffffffff  ' "$TMP/out")" 12
is 'values before and after' "$(grep -c 'mov.u32 %t0, %ctaid.x;  // -> %t0=5$' "$TMP/out")" 1
is 'and says what it left out' "$(grep -cE '^… and [0-9]+ more instructions' "$TMP/out")" 1
json "$EXAMPLE" --ctas 1 --workload small --trace gemm_naive,5:0:0,1
is 'with JSON it goes to stderr' "$(grep -cE 'mov.u32 %t0, %ctaid.x;  // -> %t0=5$' "$TMP/err") $(member .verdict)" '1 "PASSED"'
vm run "$EXAMPLE" --ctas 1 --trace other,0,0
is 'a kernel that is not launched cannot be traced' "$CODE" 2

# One kernel by hand.
# Its CTAs race: with one thread of the host the last one wins, with two it depends on the host.
vm launch "$KERNELS" --threads 1 --entry race --grid 3 --block 4 --buffer c=64 --buffer s=4 --arg @c --arg @s --dump c:u8:5
is 'a kernel runs with buffers given by hand' "$CODE $(cat "$TMP/out")" '0 c: 2 0 2 0 2'
for _ in 1 2 3 4 5 6 7 8; do
    vm launch "$KERNELS" --seed 4 --entry race --grid 300 --block 32 --buffer c=64 --buffer s=4 --arg @c --arg @s --dump c:u8:2
    cat "$TMP/out"
done | sort -u > "$TMP/all"
is 'and by a seed always in the same order' "$(wc -l < "$TMP/all")" 1
vm launch "$KERNELS" --entry race --grid 3 --block 4 --buffer c=64 --arg @c
is 'a parameter without an argument is not zero by accident' "$CODE $(grep -c 'each parameter' "$TMP/err")" '2 1'
printf '.version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .b8 p[100000]) { ret; }\n' > "$TMP/k.ptx"
vm launch "$TMP/k.ptx" --arg u32:1
is 'nor are there more of them than a launch takes' "$CODE $(grep -c 'than a kernel may take' "$TMP/err")" '2 1'
done_testing
