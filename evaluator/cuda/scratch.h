/* SPDX-License-Identifier: Apache-2.0
 * The scratch buffers of a plan, each between guards of its own, its end against the one behind. */
#ifndef EVALUATOR_CUDA_SCRATCH_H
#define EVALUATOR_CUDA_SCRATCH_H

#include "evaluator/cuda/launch.h"

struct scratch {
    const struct driver_device *device; /* borrowed */
    const struct plan *plan;            /* borrowed */
    struct memory buffers[LIMIT_BUFFERS];
    struct memory masters[LIMIT_BUFFERS]; /* literal data, copied from before every launch */
};

bool scratch_open(struct scratch *s, const struct driver_device *device, const struct plan *plan,
                  struct launch_fault *fault);
void scratch_close(struct scratch *s);

/* Queues what no time counts: poison and literal data. */
bool scratch_prepare(struct scratch *s, CUstream stream, struct launch_fault *fault);
/* Queues what belongs to the plan: zeroes. */
bool scratch_zero(struct scratch *s, CUstream stream, struct launch_fault *fault);
/* Makes the buffer that a launch has filled read-only. */
bool scratch_seal(struct scratch *s, size_t buffer, struct launch_fault *fault);
/* Captured buffers: see launcher_capture(). */
bool scratch_capture(struct scratch *s, struct buf *out, json_t *list, struct launch_fault *fault);

#endif
