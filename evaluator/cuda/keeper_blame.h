/* SPDX-License-Identifier: Apache-2.0
 * The driver says that an access was illegal, but not to what. Whether it was a write to an input,
 * which is mapped read-only, a second run can tell: in a fresh runner that may write to the inputs.
 */
#ifndef EVALUATOR_CUDA_KEEPER_BLAME_H
#define EVALUATOR_CUDA_KEEPER_BLAME_H

#include "evaluator/cuda/keeper_job.h"

/* If `end` is an illegal access on the inputs of `base`, runs the plan once more, and names the
 * input that it wrote to, if it did: in the sentence and as "tensor" of the fault. Whatever fails
 * on the way leaves `end` as it is. */
void keeper_blame(struct keeper_job *j, const struct task_base *base, enum memory_place place,
                  int64_t plan_ms, struct keeper_end *end);

#endif
