// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/gpu_compare.h"

#include <math.h>
#include <stdlib.h>

#include "evaluator/compare_parts.h"

/* What the device measures of a row: struct row of kernels.cu. */
struct gpu_row {
    struct compare_sums sum;
    int64_t bad, nan, inf, unwritten, mismatches;
    int64_t first_bad, last_bad; /* columns; -1: none */
    double max_abs, max_rel;
};

/* struct comparison of kernels.cu */
struct comparison {
    CUdeviceptr output, oracle;
    int32_t dtype, oracle_dtype;
    int64_t matrices, height, width;
    double atol, rtol;
    CUdeviceptr rows, tiles;
};

/* Runs both kernels and brings what they measured. */
static enum err measure(const struct kernels *k, struct comparison *c, struct compare_parts *p,
                        struct gpu_row *rows, struct fault *f)
{
    size_t row_bytes = (size_t)p->row_count * sizeof(*rows);
    size_t tile_bytes = (size_t)p->tile_count * sizeof(*p->tiles);
    enum err e = driver_check(cu.MemAlloc(&c->rows, row_bytes + tile_bytes), f,
                              "allocate sums of a comparison");
    if (e != ERR_NONE)
        return e;
    c->tiles = c->rows + row_bytes;
    e = kernels_launch(k, KERNEL_compare_rows, p->row_count, c, f);
    if (e == ERR_NONE)
        e = kernels_launch(k, KERNEL_compare_tiles, p->tile_count, c, f);
    if (e == ERR_NONE)
        e = driver_check(cu.MemcpyDtoH(rows, c->rows, row_bytes), f, "read the sums of rows");
    if (e == ERR_NONE)
        e = driver_check(cu.MemcpyDtoH(p->tiles, c->tiles, tile_bytes), f, "read the sums of tiles");
    cu.MemFree(c->rows);
    return e;
}

static void take_row(const struct gpu_row *row, int64_t at, struct compare_parts *p,
                     struct compare_result *r)
{
    p->rows[at] = row->sum;
    p->all.error += row->sum.error;
    p->all.rounding += row->sum.rounding;
    p->all.reference += row->sum.reference;
    p->all.n += row->sum.n;
    r->nan += row->nan;
    r->inf += row->inf;
    r->unwritten += row->unwritten;
    r->mismatches += row->mismatches;
    r->max_abs = fmax(r->max_abs, row->max_abs);
    r->max_rel = fmax(r->max_rel, row->max_rel);
    if (!row->bad)
        return;
    if (!r->bad) {
        r->first_bad = at * p->width + row->first_bad;
        r->bad_low[0] = at;
        r->bad_low[1] = row->first_bad;
        r->bad_high[1] = row->last_bad;
    }
    r->bad += row->bad;
    r->bad_high[0] = at;
    r->bad_low[1] = row->first_bad < r->bad_low[1] ? row->first_bad : r->bad_low[1];
    r->bad_high[1] = row->last_bad > r->bad_high[1] ? row->last_bad : r->bad_high[1];
}

/* One element of a tensor on the device. */
static enum err read_element(enum dtype t, CUdeviceptr tensor, int64_t at, double *out,
                             struct fault *f)
{
    uint64_t cell = 0;
    size_t bytes = dtype_bytes(t);
    enum err e = driver_check(cu.MemcpyDtoH(&cell, tensor + (size_t)at * bytes, bytes), f,
                              "read an element");
    *out = dtype_load(t, &cell, 0);
    return e;
}

/* The same comparison here, on copies: an output that fails gets its hints. */
static enum err compare_here(const struct compare_task *task, CUdeviceptr output, CUdeviceptr oracle,
                             struct compare_result *out, struct fault *f)
{
    size_t bytes = (size_t)out->elements * dtype_bytes(task->dtype);
    size_t oracle_bytes = (size_t)out->elements * dtype_bytes(task->oracle_dtype);
    void *got = malloc(bytes), *want = malloc(oracle_bytes);
    enum err e = got && want ? ERR_NONE
                             : fault_set(f, ERR_NO_MEMORY, "cannot compare %s: out of memory",
                                         task->name);
    if (e == ERR_NONE)
        e = driver_check(cu.MemcpyDtoH(got, output, bytes), f, "read %s", task->name);
    if (e == ERR_NONE)
        e = driver_check(cu.MemcpyDtoH(want, oracle, oracle_bytes), f, "read the oracle's %s",
                         task->name);
    if (e == ERR_NONE) {
        struct compare_task copy = *task;
        copy.output = got;
        copy.oracle = want;
        e = compare(&copy, out, f);
    }
    free(got);
    free(want);
    return e;
}

enum err gpu_compare_sums(const struct kernels *k, const struct compare_task *task,
                          CUdeviceptr output, CUdeviceptr oracle, struct compare_result *out,
                          struct fault *f)
{
    *out = (struct compare_result){.elements = 1, .first_bad = -1};
    for (int i = 0; i < task->ndim; i++)
        out->elements *= task->shape[i];
    struct compare_parts p;
    bool room = compare_parts_init(&p, task);
    struct gpu_row *rows = room ? calloc((size_t)p.row_count + 1, sizeof(*rows)) : NULL;
    enum err e = rows ? ERR_NONE
                      : fault_set(f, ERR_NO_MEMORY, "cannot compare %s: out of memory", task->name);
    if (e == ERR_NONE) {
        struct comparison c = {output, oracle, (int32_t)task->dtype, (int32_t)task->oracle_dtype,
                               p.matrices, p.height, p.width, task->rule.atol, task->rule.rtol, 0, 0};
        e = measure(k, &c, &p, rows, f);
    }
    for (int64_t i = 0; e == ERR_NONE && i < p.row_count; i++)
        take_row(&rows[i], i, &p, out);
    if (e == ERR_NONE && !compare_judge(task, &p, out))
        e = fault_set(f, ERR_NO_MEMORY, "cannot compare %s: out of memory", task->name);
    free(rows);
    compare_parts_release(&p);
    if (e == ERR_NONE && out->bad)
        e = read_element(task->dtype, output, out->first_bad, &out->got, f);
    if (e == ERR_NONE && out->bad)
        e = read_element(task->oracle_dtype, oracle, out->first_bad, &out->want, f);
    return e;
}

enum err gpu_compare(const struct kernels *k, const struct compare_task *task, CUdeviceptr output,
                     CUdeviceptr oracle, struct compare_result *out, struct fault *f)
{
    enum err e = gpu_compare_sums(k, task, output, oracle, out, f);
    return e == ERR_NONE && !out->strict ? compare_here(task, output, oracle, out, f) : e;
}
