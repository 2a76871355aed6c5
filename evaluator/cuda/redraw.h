/* SPDX-License-Identifier: Apache-2.0
 * Redraws: from one base (inputs and the oracle's answer to them) any number of further ones, exactly and
 * without running the oracle again. A problem names its transform ("redraw" in problem.json); a transform
 * says for each tensor which of two keys moves and negates its rows, and which its columns. */
#ifndef EVALUATOR_CUDA_REDRAW_H
#define EVALUATOR_CUDA_REDRAW_H

#include "evaluator/cuda/kernels.h"

struct redraw_keys {
    uint64_t key[2]; /* not 0 */
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
