/* SPDX-License-Identifier: Apache-2.0
 * A rig: one module on the CPU device together with all that its plan needs, ready to run: tensors
 * mapped from host memory (inputs read-only), scratch buffers, parameters laid out as the driver
 * does. The candidate and the oracle get a rig each, so neither can see the other's memory. */
#ifndef EVALUATOR_RUNNER_RIG_H
#define EVALUATOR_RUNNER_RIG_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/plan.h"
#include "evaluator/ptxvm/ptxvm.h"

struct rig_spec {
    const struct problem *problem;   /* for the oracle: problem_as_oracle() */
    const struct workload *workload;
    const struct arch *arch;
    const struct plan *plan;
    const char *ptx;
    size_t ptx_len;
    const json_t *symbols;           /* {name expression: symbol}; NULL: a name is its symbol */
    const json_t *registers;         /* {symbol: registers of a thread, by ptxas}; NULL: not known */
    void *const *tensors;            /* host memory of the problem's tensors, 256-byte aligned */
    uint64_t thread_instructions;    /* budget of one run of the plan */
    int64_t plan_ms;                 /* processor time of one run of the plan */
    /* For people who write kernels; zeros otherwise. */
    uint64_t schedule;               /* seed: see ptxvm_options, and there for the next, too */
    int threads;
    const struct ptxvm_trace *trace; /* of `trace_kernel` (a kernel of the plan), in the first run */
    const char *trace_kernel;
    const uint64_t *sample;          /* clusters to run of each launch; NULL: all */
    size_t sample_count;
    void *const *buffers;            /* host memory of the plan's buffers, filled; NULL: our own */
};

/* Dynamic counts of one run of the plan. */
struct rig_counts {
    uint64_t thread_instructions, warp_instructions, ctas;
    double tensor_flops; /* of the instructions of tensor families */
    json_t *forms;       /* {"ld.global.v4.f32": {"warps", "threads"}}; owned by the run */
    struct {
        uint64_t warps, threads;
    } families[LIMIT_FAMILIES]; /* as in arch->families */
};

/* How a run went. */
struct rig_run {
    enum ptxvm_status status; /* PTXVM_OK, or that of the launch that ended the run */
    char detail[LIMIT_DETAIL]; /* which launch and why; "" if all went well */
    json_t *fault;             /* for report.faults; NULL if all went well; owned */
    json_t *note;              /* likewise: {"kind": "note", "kernel", "launch", "detail"} of the first
                                * launch with one; NULL: none */
    struct rig_counts counts;
};

struct rig;

/* Borrows everything in `spec` while it lives, except the PTX text. NULL with a fault: ERR_INVALID
 * the PTX does not parse or load, ERR_UNAVAILABLE the plan needs what this device does not have,
 * ERR_NO_MEMORY. */
struct rig *rig_new(const struct rig_spec *spec, struct fault *f);
void rig_free(struct rig *rig); /* NULL is fine */

/* Initialises the scratch buffers and runs every launch of the plan in order. Module variables
 * keep what the last run left in them, as they do on hardware. */
void rig_run(struct rig *rig, struct rig_run *out);
void rig_run_release(struct rig_run *run);

/* What the module says of the kernel of launch `i`. False: it has no such kernel. */
bool rig_kernel(struct rig *rig, size_t i, struct ptxvm_kernel *out);
/* Bytes of scratch buffer i of the plan, valid until the next run. */
const void *rig_buffer(struct rig *rig, size_t i);
/* What the kernels have printed so far, at most LIMIT_LOG. */
const struct buf *rig_log(const struct rig *rig);

#endif
