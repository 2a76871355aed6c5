/* SPDX-License-Identifier: Apache-2.0
 * What one timing has gathered (keeper_time.c), and how it is told (keeper_timing.c). */
#ifndef EVALUATOR_CUDA_KEEPER_TIMING_H
#define EVALUATOR_CUDA_KEEPER_TIMING_H

#include "evaluator/check_tally.h"
#include "evaluator/cuda/keeper_job.h"
#include "evaluator/cuda/keeper_sample.h"

enum { TIMING_ROOM = 2 + ORDER_BLOCKS + ORDER_BATCHES_MIN * ADMIT_SLOTS_MAX / 2 };

struct keeper_timing {
    struct keeper_job *job; /* borrowed */
    struct keeper_task *task;
    int64_t batch_ms;         /* wall time that one batch may take */
    struct check_tally tally; /* of the outputs that were timed */
    struct nvml_set environment;
    struct timing_block blocks[TIMING_ROOM];
    size_t count, batches;
    struct order_spread spread; /* as it was when only the first block was known */
    double floor_us, launch_us[LIMIT_LAUNCHES]; /* 0: not measured */
    struct task_draw draws[ADMIT_SLOTS_MAX];    /* of the batch at hand … */
    struct keeper_sample sample;
};

/* Adds "speedup", "candidate_us", "baseline" and "timing" if there are blocks; flags, and the
 * verdict IMPLAUSIBLE, go to `end` unless it has another. False if the verdict is not PASSED. */
bool keeper_timing_report(const struct keeper_timing *t, json_t *result, struct keeper_end *end);

#endif
