/* SPDX-License-Identifier: Apache-2.0
 * First line of an exec_*_avx2.c, which then includes its exec_*.c: what follows is compiled for
 * AVX2 and FMA under other table names. Headers come first, so that only handlers get that target.
 */
#ifndef EVALUATOR_PTXVM_AVX2_H
#define EVALUATOR_PTXVM_AVX2_H

#include <fenv.h>
#include <math.h>
#include <string.h>

#define ROWS_NAME(name) rows_##name##_avx2
#include "evaluator/ptxvm/lanes.h"
#include "evaluator/ptxvm/convert.h"
#include "evaluator/ptxvm/floats.h"
#include "evaluator/ptxvm/rows.h"

#if ROWS_HAVE_AVX2 && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi2,popcnt"))), apply_to = function)
#define AVX2_END _Pragma("clang attribute pop")
#elif ROWS_HAVE_AVX2
#pragma GCC push_options
#pragma GCC target("avx2,fma,bmi2,popcnt")
#define AVX2_END _Pragma("GCC pop_options")
#else
#define AVX2_END
#endif

#endif
