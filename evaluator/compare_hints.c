// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compare_hints.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/compare_where.h"

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

/* Place of a matrix in the leading dimensions: "[1, 0]". */
static void name_matrix(const struct compare_task *t, int64_t matrix, char out[64])
{
    int64_t index[LIMIT_DIMS];
    size_t at = 0;
    for (int d = t->ndim - 3; d >= 0; d--) {
        index[d] = matrix % t->shape[d];
        matrix /= t->shape[d];
    }
    for (int d = 0; d + 2 < t->ndim && at < 64; d++)
        at += (size_t)snprintf(out + at, 64 - at, "%s%lld", d ? ", " : "[", (long long)index[d]);
    snprintf(out + (at < 62 ? at : 62), 2, "]");
}

/* Only some heads, or the same rows of every one. */
static void hint_matrices(const struct compare_task *t, struct compare_result *r)
{
    const struct compare_where *w = &r->where;
    int64_t height = t->ndim > 1 ? t->shape[t->ndim - 2] : 1;
    char name[64];
    if (t->ndim < 4 || !w->wrong_matrices)
        return;
    name_matrix(t, w->first_wrong, name);
    if (w->wrong_matrices < w->matrices)
        hint(r, "only %lld of %lld heads are wrong, the first is %s", (long long)w->wrong_matrices,
             (long long)w->matrices, name);
    if (w->band_high - w->band_low + 1 == w->bands)
        return;
    int64_t low = w->band_low * COMPARE_TILE, high = (w->band_high + 1) * COMPARE_TILE - 1;
    hint(r, "in every wrong head only rows %lld to %lld are wrong%s", (long long)low,
         (long long)(high < height ? high : height - 1),
         w->band_high == w->bands - 1 ? ": look at the last tile" : "");
}

/* Under a causal mask an edge off by one matters less and less to later queries. */
static bool hint_edge(const struct compare_task *t, struct compare_result *r)
{
    const struct compare_where *w = &r->where;
    bool rows = t->ndim > 3 && w->bands > 1 && w->first_rows > 2 * w->last_rows;
    bool columns = t->ndim == 3 && w->first_columns > 2 * w->last_columns;
    if (t->ndim < 3 || !(rows || columns) || w->wrong_matrices < w->matrices)
        return false;
    hint(r,
         "the first %d queries of each head are the worst (error %.2g), the last the least (%.2g): "
         "is the edge of the causal mask off by one?",
         COMPARE_TILE, rows ? w->first_rows : w->first_columns,
         rows ? w->last_rows : w->last_columns);
    return true;
}

/* The softmax of the scores times a wrong factor, or over the wrong keys. `c`: correlation,
 * `size`: norm over the oracle's. */
static void hint_softmax(struct compare_result *r, double c, double size, int64_t rows)
{
    double right = (double)r->where.right_rows / (double)rows;
    if (right > 0.02 && right < 0.9)
        hint(r,
             "%.0f %% of the rows are right, all over: is what was summed rescaled when a later "
             "block of keys has a larger maximum?",
             100 * right);
    else if (c > 0.2 && size < 0.8)
        hint(r,
             "like the oracle (correlation %.2f) but %.2f times as large: is the softmax too flat, "
             "scores scaled twice?",
             c, size);
    else if (c > 0.1 && size > 2)
        hint(
            r,
            "like the oracle (correlation %.2f) but %.2f times as large: is the softmax too sharp, "
            "scores not scaled by 1/sqrt(D)?",
            c, size);
    else if (c > 0.4)
        hint(r, "like the oracle (correlation %.2f) and as large: are keys missing or seen twice?",
             c);
}

/* What a constant factor can mean. */
static const char *meaning_of(double scale)
{
    static const struct {
        double factor;
        const char *meaning;
    } rows[] = {
        {1 / 0.69314718056, ": a logarithm to base 2?"},
        {0.69314718056, ": base e where the oracle's is 2?"},
        {0.5, ": half of the terms, or a 2 too few?"},
        {2, ": everything added twice?"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (fabs(scale / rows[i].factor - 1) < 2e-3)
            return rows[i].meaning;
    return "";
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
    bool says_much = t->ndim != 3 || meaning_of(scale)[0]; /* a log-sum-exp hardly varies */
    if (c > 0.999 && fabs(scale - 1) > 0.005 && says_much)
        hint(r, "the output is %.6g times the oracle%s", scale, meaning_of(scale));
    else if (c < -0.999)
        hint(r, "the output is %.6g times the oracle: the sign is wrong", scale);
    if (fabs(c) < 0.9 && t->ndim > 1) {
        fit(arg, true, &turned);
        if (correlation(&turned) > 0.99) {
            hint(r, "%s is the transpose of the oracle's",
                 t->ndim > 2 ? "each head of the output" : "the output");
            return;
        }
    }
    const struct compare_where *w = &r->where;
    bool everywhere =
        w->wrong_matrices == w->matrices && w->band_high - w->band_low + 1 == w->bands;
    if (t->ndim == 4 && everywhere && c < 0.999 && f.yy > 0 && !hint_edge(t, r))
        hint_softmax(r, c, sqrt(f.oo / f.yy), r->elements / t->shape[t->ndim - 1]);
    if (t->ndim == 3)
        hint_edge(t, r);
}

/* Mean and deviation of output and oracle, which only who has the tensors at hand can tell. */
struct spread {
    double n, o, y, oo, oy, yy; /* means */
};

static struct spread measure_spread(const struct compare_task *t, int64_t elements)
{
    struct spread s = {0};
    for (int64_t i = 0; i < elements; i++) {
        double o = dtype_load(t->dtype, t->output, (size_t)i);
        double y = dtype_load(t->oracle_dtype, t->oracle, (size_t)i);
        if (!isfinite(o) || !isfinite(y))
            continue;
        s.n++;
        s.o += (o - s.o) / s.n;
        s.y += (y - s.y) / s.n;
    }
    for (int64_t i = 0; i < elements; i++) {
        double o = dtype_load(t->dtype, t->output, (size_t)i) - s.o;
        double y = dtype_load(t->oracle_dtype, t->oracle, (size_t)i) - s.y;
        if (!isfinite(o) || !isfinite(y))
            continue;
        s.oo += o * o / s.n;
        s.oy += o * y / s.n;
        s.yy += y * y / s.n;
    }
    return s;
}

/* A log-sum-exp, one number a row: how it is off tells what happened to the scores. */
static void hint_lse(const struct compare_task *t, struct compare_result *r)
{
    struct spread s = measure_spread(t, r->elements);
    double c = s.oo > 0 && s.yy > 0 ? s.oy / sqrt(s.oo * s.yy) : 0, shift = s.o - s.y;
    double slope = s.yy > 0 ? s.oy / s.yy : 0, rest = sqrt(fmax(s.oo - 2 * s.oy + s.yy, 0));
    if (c > 0.3 && slope < 0.3)
        hint(r, "varies %.2g times as much as the oracle: are scores scaled twice?", slope);
    else if (c > 0.3 && slope > 3)
        hint(r, "varies %.2g times as much as the oracle: are scores not scaled by 1/sqrt(D)?",
             slope);
    else if (fabs(shift) > 5 * rest)
        hint(r, "off by %.4g everywhere: its sum has %.2g times the terms", shift, exp(shift));
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
        hint_matrices(task, r);
        if (task->ndim < 4)
            hint_region(task, r);
        hint_shape(task, r, fit, arg);
    }
    if (!r->strict && !r->nan && !r->inf && r->excess < COMPARE_WRONG)
        hint_precision(r);
}

void compare_hints(const struct compare_task *task, struct compare_result *r)
{
    struct compare_task copy = *task;
    compare_hints_by(task, r, fit_here, &copy);
    if (!r->paper && task->ndim == 3)
        hint_lse(task, r);
}
