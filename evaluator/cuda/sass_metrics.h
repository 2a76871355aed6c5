/* SPDX-License-Identifier: Apache-2.0
 * How often each machine instruction was executed: CUPTI's SASS metrics, loaded at run time. One launch
 * per process: CUPTI 13.0 watches the first kernel that is launched after the metrics are set, and no
 * other (measured on an H200, whatever the way of patching, loading, or launching, and also after
 * ranges and settings anew). What ran before does no harm.
 *
 *     sass_metrics_open(&m, &device, ordinal, f)   reads files: before a process confines itself
 *     load the module, launch what comes first, wait for it
 *     sass_metrics_begin(&m, f); one launch; wait for it; sass_metrics_end(&m, &records, f) */
#ifndef EVALUATOR_CUDA_SASS_METRICS_H
#define EVALUATOR_CUDA_SASS_METRICS_H

#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/sass_count.h"

enum sass_metric { SASS_WARPS, SASS_THREADS, SASS_METRICS };

struct sass_metrics {
    CUcontext context; /* borrowed */
    int ordinal;
    uint64_t ids[SASS_METRICS];
    bool on, used;
};

/* Needs a current context. ERR_UNAVAILABLE says why nothing can be counted here: no CUPTI, counters that
 * only an administrator may read, another profiler. */
enum err sass_metrics_open(struct sass_metrics *m, const struct driver_device *d, int ordinal,
                           struct fault *f);
/* Sets the metrics: the kernel that is launched next is watched. Nothing of the driver's own may come
 * between: a memset is a kernel too. Works in a process that has confined itself. */
enum err sass_metrics_begin(struct sass_metrics *m, struct fault *f);
/* What was executed since then; waits for nothing. ERR_UNAVAILABLE if not all of it is known. `out` is
 * sorted; release it in any case. */
enum err sass_metrics_end(struct sass_metrics *m, struct sass_records *out, struct fault *f);

#endif
