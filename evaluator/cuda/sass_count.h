/* SPDX-License-Identifier: Apache-2.0
 * From counts per instruction to counts per family: joins what was executed with the code of the cubin
 * that was launched. Pure. An instruction of a family that was not watched makes the result unknown, so
 * that a zero always means that nothing of the kind was executed. */
#ifndef EVALUATOR_CUDA_SASS_COUNT_H
#define EVALUATOR_CUDA_SASS_COUNT_H

#include "core/arch.h"
#include "core/cubin.h"

struct sass_record {
    const char *function; /* mangled; borrowed from who counted */
    uint32_t pc;          /* byte in its code */
    uint64_t warps, threads; /* executions by a warp; those of its threads with a true predicate */
};

/* `{0}` is empty. */
struct sass_records {
    struct sass_record *items; /* owned; sorted by function and pc */
    size_t count;
};
/* Sorts; records of the same place become one. */
void sass_records_sort(struct sass_records *r);
void sass_records_release(struct sass_records *r);

struct sass_count {
    uint64_t warps, threads;
};

struct sass_summary {
    struct sass_count families[LIMIT_FAMILIES]; /* as in arch.families */
    struct sass_count total;
    uint64_t patched;        /* instructions of the cubin that were watched */
    double tensor_flops;     /* done by tensor instructions … */
    const char *shapeless;   /* … unless one was executed whose shape is not known: its name, of arch */
    bool target;             /* was an instruction of a target family executed? */
};

/* A launch of a kernel: its mangled name, borrowed, and the warps of its grid. */
struct sass_launch {
    const char *kernel;
    uint64_t warps;
};

/* Sums up at most LIMIT_LAUNCHES launches and what their kernels call. ERR_UNAVAILABLE with the reason if
 * something of theirs was not watched, or not by all warps of all launches. */
enum err sass_summarise(const struct cubin *cubin, const struct arch *arch,
                        const struct sass_launch *launches, size_t launch_count,
                        const struct sass_records *records, struct sass_summary *out,
                        struct fault *f);

#endif
