/* SPDX-License-Identifier: Apache-2.0
 * A warp-wide instruction inside a function that its lanes called apart: they stand at one place of
 * the program in several frames. Hardware has no frames; they meet all the same. */
#ifndef EVALUATOR_PTXVM_APART_H
#define EVALUATOR_PTXVM_APART_H

#include "evaluator/ptxvm/decode.h"

/* What an op reads and writes in its frame. A predicate whose reference is 0 is not there. */
struct apart_part {
    uint32_t ref;
    enum width width;
    bool is_result;
};

typedef void apart_run_fn(struct warp *w, const struct op *op, uint32_t exec);

/* Runs op for `exec`, which have met those of the same members, and for all of these that wait at op
 * in other frames: values of theirs lie in the running frame meanwhile, and they go on behind op. */
void apart_run(struct warp *w, const struct op *op, uint32_t exec, apart_run_fn *run,
               const struct apart_part *parts, uint32_t count);

#endif
