/* SPDX-License-Identifier: Apache-2.0
 * A problem ("definition"): problems/<name>/problem.json, validated on load: axes, tensors in ABI
 * order, workloads, the oracle's launch plan, rules of correctness. Read-only after loading. */
#ifndef CORE_PROBLEM_H
#define CORE_PROBLEM_H

#include <stdint.h>

#include "core/dtype.h"
#include "core/err.h"
#include "core/expr.h"

enum tensor_role { TENSOR_INPUT, TENSOR_OUTPUT };

struct tensor_def {
    char name[LIMIT_NAME + 1];
    enum tensor_role role;
    enum dtype dtype;
    int ndim;
    char dims[LIMIT_DIMS][LIMIT_EXPR + 1]; /* expressions over the axes, outermost first, contiguous row-major */
    char description[256];
};

struct workload {
    char name[LIMIT_NAME + 1];  /* "m8192_n7168_k5120" */
    int64_t axes[LIMIT_AXES];   /* values, in the order of problem.axes */
    bool paper;                 /* one of the paper's own workloads */
};

struct problem {
    char name[LIMIT_NAME + 1];
    char title[128];
    char axes[LIMIT_AXES][LIMIT_NAME + 1];
    size_t axis_count;
    struct tensor_def tensors[LIMIT_TENSORS]; /* inputs, then outputs: the ABI order */
    size_t tensor_count;
    struct workload *workloads;
    size_t workload_count;
    const struct workload *paper_workload; /* default for device gpu */
    const struct workload *cpu_workload;   /* default for device cpu */
    char flops[LIMIT_EXPR + 1];            /* expression: useful FLOPs of one launch set */
    char bytes[LIMIT_EXPR + 1];            /* expression: least bytes moved to and from memory */
    double atol, rtol;                     /* the paper's rule: bad iff |d| > atol and |d| > rtol |y| */
    double strict_excess;                  /* bound on the excess over rounding, relative L2; 0: none */
    json_t *oracle;                        /* launch plan of oracle.cu / oracle.ptx, as stored */
    json_t *document;                      /* the whole file, for GET /v1/problems/{name} */
    char folder[256];                      /* problems/<name> */
};

struct problems {
    struct problem *items;
    size_t count;
};

/* Loads and validates every problem of <home>/problems, sorted by name. */
enum err problems_load(struct problems *out, const char *home, struct fault *f);
void problems_release(struct problems *p);
const struct problem *problems_find(const struct problems *p, const char *name);
const struct workload *problem_workload(const struct problem *p, const char *name);
/* Index of a tensor by name, or -1. */
int problem_tensor(const struct problem *p, const char *name);

/* Axes of a workload, plus num_sms, as variables for expressions. `vars` must hold LIMIT_AXES + 1. */
size_t problem_vars(const struct problem *p, const struct workload *w, int num_sms,
                    struct expr_var *vars);

/* Shape in elements (outermost first) and total elements of tensor `i` for a workload. Validated at
 * load, so it cannot fail for a workload of the problem. */
int64_t problem_shape(const struct problem *p, const struct workload *w, size_t i,
                      int64_t shape[LIMIT_DIMS]);

#endif
