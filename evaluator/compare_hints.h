/* SPDX-License-Identifier: Apache-2.0
 * Guesses at why an output is wrong, cheap enough to make every time. They are words for the
 * person or agent who repairs the kernel; no verdict depends on them. */
#ifndef EVALUATOR_COMPARE_HINTS_H
#define EVALUATOR_COMPARE_HINTS_H

#include "evaluator/compare.h"

/* How output and oracle go together, over elements where both are finite. */
struct compare_fit {
    double oo, oy, yy;      /* sums of products */
    double lowest, highest; /* of the output; infinite if n is 0 */
    int64_t n;
};
/* Measures it; `transpose`: every matrix of the oracle turned. */
typedef void compare_fit_function(void *arg, bool transpose, struct compare_fit *out);

/* Fills r->hints from the finished result, and from the tensors by way of `fit`, which is only called for an
 * output that fails the paper's rule. Pure. */
void compare_hints_by(const struct compare_task *task, struct compare_result *r,
                      compare_fit_function *fit, void *arg);
/* The same for tensors that are here. */
void compare_hints(const struct compare_task *task, struct compare_result *r);

#endif
