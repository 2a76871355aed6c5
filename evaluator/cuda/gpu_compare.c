// SPDX-License-Identifier: Apache-2.0
#include "evaluator/cuda/gpu_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/compare_hints.h"
#include "evaluator/compare_parts.h"

enum {
    FIT_WARPS = 4096,
    /* Blocks of the kernels that go over all rows: some per multiprocessor. */
    TOTALS_MAX = 2048,
    WORSTS_MAX = 264,
};

/* What the device measures of many rows: struct total of kernels_compare.cu. Of one it is the sums alone. */
struct gpu_total {
    struct compare_sums sum;
    int64_t bad, nan, inf, unwritten, mismatches;
    int64_t first_bad, last_bad_row, first_bad_column, last_bad_column; /* if there are bad ones */
    double max_abs, max_rel;
};

/* The worst of some rows: struct worst of kernels_compare.cu. */
struct gpu_worst {
    double excess;
    int64_t row; /* -1: there are none */
    struct compare_sums sum;
};

/* struct comparison of kernels_compare.cu */
struct comparison {
    CUdeviceptr output, oracle;
    int32_t dtype, oracle_dtype;
    int64_t matrices, height, width;
    double atol, rtol;
    CUdeviceptr rows, tiles, totals, worsts, lows;
    int64_t total_count, worst_count;
};

/* How the memory of a comparison is laid out; up to `rows` it is always read. */
struct layout {
    int64_t total_count, worst_count;
    size_t totals, worsts, lows, tiles, rows, end;
};

static int64_t blocks_for(int64_t threads, int64_t most)
{
    int64_t blocks = (threads + KERNELS_THREADS - 1) / KERNELS_THREADS;
    return blocks < most ? blocks : most;
}

static struct layout lay_out(const struct compare_parts *p)
{
    struct layout l = {.total_count = blocks_for(p->row_count * KERNELS_LANES, TOTALS_MAX),
                       .worst_count = blocks_for(p->row_count, WORSTS_MAX)};
    l.worsts = l.totals + (size_t)l.total_count * sizeof(struct gpu_total);
    l.lows = l.worsts + (size_t)l.worst_count * sizeof(struct gpu_worst);
    l.tiles = l.lows + (size_t)l.worst_count * sizeof(int64_t);
    l.rows = l.tiles + (size_t)p->tile_count * sizeof(struct compare_sums);
    l.end = l.rows + (size_t)p->row_count * sizeof(struct compare_sums);
    return l;
}

size_t gpu_comparer_bytes(const struct compare_task *task)
{
    struct compare_parts p;
    compare_parts_measure(&p, task);
    return lay_out(&p).end;
}

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
    c->room = c->room_here = 0;
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

static enum err make_room(struct gpu_comparer *c, size_t bytes, size_t bytes_here, struct fault *f)
{
    if (bytes <= c->room && bytes_here <= c->room_here)
        return ERR_NONE;
    drop_sums(c);
    CUresult r = cu.MemAlloc(&c->sums, bytes);
    r = r ? r : cu.MemHostAlloc(&c->here, bytes_here, 0);
    if (r == CUDA_SUCCESS) {
        c->room = bytes;
        c->room_here = bytes_here;
    }
    return driver_check(r, f, "allocate sums of a comparison");
}

static int64_t elements_of(const struct compare_task *task)
{
    int64_t elements = 1;
    for (int i = 0; i < task->ndim; i++)
        elements *= task->shape[i];
    return elements;
}

static enum err queue_kernels(const struct gpu_comparer *c, const struct compare_parts *p,
                              struct comparison *what, struct fault *f)
{
    const struct {
        enum kernel kernel;
        int64_t threads;
    } queue[] = {
        {KERNEL_compare_rows, what->total_count * KERNELS_THREADS},
        {KERNEL_compare_tiles, p->tile_count * KERNELS_LANES},
        {KERNEL_rate_rows, what->worst_count * KERNELS_THREADS},
        {KERNEL_count_low_rows, what->worst_count * KERNELS_THREADS},
    };
    enum err e = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(queue) && e == ERR_NONE; i++)
        e = kernels_launch(&c->kernels, queue[i].kernel, queue[i].threads, what, f);
    return e;
}

enum err gpu_comparer_begin(struct gpu_comparer *c, const struct compare_task *task,
                            CUdeviceptr output, CUdeviceptr oracle, struct fault *f)
{
    struct compare_parts p;
    compare_parts_measure(&p, task);
    struct layout l = lay_out(&p);
    enum err e = make_room(c, l.end, l.rows, f);
    if (e != ERR_NONE)
        return e;
    c->task = *task;
    c->output = output;
    c->oracle = oracle;
    struct comparison what = {
        .output = output,
        .oracle = oracle,
        .dtype = (int32_t)task->dtype,
        .oracle_dtype = (int32_t)task->oracle_dtype,
        .matrices = p.matrices,
        .height = p.height,
        .width = p.width,
        .atol = task->rule.atol,
        .rtol = task->rule.rtol,
        .rows = c->sums + l.rows,
        .tiles = c->sums + l.tiles,
        .totals = c->sums + l.totals,
        .worsts = c->sums + l.worsts,
        .lows = c->sums + l.lows,
        .total_count = l.total_count,
        .worst_count = l.worst_count,
    };
    e = queue_kernels(c, &p, &what, f);
    return e == ERR_NONE
               ? driver_check(cu.MemcpyDtoHAsync(c->here, c->sums, l.rows, c->kernels.stream), f,
                              "read the sums of a comparison")
               : e;
}

/* Where the bad elements are: the first one, and their box. */
static void take_bad(const struct gpu_total *t, const struct compare_parts *p,
                     struct compare_result *r)
{
    if (!t->bad)
        return;
    if (!r->bad) {
        r->first_bad = t->first_bad;
        r->bad_low[1] = t->first_bad_column;
    }
    r->first_bad = t->first_bad < r->first_bad ? t->first_bad : r->first_bad;
    r->bad_low[0] = r->first_bad / p->width;
    r->bad_low[1] = t->first_bad_column < r->bad_low[1] ? t->first_bad_column : r->bad_low[1];
    r->bad_high[0] = t->last_bad_row > r->bad_high[0] ? t->last_bad_row : r->bad_high[0];
    r->bad_high[1] = t->last_bad_column > r->bad_high[1] ? t->last_bad_column : r->bad_high[1];
    r->bad += t->bad;
}

static void take_total(const struct gpu_total *t, struct compare_parts *p, struct compare_result *r)
{
    take_bad(t, p, r);
    p->all.error += t->sum.error;
    p->all.rounding += t->sum.rounding;
    p->all.reference += t->sum.reference;
    p->all.n += t->sum.n;
    r->nan += t->nan;
    r->inf += t->inf;
    r->unwritten += t->unwritten;
    r->mismatches += t->mismatches;
    r->max_abs = fmax(r->max_abs, t->max_abs);
    r->max_rel = fmax(r->max_rel, t->max_rel);
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

/* struct fitting of kernels_compare.cu */
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
        call->e = make_room(c, bytes, bytes, call->fault);
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

/* All rows from the device, for who has to look at each of them; the caller frees p->rows. */
static enum err read_rows(const struct gpu_comparer *c, const struct layout *l,
                          struct compare_parts *p, struct fault *f)
{
    size_t bytes = l->end - l->rows;
    p->rows = malloc(bytes + 1);
    return p->rows ? driver_check(cu.MemcpyDtoH(p->rows, c->sums + l->rows, bytes), f,
                                  "read the rows of a comparison")
                   : fault_set(f, ERR_NO_MEMORY, "cannot compare %s: out of memory", c->task.name);
}

/* The worst of all rows, and how many have less than a quarter of its excess. */
static struct gpu_worst find_worst(const struct gpu_comparer *c, const struct layout *l,
                                   int64_t *low)
{
    const struct gpu_worst *worsts = (const void *)((const char *)c->here + l->worsts);
    const int64_t *lows = (const void *)((const char *)c->here + l->lows);
    struct gpu_worst worst = worsts[0];
    *low = 0;
    for (int64_t i = 0; i < l->worst_count; i++) {
        bool worse = worsts[i].excess > worst.excess ||
                     (worsts[i].excess >= worst.excess && worsts[i].row < worst.row);
        worst = worse && worsts[i].row >= 0 ? worsts[i] : worst;
        *low += lows[i];
    }
    return worst;
}

/* By the worst row in the place of all of them: enough where no row is bad by the strict rule. */
static bool judge_worst(const struct gpu_comparer *c, const struct compare_parts *p,
                        struct gpu_worst *worst, struct compare_result *out)
{
    struct compare_parts one = *p;
    one.rows = &worst->sum;
    one.row_count = 1;
    if (!compare_judge(&c->task, &one, out))
        return false;
    out->rows = p->row_count;
    out->worst_row.row = worst->row;
    return true;
}

/* All rows cross over to the host only where one is bad, or where hints on bad elements will need
 * them. A row is bad if its excess is over the bound and over 4 x their median, the value at rows /
 * 2 when sorted: that is under a quarter of the worst iff more than rows / 2 of them are. */
static enum err judge(const struct gpu_comparer *c, struct compare_parts *p, const struct layout *l,
                      struct compare_result *out, struct fault *f)
{
    int64_t low;
    struct gpu_worst worst = find_worst(c, l, &low);
    bool clean = worst.excess <= compare_part_max(&c->task.rule) || low <= p->row_count / 2;
    struct compare_result quick = *out;
    if (clean && judge_worst(c, p, &worst, &quick) && (!quick.bad || quick.strict)) {
        *out = quick;
        return ERR_NONE;
    }
    enum err e = read_rows(c, l, p, f);
    if (e == ERR_NONE && !compare_judge(&c->task, p, out))
        e = fault_set(f, ERR_NO_MEMORY, "cannot compare %s: out of memory", c->task.name);
    free(p->rows);
    return e;
}

/* Room for all rows is made only where they are read; tiles stay where they were copied to. */
enum err gpu_comparer_end_sums(struct gpu_comparer *c, struct compare_result *out, struct fault *f)
{
    *out = (struct compare_result){.elements = elements_of(&c->task), .first_bad = -1};
    struct compare_parts p;
    compare_parts_measure(&p, &c->task);
    struct layout l = lay_out(&p);
    enum err e =
        driver_check(cu.StreamSynchronize(c->kernels.stream), f, "compare %s", c->task.name);
    if (e == ERR_NONE) {
        const struct gpu_total *totals = c->here;
        for (int64_t i = 0; i < l.total_count; i++)
            take_total(&totals[i], &p, out);
        p.tiles = (void *)((char *)c->here + l.tiles);
        e = judge(c, &p, &l, out, f);
    }
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
