// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/gpu_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/compare_hints.h"
#include "evaluator/compare_parts.h"

enum { FIT_WARPS = 4096 };

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

enum err gpu_comparer_open(struct gpu_comparer *c, const struct kernels *k, struct fault *f)
{
    *c = (struct gpu_comparer){.kernels = *k};
    c->kernels.stream = NULL;
    c->kernels.places = 0;
    CUresult r = cu.StreamCreate(&c->kernels.stream, CU_STREAM_DEFAULT);
    r = r ? r : cu.MemAlloc(&c->kernels.places, KERNELS_COLUMNS * 4);
    return driver_check(r, f, "set up a comparison");
}

static void drop_sums(struct gpu_comparer *c)
{
    if (c->sums)
        cu.MemFree(c->sums);
    if (c->here)
        cu.MemFreeHost(c->here);
    c->sums = 0;
    c->here = NULL;
    c->room = 0;
}

void gpu_comparer_close(struct gpu_comparer *c)
{
    drop_sums(c);
    if (c->kernels.places)
        cu.MemFree(c->kernels.places);
    if (c->kernels.stream)
        cu.StreamDestroy(c->kernels.stream);
    *c = (struct gpu_comparer){0};
}

static enum err make_room(struct gpu_comparer *c, size_t bytes, struct fault *f)
{
    if (bytes <= c->room)
        return ERR_NONE;
    drop_sums(c);
    CUresult r = cu.MemAlloc(&c->sums, bytes);
    r = r ? r : cu.MemHostAlloc(&c->here, bytes, 0);
    if (r == CUDA_SUCCESS)
        c->room = bytes;
    return driver_check(r, f, "allocate sums of a comparison");
}

static int64_t elements_of(const struct compare_task *task)
{
    int64_t elements = 1;
    for (int i = 0; i < task->ndim; i++)
        elements *= task->shape[i];
    return elements;
}

enum err gpu_comparer_begin(struct gpu_comparer *c, const struct compare_task *task,
                            CUdeviceptr output, CUdeviceptr oracle, struct fault *f)
{
    struct compare_parts p;
    compare_parts_measure(&p, task);
    size_t row_bytes = (size_t)p.row_count * sizeof(struct gpu_row);
    size_t bytes = row_bytes + (size_t)p.tile_count * sizeof(struct compare_sums);
    enum err e = make_room(c, bytes, f);
    if (e != ERR_NONE)
        return e;
    c->task = *task;
    c->output = output;
    c->oracle = oracle;
    c->rows = p.row_count;
    c->tiles = p.tile_count;
    struct comparison what = {output,
                              oracle,
                              (int32_t)task->dtype,
                              (int32_t)task->oracle_dtype,
                              p.matrices,
                              p.height,
                              p.width,
                              task->rule.atol,
                              task->rule.rtol,
                              c->sums,
                              c->sums + row_bytes};
    e = kernels_launch(&c->kernels, KERNEL_compare_rows, p.row_count * KERNELS_LANES, &what, f);
    if (e == ERR_NONE)
        e = kernels_launch(&c->kernels, KERNEL_compare_tiles, p.tile_count * KERNELS_LANES, &what,
                           f);
    return e == ERR_NONE
               ? driver_check(cu.MemcpyDtoHAsync(c->here, c->sums, bytes, c->kernels.stream), f,
                              "read the sums of a comparison")
               : e;
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

/* struct fitting of kernels.cu */
struct fitting {
    CUdeviceptr output, oracle;
    int32_t dtype, oracle_dtype;
    int64_t n, height, width;
    int32_t transpose;
    CUdeviceptr fits;
};

struct fit_call {
    struct gpu_comparer *comparer;
    int64_t elements;
    enum err e;
    struct fault *fault;
};

/* compare_fit_function: every warp of the grid has measured a part. */
static void fit_there(void *arg, bool transpose, struct compare_fit *out)
{
    struct fit_call *call = arg;
    struct gpu_comparer *c = call->comparer;
    struct compare_parts p;
    compare_parts_measure(&p, &c->task);
    struct fitting what = {c->output,
                           c->oracle,
                           (int32_t)c->task.dtype,
                           (int32_t)c->task.oracle_dtype,
                           call->elements,
                           p.height,
                           p.width,
                           transpose,
                           0};
    size_t bytes = FIT_WARPS * sizeof(*out);
    if (call->e == ERR_NONE)
        call->e = make_room(c, bytes, call->fault);
    what.fits = c->sums;
    if (call->e == ERR_NONE)
        call->e = kernels_launch(&c->kernels, KERNEL_fit_tensor, FIT_WARPS * KERNELS_LANES, &what,
                                 call->fault);
    CUstream stream = c->kernels.stream;
    if (call->e == ERR_NONE)
        call->e = driver_check(cu.MemcpyDtoHAsync(c->here, c->sums, bytes, stream), call->fault,
                               "read a fit");
    if (call->e == ERR_NONE)
        call->e = driver_check(cu.StreamSynchronize(stream), call->fault, "measure a fit");
    *out = (struct compare_fit){.lowest = INFINITY, .highest = -INFINITY};
    const struct compare_fit *parts = c->here;
    for (size_t i = 0; call->e == ERR_NONE && i < FIT_WARPS; i++) {
        out->oo += parts[i].oo;
        out->oy += parts[i].oy;
        out->yy += parts[i].yy;
        out->lowest = fmin(out->lowest, parts[i].lowest);
        out->highest = fmax(out->highest, parts[i].highest);
        out->n += parts[i].n;
    }
}

enum err gpu_comparer_end_sums(struct gpu_comparer *c, struct compare_result *out, struct fault *f)
{
    *out = (struct compare_result){.elements = elements_of(&c->task), .first_bad = -1};
    struct compare_parts p;
    bool room = compare_parts_init(&p, &c->task);
    enum err e =
        driver_check(cu.StreamSynchronize(c->kernels.stream), f, "compare %s", c->task.name);
    if (e == ERR_NONE && room) {
        const struct gpu_row *rows = c->here;
        for (int64_t i = 0; i < c->rows; i++)
            take_row(&rows[i], i, &p, out);
        memcpy(p.tiles, rows + c->rows, (size_t)c->tiles * sizeof(*p.tiles));
        room = compare_judge(&c->task, &p, out);
    }
    compare_parts_release(&p);
    if (e == ERR_NONE && !room)
        e = fault_set(f, ERR_NO_MEMORY, "cannot compare %s: out of memory", c->task.name);
    if (e == ERR_NONE && out->bad)
        e = read_element(c->task.dtype, c->output, out->first_bad, &out->got, f);
    if (e == ERR_NONE && out->bad)
        e = read_element(c->task.oracle_dtype, c->oracle, out->first_bad, &out->want, f);
    return e;
}

enum err gpu_comparer_end(struct gpu_comparer *c, struct compare_result *out, struct fault *f)
{
    enum err e = gpu_comparer_end_sums(c, out, f);
    if (e != ERR_NONE || out->strict)
        return e;
    struct fit_call call = {c, out->elements, ERR_NONE, f};
    compare_hints_by(&c->task, out, fit_there, &call);
    return call.e;
}

static enum err compare_once(const struct kernels *k, const struct compare_task *task,
                             CUdeviceptr output, CUdeviceptr oracle, bool hints,
                             struct compare_result *out, struct fault *f)
{
    struct gpu_comparer c;
    enum err e = gpu_comparer_open(&c, k, f);
    if (e == ERR_NONE)
        e = gpu_comparer_begin(&c, task, output, oracle, f);
    if (e == ERR_NONE)
        e = hints ? gpu_comparer_end(&c, out, f) : gpu_comparer_end_sums(&c, out, f);
    gpu_comparer_close(&c);
    return e;
}

enum err gpu_compare(const struct kernels *k, const struct compare_task *task, CUdeviceptr output,
                     CUdeviceptr oracle, struct compare_result *out, struct fault *f)
{
    return compare_once(k, task, output, oracle, true, out, f);
}

enum err gpu_compare_sums(const struct kernels *k, const struct compare_task *task,
                          CUdeviceptr output, CUdeviceptr oracle, struct compare_result *out,
                          struct fault *f)
{
    return compare_once(k, task, output, oracle, false, out, f);
}
