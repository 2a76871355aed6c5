/* SPDX-License-Identifier: Apache-2.0
 * The report's "target" from what verifiers have counted (evaluator/cuda/verifier.h). Pure. Unknown
 * stays unknown: one launch that could not be counted leaves the whole plan so. */
#ifndef EVALUATOR_CUDA_KEEPER_TARGET_H
#define EVALUATOR_CUDA_KEEPER_TARGET_H

#include <jansson.h>
#include <stdbool.h>

/* {"executed", "families", "tensor_share", "reason"}, all null but the reason. New references. */
json_t *keeper_target_unknown(const char *reason);
/* From an answer to "count": each member of its own kind, or null. */
json_t *keeper_target_of(const json_t *answer);

/* Are the instructions counted? */
bool keeper_target_known(const json_t *target);
/* Adds what another launch has executed to `sum`, whose instructions are counted. If those of
 * `more` are not, nothing is known any more; if one has no share of the operations, neither has the
 * sum. */
void keeper_target_add(json_t *sum, const json_t *more);

#endif
