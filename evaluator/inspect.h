/* SPDX-License-Identifier: Apache-2.0
 * Holds the launches of a plan against the compiled module before anything runs: does the kernel
 * exist, do the arguments fit, does the launch fit the kernel and the architecture, does the module
 * ask for something that is not allowed. Works from the cubin, the PTX, or both. Pure. */
#ifndef EVALUATOR_INSPECT_H
#define EVALUATOR_INSPECT_H

#include <jansson.h>

#include "core/arch.h"
#include "core/cubin.h"
#include "core/plan.h"
#include "core/words.h"

struct ptx_module; /* evaluator/ptxvm/ptx.h */

struct inspect_request {
    const struct arch *arch;
    const struct cubin *cubin;         /* NULL: there is none */
    const struct ptx_module *ptx;      /* NULL: it could not be parsed; one of the two must be there */
    const struct plan_launch *launches;
    size_t launch_count;
    const char *const *names;          /* kernels to report: name expressions … */
    const char *const *symbols;        /* … and their symbols, in the same order */
    size_t name_count;
    const char *log;                   /* assembler's words, for spills; NULL: none */
};

struct inspect_result {
    enum verdict verdict;      /* PASSED, LAUNCH_ERROR, REJECTED */
    char detail[LIMIT_DETAIL]; /* "" if PASSED */
    json_t *kernels;           /* rows for the report; owned */
    json_t *families;          /* {"gmma": {"static": n}}; empty without a cubin; owned */
};

void inspect(const struct inspect_request *request, struct inspect_result *out);
void inspect_result_release(struct inspect_result *r);

/* Names of the kernels of a module, readable, separated by ", " and cut to `size`; "none". */
void inspect_kernel_names(const struct cubin *cubin, const struct ptx_module *ptx, char *out,
                          size_t size);

/* Readable form of a mangled function name: "ns::kernel" of "_ZN2ns6kernelEPf", the name itself if it
 * is not mangled. Arguments and template arguments are left out. */
void inspect_demangle(const char *symbol, char *out, size_t size);

#endif
