// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compare_hints.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/util.h"
#include "evaluator/compare_hints_attention.h"
#include "evaluator/compare_where.h"

void hint(struct compare_result *r, const char *fmt, ...)
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
    hint(r, "every bad element lies in %s %lld to %lld, %s %lld to %lld%s",
         t->ndim == 3 ? "heads" : "rows", (long long)r->bad_low[0], (long long)r->bad_high[0],
         t->ndim == 3 ? "rows" : "columns", (long long)r->bad_low[1], (long long)r->bad_high[1],
         last ? ": look at the last tile" : "");
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

/* Single rows in a tensor that is right: not whole tiles, which hold 64 of them. */
static bool hint_rows(const struct compare_task *t, struct compare_result *r)
{
    const struct compare_where *w = &r->where;
    int64_t wrong = r->rows - w->right_rows, row = r->worst_row.row;
    int64_t across = (t->shape[t->ndim - 1] + COMPARE_TILE - 1) / COMPARE_TILE;
    bool few =
        w->right_rows && wrong && wrong <= r->rows / 100 && wrong * across <= 4 * w->wrong_tiles;
    if (t->ndim < 2 || t->ndim == 3 || !few)
        return false;
    char name[64] = "";
    int64_t height = t->shape[t->ndim - 2];
    if (t->ndim > 2)
        name_matrix(t, row / height, name);
    hint(r, "only %lld of %lld rows %s wrong, the worst is row %lld%s%s: are single rows left out?",
         (long long)wrong, (long long)r->rows, wrong > 1 ? "are" : "is", (long long)(row % height),
         *name ? " of head " : "", name);
    return true;
}

/* Rows of an online softmax that meet their largest score early are right although nothing is
 * rescaled. */
static bool some_are_right(const struct compare_where *w)
{
    int64_t rows = (w->band_high - w->band_low + 1) * COMPARE_TILE * w->matrices;
    int64_t right = w->right_rows - (w->bands * COMPARE_TILE * w->matrices - rows);
    return w->wrong_matrices == w->matrices && right > rows / 50;
}

/* What it can mean that only some bands of rows are wrong. */
static const char *meaning_of_band(const struct compare_task *t, const struct compare_where *w)
{
    if (w->band_high < w->bands - 1)
        return "";
    if (w->band_low == w->band_high)
        return ": look at the last tile";
    if (!hint_is_gradient(t) && some_are_right(w))
        return ": is what was summed rescaled when a later block of keys has a larger maximum?";
    return ": are the keys that only these see missing or seen twice?";
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
        hint(r, "only %lld of %lld heads %s wrong, the first is %s", (long long)w->wrong_matrices,
             (long long)w->matrices, w->wrong_matrices > 1 ? "are" : "is", name);
    if (w->band_high - w->band_low + 1 == w->bands)
        return;
    int64_t low = w->band_low * COMPARE_TILE, high = (w->band_high + 1) * COMPARE_TILE - 1;
    hint(r, "in every wrong head only rows %lld to %lld are wrong%s", (long long)low,
         (long long)(high < height ? high : height - 1), meaning_of_band(t, w));
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
    bool says_much = t->ndim != 3 || hint_factor(t, scale)[0]; /* a log-sum-exp hardly varies */
    if (c > 0.999 && fabs(scale - 1) > 0.005 && says_much)
        hint(r, "the output is %.6g times the oracle%s", scale, hint_factor(t, scale));
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
    double size = f.yy > 0 ? sqrt(f.oo / f.yy) : 0;
    if (t->ndim == 4 && everywhere && f.yy > 0)
        hint_weights(t, r, c, scale, size);
    if (t->ndim == 3)
        hint_edge(t, r);
}

static void hint_precision(struct compare_result *r)
{
    if (r->bad_tiles && r->bad_tiles < r->tiles / 2)
        hint(r,
             "%lld of %lld tiles are less precise than the rest, the worst from row %lld, column "
             "%lld",
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
        if (!hint_rows(task, r)) {
            hint_matrices(task, r);
            if (task->ndim < 4)
                hint_region(task, r);
        }
        hint_shape(task, r, fit, arg);
    }
    if (!r->strict && !r->nan && !r->inf && r->excess < COMPARE_WRONG &&
        (r->paper || !r->hint_count))
        hint_precision(r);
}

void compare_hints(const struct compare_task *task, struct compare_result *r)
{
    struct compare_task copy = *task;
    compare_hints_by(task, r, fit_here, &copy);
    if (!r->paper && task->ndim == 3)
        hint_lse(task, r);
}
