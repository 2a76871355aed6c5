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
    enum dtype oracle_dtype; /* outputs: what the oracle writes (f32 or f64); inputs: as dtype */
    bool derived;            /* an input that the oracle makes of the inputs that are drawn */
    double strict_excess;    /* outputs: bound on the excess over rounding, relative L2; 0: none */
    int ndim;
    char dims[LIMIT_DIMS][LIMIT_EXPR +
                          1]; /* expressions over the axes, outermost first, contiguous row-major */
    char description[256];
};

struct workload {
    char name[LIMIT_NAME + 1]; /* "m8192_n7168_k5120" */
    char uuid[40];             /* of the paper's own workload; "" if there is none */
    int64_t axes[LIMIT_AXES];  /* values, in the order of problem.axes */
    bool paper;                /* one of the paper's own workloads */
};

enum distribution_kind { DISTRIBUTION_NORMAL, DISTRIBUTION_INTEGERS, DISTRIBUTION_SPIKY };

/* One way to draw every input that is not derived. */
struct distribution {
    char name[LIMIT_NAME + 1];
    enum distribution_kind kind;
    double mean, deviation; /* normal and spiky */
    double spike_deviation; /* spiky: of the normal number that is added to a few elements */
    int64_t spikes;         /* spiky: of 65,536 elements so many have a spike, on average */
    int64_t low, high;      /* integers: uniform in [low, high] */
    double slack;           /* factor on atol and on the strict bounds for inputs so large; 1 */
    bool exact;             /* the output must equal the rounded oracle bit for bit */
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
    char flops[LIMIT_EXPR + 1];            /* expression: useful FLOPs of one evaluation */
    char bytes[LIMIT_EXPR + 1];            /* expression: least bytes moved to and from memory */
    double atol, rtol; /* the paper's rule: bad iff |d| > atol and |d| > rtol |y| */
    double bad_share;  /* so many of an output's elements may be bad, rounded up; 0: none */
    double parts;      /* a row or a tile may have so many times the strict bound; 1 */
    struct distribution distributions[LIMIT_DISTRIBUTIONS];
    size_t distribution_count;
    json_t *oracle;              /* section as stored: source, ptx, outputs, launch; borrowed */
    char redraw[LIMIT_NAME + 1]; /* transform of evaluator/cuda/redraw.c; "": none */
    char oracle_source[LIMIT_NAME + 1]; /* path from `folder`: device code in CUDA C++ */
    char oracle_ptx[LIMIT_NAME + 1];    /* the same as PTX; "" if there is none */
    json_t *oracle_launch; /* launch plan; parse it against problem_as_oracle(); borrowed */
    json_t *derive_launch; /* launch plan of the same source that makes the derived inputs; parse it
                            * against problem_as_derive(); NULL if no input is derived; borrowed */
    json_t *document;      /* the whole file, for GET /v1/problems/{name} */
    char folder[256];      /* problems/<name> */
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

/* Copies `p` with each output's dtype replaced by what the oracle writes, so that plan_parse() can
 * judge the oracle's own launch plan. The copy borrows everything from `p`; do not release it. */
void problem_as_oracle(const struct problem *p, struct problem *out);

/* Copies `p` with its derived inputs as outputs, which is what they are for the launch plan
 * `derive_launch`: it writes them in their own dtype. The tensors keep their numbers and order, so
 * a derived tensor may stand before an input. As above, the copy borrows. */
void problem_as_derive(const struct problem *p, struct problem *out);

/* Axes of a workload, plus num_sms, as variables for expressions. `vars` must hold LIMIT_AXES + 1.
 */
size_t problem_vars(const struct problem *p, const struct workload *w, int num_sms,
                    struct expr_var *vars);

/* Shape in elements (outermost first) and total elements of tensor `i` for a workload. Validated at
 * load, so it cannot fail for a workload of the problem. */
int64_t problem_shape(const struct problem *p, const struct workload *w, size_t i,
                      int64_t shape[LIMIT_DIMS]);

/* Useful FLOPs of one evaluation of a workload, and the least bytes moved. Validated at load. */
int64_t problem_flops(const struct problem *p, const struct workload *w);
int64_t problem_bytes(const struct problem *p, const struct workload *w);

#endif
