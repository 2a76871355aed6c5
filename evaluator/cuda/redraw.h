/* SPDX-License-Identifier: Apache-2.0
 * Redraws: from one base (inputs and the oracle's answer to them) any number of further ones, exactly and
 * without running the oracle again. A problem names its transform ("redraw" in problem.json); a transform
 * says of each tensor, by its name, which of a few keys moves and negates its rows, and which its columns:
 *
 *   gemm_rows  A'[i] = s_i A[pi(i)] and B'[j] = t_j B[sigma(j)], so C'[i, j] = s_i t_j C[pi(i), sigma(j)]
 *   attention  every (b, h) of every tensor is that of pi(b, h). Columns keep their places: those of Q and K
 *              are negated alike, so that no score changes, and with them those of dQ and dK; those of V, O
 *              and dO likewise, which leaves dP as it was, and with them those of dV. LSE and L only move.
 *
 * An oracle that sums in an order which does not depend on the row gives the redrawn answer to the last bit. */
#ifndef EVALUATOR_CUDA_REDRAW_H
#define EVALUATOR_CUDA_REDRAW_H

#include "evaluator/cuda/kernels.h"

enum { REDRAW_KEYS = 3 };
struct redraw_keys {
    uint64_t key[REDRAW_KEYS]; /* not 0 */
};

/* Fresh keys. */
struct redraw_keys redraw_draw(void);

/* Can tensors of the problem be redrawn? */
bool redraw_exists(const struct problem *p);

/* Makes tensor `i` of the problem from that of the base. `t`: type of its elements (the oracle's for its
 * answer). */
enum err redraw_tensor(const struct kernels *k, const struct problem *p, const struct workload *w,
                       size_t i, enum dtype t, CUdeviceptr out, CUdeviceptr base,
                       const struct redraw_keys *keys, struct fault *f);

#endif
