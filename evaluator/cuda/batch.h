/* SPDX-License-Identifier: Apache-2.0
 * Timing on the device. A batch is a list of launches, each with the L2 cache flushed before it and an event
 * on either side, all queued behind a gate that the host opens once nothing is left to queue: between two
 * launches the device never waits for the host. Before each launch, 2 x L2 is written (what was cached goes)
 * and 1 x L2 elsewhere is read (what is dirty goes too), so that no launch pays for the write-back of
 * another. What the baseline has computed is poisoned right behind it, so that while a candidate runs the
 * right answer to its inputs lies nowhere. tests/gpu/fidelity measures how far the same kernel on both sides is off. */
#ifndef EVALUATOR_CUDA_BATCH_H
#define EVALUATOR_CUDA_BATCH_H

#include "evaluator/cuda/baseline.h"
#include "evaluator/cuda/launch.h"
#include "evaluator/wire.h"

enum batch_side { BATCH_BASELINE, BATCH_CANDIDATE, BATCH_EMPTY };

struct batch_entry {
    enum batch_side side;
    int slot; /* of `slots`; any for BATCH_EMPTY */
};

/* One device set up for timing. */
struct batch {
    const struct driver_device *device; /* borrowed */
    CUstream stream;
    CUevent events[2 * WIRE_ENTRIES];
    struct memory flush;                /* 3 x L2 */
    CUmodule kernels;                   /* ours: batch_kernels.h */
    CUfunction write, read, scrub, empty, sample;
    struct memory sampled;              /* LIMIT_CAPTURE */
    size_t sampled_bytes;               /* in the last batch */
    volatile uint32_t *gate;            /* host memory that the stream waits for; owned */
    CUdeviceptr gate_address;
    uint32_t tick;                      /* of the gate: it opens at this value */

    /* Who runs: set by the caller, borrowed; NULL where a side does not occur. */
    struct launcher *candidate;
    const struct baseline *baseline;
    CUdeviceptr (*slots)[LIMIT_TENSORS]; /* addresses by slot */
    /* The problem's outputs while a batch counts: poisoned behind every run of the baseline, and looked at
     * behind every measured run of the candidate. */
    struct batch_output {
        size_t tensor, bytes, element_bytes;
    } outputs[LIMIT_TENSORS];
    size_t output_count;
    uint64_t sample_first, sample_step; /* see "batch" of evaluator/wire.h; step 0: nothing is sampled */
};

enum err batch_open(struct batch *b, const struct driver_device *d, struct fault *f);
void batch_close(struct batch *b);

/* Runs the entries in order and waits. The first `untimed` ones run ahead of the gate: what the driver sets
 * up at a first launch (a library's kernel, local memory) would wait for the device, and that for the gate.
 * So each side has to be among them once per module instance; without any there is no gate.
 * us[i] = time of entry `untimed` + i. At most WIRE_ENTRIES. False with a fault. */
bool batch_run(struct batch *b, const struct batch_entry *entries, size_t count, size_t untimed,
               double *us, struct launch_fault *fault);

/* The candidate's plan once, as a check: shared memory wiped, then launcher_run(). */
bool batch_check(struct batch *b, int slot, struct launch_fault *fault);

/* Every launch of the candidate's plan with events of its own, `repeat` times, L2 flushed before each run
 * of the plan: us[launch * repeat + i]. launch_count x repeat is at most WIRE_ENTRIES. */
bool batch_split(struct batch *b, int slot, size_t launch_count, size_t repeat, double *us,
                 struct launch_fault *fault);

#endif
