// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compare_hints.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Relative error over rounding up to which "less precise" is a better guess than "wrong". */
#define DOWNGRADE_EXCESS 0.02

__attribute__((format(printf, 2, 3))) static void hint(struct compare_result *r, const char *fmt,
                                                       ...)
{
    if (r->hint_count == COMPARE_HINTS)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->hints[r->hint_count++], sizeof(r->hints[0]), fmt, ap);
    va_end(ap);
}

/* Element of the oracle that belongs at i if every matrix had been written transposed. */
static int64_t transposed(int64_t i, int64_t height, int64_t width)
{
    int64_t matrix = i / (height * width), at = i % (height * width);
    return matrix * height * width + at % height * width + at / height;
}

/* compare_fit_function of a struct compare_task. */
static void fit_here(void *arg, bool transpose, struct compare_fit *out)
{
    const struct compare_task *t = arg;
    struct compare_fit f = {.lowest = INFINITY, .highest = -INFINITY};
    int64_t width = t->shape[t->ndim - 1], height = t->ndim > 1 ? t->shape[t->ndim - 2] : 1, n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= t->shape[d];
    for (int64_t i = 0; i < n; i++) {
        double o = dtype_load(t->dtype, t->output, (size_t)i);
        int64_t from = transpose ? transposed(i, height, width) : i;
        double y = dtype_load(t->oracle_dtype, t->oracle, (size_t)from);
        if (!isfinite(o) || !isfinite(y))
            continue;
        f.oo += o * o;
        f.oy += o * y;
        f.yy += y * y;
        f.lowest = fmin(f.lowest, o);
        f.highest = fmax(f.highest, o);
        f.n++;
    }
    *out = f;
}

static double correlation(const struct compare_fit *f)
{
    return f->oo > 0 && f->yy > 0 ? f->oy / sqrt(f->oo * f->yy) : 0;
}

/* Where the bad elements are, if they fill a part of the tensor and not all of it. */
static void hint_region(const struct compare_task *t, struct compare_result *r)
{
    int64_t width = t->shape[t->ndim - 1], height = r->elements / (width ? width : 1);
    int64_t rows = r->bad_high[0] - r->bad_low[0] + 1, columns = r->bad_high[1] - r->bad_low[1] + 1;
    if ((rows == height && columns == width) || r->bad < rows * columns / 2)
        return;
    bool last = r->bad_high[0] == height - 1 && r->bad_high[1] == width - 1;
    hint(r, "every bad element lies in rows %lld to %lld, columns %lld to %lld%s",
         (long long)r->bad_low[0], (long long)r->bad_high[0], (long long)r->bad_low[1],
         (long long)r->bad_high[1], last ? ": look at the last tile" : "");
}

static void hint_shape(const struct compare_task *t, struct compare_result *r,
                       compare_fit_function *fit, void *arg)
{
    struct compare_fit f, turned;
    fit(arg, false, &f);
    if (f.n > 1 && f.lowest == f.highest) {
        hint(r, "the whole output is %g", f.lowest);
        return;
    }
    double c = correlation(&f), scale = f.yy > 0 ? f.oy / f.yy : 0;
    if (c > 0.999 && fabs(scale - 1) > 0.005)
        hint(r, "the output is %.6g times the oracle", scale);
    else if (c < -0.999)
        hint(r, "the output is %.6g times the oracle: the sign is wrong", scale);
    if (fabs(c) > 0.9 || t->ndim < 2)
        return;
    fit(arg, true, &turned);
    if (correlation(&turned) > 0.99)
        hint(r, "the output is the transpose of the oracle");
}

static void hint_precision(struct compare_result *r)
{
    if (r->bad_tiles && r->bad_tiles < r->tiles / 2)
        hint(r,
             "%lld of %lld tiles are less precise than the rest, the worst from row %lld, "
             "column %lld",
             (long long)r->bad_tiles, (long long)r->tiles, (long long)r->worst_tile.row,
             (long long)r->worst_tile.column);
    else
        hint(r, "the error over rounding is %.1e: is a sum or a product kept in fp16 or bf16?",
             r->excess);
}

void compare_hints_by(const struct compare_task *task, struct compare_result *r,
                      compare_fit_function *fit, void *arg)
{
    if (r->unwritten)
        hint(r, "%lld of %lld elements were never written", (long long)r->unwritten,
             (long long)r->elements);
    else if (r->nan)
        hint(r, "NaN at %lld places where the oracle is finite", (long long)r->nan);
    if (r->inf)
        hint(r, "infinite at %lld places where the oracle is finite", (long long)r->inf);
    if (!r->paper) {
        hint_region(task, r);
        hint_shape(task, r, fit, arg);
    }
    if (!r->strict && !r->nan && !r->inf && r->excess < DOWNGRADE_EXCESS)
        hint_precision(r);
}

void compare_hints(const struct compare_task *task, struct compare_result *r)
{
    struct compare_task copy = *task;
    compare_hints_by(task, r, fit_here, &copy);
}
