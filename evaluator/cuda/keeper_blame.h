/* SPDX-License-Identifier: Apache-2.0
 * The driver says that an access was illegal, but not to what. Further runs can tell, in runners that
 * allow more: one that may write to the inputs, with memory in place of the guards around the
 * tensors. If the plan goes through there, either an input has changed, or half of the guards, a
 * quarter … show which one it needs. */
#ifndef EVALUATOR_CUDA_KEEPER_BLAME_H
#define EVALUATOR_CUDA_KEEPER_BLAME_H

#include "evaluator/cuda/keeper_job.h"

/* If `end` is an illegal access on the inputs of `base`, adds to its sentence which input it writes
 * to, or behind or ahead of which tensor it reaches, with the name as "tensor" of the fault; or that
 * the address is near none. Takes one run in the last case, about 2 + log2(2 x tensors) at most.
 * Whatever fails on the way leaves `end` as it is. */
void keeper_blame(struct keeper_job *j, const struct task_base *base, enum memory_place place,
                  int64_t plan_ms, struct keeper_end *end);

#endif
