/* SPDX-License-Identifier: Apache-2.0
 * How often each machine instruction was executed: CUPTI's SASS metrics, loaded at run time. One range per
 * process: whatever is launched after the first reading is not watched any more (CUPTI 13.0, measured),
 * so there is no rehearsal either.
 *
 *     sass_metrics_open(&m, &device, ordinal, f)   reads files: before a process confines itself
 *     load the module; sass_metrics_begin(&m, f); one launch; sass_metrics_end(&m, &records, f) */
#ifndef EVALUATOR_CUDA_SASS_METRICS_H
#define EVALUATOR_CUDA_SASS_METRICS_H

#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/sass_count.h"

enum sass_metric { SASS_WARPS, SASS_THREADS, SASS_METRICS };

struct sass_metrics {
    CUcontext context; /* borrowed */
    uint64_t ids[SASS_METRICS];
    bool on, used;
};

/* Needs a current context. ERR_UNAVAILABLE says why nothing can be counted here: no CUPTI, counters that
 * only an administrator may read, another profiler. */
enum err sass_metrics_open(struct sass_metrics *m, const struct driver_device *d, int ordinal,
                           struct fault *f);
/* The function that is launched next is watched; a second one would not be (CUPTI 13.0). Nothing of the
 * driver's own may come between: a memset is a kernel too. */
enum err sass_metrics_begin(struct sass_metrics *m, struct fault *f);
/* What was executed since then; waits for nothing. ERR_UNAVAILABLE if not all of it is known. `out` is
 * sorted; release it in any case. */
enum err sass_metrics_end(struct sass_metrics *m, struct sass_records *out, struct fault *f);

#endif
