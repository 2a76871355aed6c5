/* SPDX-License-Identifier: Apache-2.0
 * Was the work done by the launch that was timed for it? A candidate could leave work to a later
 * launch, which would come out right in the end. So a runner copies some elements of every output
 * right behind each timed run (evaluator/wire.h); here they are held against what the output
 * became. Which ones is not known to the candidate. */
#ifndef EVALUATOR_CUDA_KEEPER_SAMPLE_H
#define EVALUATOR_CUDA_KEEPER_SAMPLE_H

#include "evaluator/cuda/keeper_task.h"

struct keeper_sample {
    uint64_t first, step; /* of the batch; below 2^40 */
};
struct keeper_sample keeper_sample_draw(void);

/* Bytes that a batch of that many slots gives. */
size_t keeper_sample_bytes(const struct keeper_task *t, int slots);

/* How many of the elements in `samples` (that many bytes) are no longer what they were; *tensor
 * names an output where that is so. Waits. */
enum err keeper_sample_compare(const struct keeper_task *t, int slots,
                               const struct keeper_sample *s, const void *samples, size_t *changed,
                               const char **tensor, struct fault *f);

#endif
