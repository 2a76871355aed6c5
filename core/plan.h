/* SPDX-License-Identifier: Apache-2.0
 * The launch plan: what the submitter says about defines, scratch buffers, tensor maps and
 * launches. plan_parse() answers at POST with every fault and its JSON path; the result is fully
 * resolved for one workload: no expression is left. The compiled module is not needed here; what
 * needs it is plan_check_module() in evaluator/inspect. Pure: no I/O. */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include "core/arch.h"
#include "core/buf.h"
#include "core/problem.h"

enum buffer_init { BUFFER_POISON, BUFFER_ZERO, BUFFER_DATA, BUFFER_LAUNCH };

struct plan_buffer {
    char name[LIMIT_NAME + 1];
    enum dtype dtype;
    int ndim;
    int64_t shape[LIMIT_DIMS];
    int64_t elements, bytes;
    enum buffer_init init;
    struct buf data;            /* BUFFER_DATA: literal bytes, at most `bytes`; the rest is zero */
    struct plan_launch *launch; /* BUFFER_LAUNCH: owned */
    bool capture;
};

/* Where a tensor map or an argument points: a tensor of the problem or a buffer of the plan. */
enum plan_space { PLAN_TENSOR, PLAN_BUFFER };

struct plan_tensor_map {
    char name[LIMIT_NAME + 1];
    enum plan_space space;
    int index;        /* into problem.tensors or plan.buffers */
    int data_type;    /* value of CUtensorMapDataType */
    int element_bits; /* in memory: 4 and 6 for the packed types of sm_100a */
    int rank;
    uint64_t offset_bytes;        /* base address offset into the tensor */
    uint64_t dims[LIMIT_DIMS];    /* innermost first, elements */
    uint64_t strides[LIMIT_DIMS]; /* bytes; [0] unused: the driver takes &strides[1] */
    uint32_t box[LIMIT_DIMS];
    uint32_t element_strides[LIMIT_DIMS];
    int interleave, swizzle, l2_promotion, oob_fill; /* values of the CUtensorMap… enums */
};

enum plan_arg_kind {
    ARG_I32,
    ARG_U32,
    ARG_I64,
    ARG_U64,
    ARG_F16,
    ARG_BF16,
    ARG_F32,
    ARG_F64,
    ARG_TENSOR,
    ARG_BUFFER,
    ARG_TENSOR_MAP,
    ARG_STRUCT
};

struct plan_arg {
    enum plan_arg_kind kind;
    int index;                /* tensor, buffer, tensor map */
    int64_t offset_bytes;     /* tensor, buffer */
    uint8_t bytes[8];         /* scalars, little-endian */
    struct plan_arg *members; /* struct: owned */
    size_t member_count;
    size_t size, align; /* as C lays it out: tensor map 128/64, pointer 8/8 */
    size_t offset;      /* inside its struct */
};

struct plan_launch {
    char *kernel;                          /* name expression, {…} already evaluated; owned */
    int64_t grid[3], block[3], cluster[3]; /* unused entries are 1; cluster[0] 0: not given */
    int64_t shared_bytes;
    struct plan_arg *args; /* owned */
    size_t arg_count;
    bool cooperative, programmatic_dependent;
};

/* Scratch of one plan, all buffers together. Over the int range of core/limits.h. */
#define PLAN_SCRATCH_BYTES (INT64_C(8) << 30)

struct plan_define {
    char name[LIMIT_NAME + 1];
    int64_t value;
};

struct plan {
    struct plan_define defines[LIMIT_DEFINES];
    size_t define_count;
    struct plan_buffer buffers[LIMIT_BUFFERS];
    size_t buffer_count;
    struct plan_tensor_map maps[LIMIT_TENSOR_MAPS];
    size_t map_count;
    struct plan_launch launches[LIMIT_LAUNCHES];
    size_t launch_count;
};

/* Parses and resolves a plan document for one workload. `path` is the JSON path of `document`
 * ("$.launch"). NULL if anything was added to `faults`. Caller frees with plan_free. */
struct plan *plan_parse(const json_t *document, const struct problem *p, const struct workload *w,
                        const struct arch *a, const char *path, struct faults *faults);
void plan_free(struct plan *plan);

/* Finds the plan embedded in a source as a block comment that starts with the word ptxbench-launch
 * right behind the comment opener. Returns a new reference, NULL with f->code == ERR_NONE if there
 * is none, NULL with a fault if it is not JSON or there are two. */
json_t *plan_embedded(const char *source, size_t len, struct fault *f);

/* Lays the arguments of a launch out as the driver does: offsets[i] of each argument; returns the
 * total bytes. */
size_t plan_param_layout(const struct plan_launch *launch, size_t *offsets);

#endif
