/* SPDX-License-Identifier: Apache-2.0
 * What a module says about one kernel, from the cubin where there is one and from the PTX for what a
 * cubin does not say (alignment) or when there is none. For evaluator/inspect*.c only. */
#ifndef EVALUATOR_INSPECT_FACTS_H
#define EVALUATOR_INSPECT_FACTS_H

#include "evaluator/inspect.h"

struct kernel_param {
    uint64_t size, align, offset; /* align 0: not known, and then the offset is not either */
};

struct kernel_facts {
    size_t param_count;
    struct kernel_param params[CUBIN_PARAMS];
    uint64_t shared_bytes, local_bytes, param_bytes;
    int registers;        /* per thread; -1: not known */
    int64_t max_threads[3]; /* 0: not said */
    bool exact_threads;
    int64_t cluster[3];   /* 0: not said */
    bool explicit_cluster;
};

/* False if the module has no kernel of that name. */
bool kernel_facts_find(const struct cubin *cubin, const struct ptx_module *ptx, const char *symbol,
                       struct kernel_facts *out);

/* Bytes of module-scope variables in global memory. */
uint64_t module_global_bytes(const struct cubin *cubin, const struct ptx_module *ptx);

/* A name the module needs, does not define, and may not have; NULL if there is none. */
const char *module_forbidden(const struct cubin *cubin, const struct ptx_module *ptx);

#endif
