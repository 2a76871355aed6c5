/* SPDX-License-Identifier: Apache-2.0
 * The middle of a comparison, for who sums up an output elsewhere (evaluator/cuda/gpu_compare.h): sums by
 * part go in, the judgement of evaluator/compare.h comes out. */
#ifndef EVALUATOR_COMPARE_PARTS_H
#define EVALUATOR_COMPARE_PARTS_H

#include "evaluator/compare.h"

/* Squared sums of one part of a tensor (over elements where both sides are finite). */
struct compare_sums {
    double error, rounding, reference; /* |o - y|², |round(y) - y|², |y|² */
    int64_t n;
};

/* The last two dimensions of the tensor, the leading ones counted through, and its parts. */
struct compare_parts {
    int64_t matrices, height, width, tiles_down, tiles_across, tile_count, row_count;
    struct compare_sums *tiles, *rows, all;
};

/* Only how many parts there are: no room for them. */
void compare_parts_measure(struct compare_parts *p, const struct compare_task *t);
/* All sums zero. False: out of memory; release in any case. */
bool compare_parts_init(struct compare_parts *p, const struct compare_task *t);
void compare_parts_release(struct compare_parts *p);

/* What follows from the sums and from the counts already in `r`: the members from `excess` on that judge.
 * False: out of memory. */
bool compare_judge(const struct compare_task *t, const struct compare_parts *p,
                   struct compare_result *r);

#endif
