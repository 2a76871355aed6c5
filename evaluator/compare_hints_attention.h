/* SPDX-License-Identifier: Apache-2.0
 * The part of evaluator/compare_hints.h that knows what kernels of attention get wrong. Tensors of
 * four dimensions are taken for [B, H, S, D], of three for a log-sum-exp [B, H, S]. Pure. */
#ifndef EVALUATOR_COMPARE_HINTS_ATTENTION_H
#define EVALUATOR_COMPARE_HINTS_ATTENTION_H

#include "evaluator/compare.h"

/* Appends one; none beyond COMPARE_HINTS. */
__attribute__((format(printf, 2, 3))) void hint(struct compare_result *r, const char *fmt, ...);

/* dQ, dK, dV and the like, by name. */
bool hint_is_gradient(const struct compare_task *t);

/* What it can mean that the output is `scale` times the oracle; "": nothing known. Static. */
const char *hint_factor(const struct compare_task *t, double scale);

/* Under a causal mask an edge off by one matters less and less to later rows. False: it is not
 * that. */
bool hint_edge(const struct compare_task *t, struct compare_result *r);

/* Weights that were wrong everywhere: a wrong factor on the scores, wrong keys, nothing rescaled.
 * `c`: correlation with the oracle, `scale`: the factor that fits best, `size`: norm over the
 * oracle's. */
void hint_weights(const struct compare_task *t, struct compare_result *r, double c, double scale,
                  double size);

/* A log-sum-exp, one number a row: how it is off tells what happened to the scores. Reads the
 * tensors. */
void hint_lse(const struct compare_task *t, struct compare_result *r);

#endif
