#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Assembles the modules of this folder into the seed corpus that cubin_test and fuzz_cubin read.
set -eu
cd "$(dirname "$0")"
out=../../fuzz/corpus/fuzz_cubin
ptxas=${CUDA_HOME:-/usr/local/cuda}/bin/ptxas
"$ptxas" -arch=sm_90a module.ptx -o "$out/module_sm_90a.cubin"
"$ptxas" -arch=sm_90a -c module.ptx -o "$out/module_sm_90a_relocatable.cubin"
"$ptxas" -arch=sm_100a heap.ptx -o "$out/heap_sm_100a.cubin"
