/* SPDX-License-Identifier: Apache-2.0
 * The workloads that the keeper has on the device. One that is asked for and not there is made;
 * when memory is short those not used for longest go. */
#ifndef EVALUATOR_CUDA_KEEPER_CACHE_H
#define EVALUATOR_CUDA_KEEPER_CACHE_H

#include "evaluator/cuda/keeper_task.h"

enum { CACHE_TASKS = 32 };

struct keeper_cache {
    const struct keeper_gpu *gpu; /* borrowed */
    struct keeper_task *tasks[CACHE_TASKS];
    size_t count;
    struct oracle_code *codes; /* one per problem of the registry; owned */
    size_t code_count;
    uint64_t tick;
};

enum err keeper_cache_init(struct keeper_cache *c, const struct keeper_gpu *g,
                           const struct problems *problems, struct fault *f);
void keeper_cache_release(struct keeper_cache *c);

/* Borrowed until the next call. NULL with a fault. `problem_index`: in the registry. */
struct keeper_task *keeper_cache_get(struct keeper_cache *c, size_t problem_index,
                                     const struct problem *p, const struct workload *w,
                                     struct fault *f);

/* Queues: published bases of what was used last are drawn anew, ahead of the next submission. */
enum err keeper_cache_renew(struct keeper_cache *c, struct fault *f);

#endif
