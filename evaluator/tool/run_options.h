/* SPDX-License-Identifier: Apache-2.0
 * The command line of `ptxvm run`. */
#ifndef EVALUATOR_TOOL_RUN_OPTIONS_H
#define EVALUATOR_TOOL_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/limits.h"

struct run_options {
    const char *file, *problem, *workload, *arch, *plan; /* NULL: the default */
    bool count, json, help;
    bool repeatable;     /* --seed was given */
    uint64_t seed;       /* inputs, sampled CTAs, schedule */
    int threads;         /* of the host; 0: all. One where a result is to be repeated */
    uint64_t schedules;  /* how many; at least 1 */
    uint64_t ctas;       /* sampled CTAs or clusters; 0: the whole grid */
    int64_t deadline_ms; /* processor time of one run of the plan */
    char trace_kernel[LIMIT_KERNEL_EXPR]; /* "": no trace */
    uint64_t trace_cta, trace_warp, trace_lines;
};

/* False with the reason on stderr. */
bool run_options_read(int argc, char **argv, struct run_options *out);
extern const char run_usage[];

#endif
