#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The complete kernels that prompts show: the one for sm_90a computes the right thing on the cpu device, the one for
# sm_100a, which no device here runs, compiles and fits its plan.
. "$(dirname "$0")/../t/lib.sh"
CLI=$BIN/ptxbench
"$CLI" version | grep -q '^nvrtc ' || skip_all 'NVRTC is not installed'
exits 'the example for sm_90a passes' 0 "$CLI" eval "$ROOT/arch/sm_90a/examples/gemm.cu" --device cpu
like 'every bit right on integers' "$(cat "$TMP/out")" 'integers .*every bit right'
like 'with target instructions' "$(cat "$TMP/out")" 'target instructions executed'
exits 'the example for sm_100a compiles' 0 \
    "$CLI" eval "$ROOT/arch/sm_100a/examples/gemm.cu" --arch sm_100a --device cpu --mode compile
like 'and fits its plan' "$(cat "$TMP/out")" 'inspect +passed'
done_testing
