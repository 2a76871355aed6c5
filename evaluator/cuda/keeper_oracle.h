/* SPDX-License-Identifier: Apache-2.0
 * The oracle on the keeper's own context: compiled once per problem, bound to a workload, run over
 * the inputs of a base. Where inputs are derived it makes those first, with the second of its
 * plans. */
#ifndef EVALUATOR_CUDA_KEEPER_ORACLE_H
#define EVALUATOR_CUDA_KEEPER_ORACLE_H

#include "evaluator/cuda/keeper_gpu.h"
#include "evaluator/cuda/launch.h"

/* What was compiled of one problem. `{0}` is none. */
struct oracle_code {
    const struct problem *problem; /* borrowed; NULL: none */
    json_t *symbols;               /* owned … */
    struct buf cubin;
};
void oracle_code_release(struct oracle_code *c);

/* One plan of the oracle. */
struct oracle_step {
    struct problem
        as; /* the problem as the plan sees it: problem_as_derive(), problem_as_oracle() */
    struct plan *plan; /* owned … */
    struct launcher *launcher;
};
enum { ORACLE_STEPS = 2 };

struct keeper_oracle {
    struct oracle_step steps[ORACLE_STEPS]; /* in the order in which they run */
    size_t count;
    struct oracle_code own; /* if `code` did not fit the workload */
};

/* `code`: of an earlier workload of the problem, or empty and then filled. Takes a second or two
 * where it has to compile. `code` must outlive the oracle. */
enum err keeper_oracle_open(struct keeper_oracle *o, const struct keeper_gpu *g,
                            const struct problem *p, const struct workload *w,
                            struct oracle_code *code, struct fault *f);
void keeper_oracle_close(struct keeper_oracle *o);

/* Queues: derived inputs from those that were drawn, and outputs, which have the oracle's types,
 * from all inputs. In ABI order. A fault of it is one of the context and shows at the next wait. */
enum err keeper_oracle_run(const struct keeper_oracle *o, const CUdeviceptr tensors[LIMIT_TENSORS],
                           struct fault *f);

#endif
