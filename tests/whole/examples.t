#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every example of every problem computes the right thing on the cpu device, at the problem's small workload and by the
# strict rule. What is written for Hopper's own units executes them. A new example needs no line here.
. "$(dirname "$0")/../t/lib.sh"
CLI=$BIN/ptxbench
"$CLI" version | grep -q '^nvrtc ' || skip_all 'NVRTC is not installed'

# report EXAMPLE PROBLEM: its report is in $TMP/report; what the CLI said of it, if anything, in $TMP/said.
report()
{
    "$CLI" eval "$1" --problem "$2" --device cpu --mode check --json > "$TMP/report" 2> "$TMP/said"
}

member()
{
    jq -c "$1" "$TMP/report" 2>&1
}

for example in "$ROOT"/problems/*/examples/*; do
    file=${example##*/} folder=${example%/examples/*}
    problem=${folder##*/}
    report "$example" "$problem"
    is "$problem: $file passes, by the strict rule too" "$(member '[.verdict, .check.strict]')" '["PASSED",true]' ||
        diag "$(cat "$TMP/said"; member '.detail')"
    case $file in
    wgmma_*) is "$problem: $file executes target instructions" "$(member .target.executed)" true ;;
    esac
done
done_testing
