/* SPDX-License-Identifier: Apache-2.0
 * The exec files by what they execute. EXEC_FAST are loops over lanes that gain from wide vectors:
 * exec_*_avx2.c compile them a second time. A new exec file is one more X. */
#ifndef EVALUATOR_PTXVM_ROWS_H
#define EVALUATOR_PTXVM_ROWS_H

#include "evaluator/ptxvm/decode.h"

#if defined(__x86_64__)
#define ROWS_HAVE_AVX2 1
#else
#define ROWS_HAVE_AVX2 0
#endif

#define EXEC_FAST(X)                                                                               \
    X(int) X(bits) X(lop3) X(float) X(compare) X(cvt) X(half) X(memory) X(wgmma) X(mma)
#define EXEC_PLAIN(X)                                                                              \
    X(move)                                                                                        \
    X(flow)                                                                                        \
    X(barrier)                                                                                     \
    X(warp) X(atom) X(math) X(cluster) X(setmaxnreg) X(mbarrier) X(bulk) X(tma) X(ldmatrix)        \
        X(cp_async) X(wmma) X(st_async) X(video) X(stack) X(tensormap)

#define DECLARE(name) extern const struct row rows_##name[];
#define DECLARE_AVX2(name) extern const struct row rows_##name##_avx2[];
EXEC_FAST(DECLARE)
EXEC_PLAIN(DECLARE)
EXEC_FAST(DECLARE_AVX2)
#undef DECLARE
#undef DECLARE_AVX2

/* Number of distinct rows. */
size_t rows_count(void);

#endif
