// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compare_hints_attention.h"

#include <math.h>

#include "core/util.h"

bool hint_is_gradient(const struct compare_task *t)
{
    return t->name[0] == 'd' && t->name[1] >= 'A' && t->name[1] <= 'Z' && !t->name[2];
}

/* What can be wrong in these alone, the forward's part of a backward being right. */
static void hint_delta(const struct compare_task *t, struct compare_result *r)
{
    if (hint_is_gradient(t) && t->name[1] != 'V')
        hint(r, "or, if dV is right: is rowsum(dO O) left out?");
}

bool hint_edge(const struct compare_task *t, struct compare_result *r)
{
    const struct compare_where *w = &r->where;
    bool rows = t->ndim > 3 && w->bands > 1 && w->first_rows > 2 * w->last_rows;
    bool columns = t->ndim == 3 && w->first_columns > 2 * w->last_columns;
    double first = rows ? w->first_rows : w->first_columns;
    if (t->ndim < 3 || !(rows || columns) || w->wrong_matrices < w->matrices || first > 10)
        return false;
    hint(r,
         "the first %d rows of a head are the worst (error %.2g), the last the least (%.2g): is "
         "the edge of the causal mask off by one?",
         COMPARE_TILE, first, rows ? w->last_rows : w->last_columns);
    hint_delta(t, r);
    return true;
}

/* Gradients: weights are made of the log-sum-exp given, and nothing is rescaled. */
static void hint_gradient(const struct compare_task *t, struct compare_result *r, double c,
                          double size, double right)
{
    if (c > 0.8 && size > 2) {
        hint(r,
             "like the oracle (correlation %.2f) but %.2f times as large: is the natural "
             "log-sum-exp taken to base 2, without log2(e)?",
             c, size);
    } else if (c > 0.2 && size < 0.8) {
        hint(r,
             "like the oracle (correlation %.2f) but %.2f times as large: are scores scaled twice?",
             c, size);
    } else if (size > 10) {
        hint(r, "%.2g times as large as the oracle: are scores not scaled by 1/sqrt(D)?", size);
    } else if (right > 0.02 && right < 0.9) {
        hint(r, "%.0f %% of the rows are right, all over: is the edge of a mask off by one?",
             100 * right);
        hint_delta(t, r);
    } else if (c > 0.4) {
        hint(r, "like the oracle (correlation %.2f) and as large: are rows missing or taken twice?",
             c);
        hint_delta(t, r);
    }
}

/* The softmax of the scores times a wrong factor, or over the wrong keys. `c`: correlation, `size`:
 * norm over the oracle's, `right`: share of the rows. */
static void hint_softmax(struct compare_result *r, double c, double size, double right)
{
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
        hint(r,
             "like the oracle (correlation %.2f) but %.2f times as large: is the softmax too "
             "sharp, scores not scaled by 1/sqrt(D)?",
             c, size);
    else if (c > 0.4)
        hint(r, "like the oracle (correlation %.2f) and as large: are keys missing or seen twice?",
             c);
}

const char *hint_factor(const struct compare_task *t, double scale)
{
    double root = sqrt((double)t->shape[t->ndim - 1]);
    const struct {
        double factor;
        const char *of_lse, *meaning;
    } rows[] = {
        {1 / 0.69314718056, ": a logarithm to base 2?", ": is log2(e) left in?"},
        {0.69314718056, ": base e where the oracle's is 2?", ": is log2(e) missing?"},
        {0.5, ": half of the terms, or a 2 too few?", ": half of the terms, or a 2 too few?"},
        {2, ": everything added twice?", ": everything added twice?"},
        {t->ndim > 3 ? root : 0, "", ": is 1/sqrt(D) missing?"},
        {t->ndim > 3 ? 1 / root : 0, "", ": is 1/sqrt(D) in it twice?"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].factor > 0 && fabs(scale / rows[i].factor - 1) < 2e-3)
            return t->ndim == 3 ? rows[i].of_lse : rows[i].meaning;
    return "";
}

/* A factor that is no round number, over gradients: each weight has its row's. */
static bool is_base_2(const struct compare_task *t, double c, double scale)
{
    return hint_is_gradient(t) && c > 0.8 && scale > 2 && !hint_factor(t, scale)[0];
}

void hint_weights(const struct compare_task *t, struct compare_result *r, double c, double scale,
                  double size)
{
    double right = r->rows ? (double)r->where.right_rows / (double)r->rows : 0;
    if (is_base_2(t, c, scale))
        hint_gradient(t, r, c, size, right);
    else if (c >= 0.999 || hint_edge(t, r))
        return;
    else if (hint_is_gradient(t))
        hint_gradient(t, r, c, size, right);
    else
        hint_softmax(r, c, size, right);
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

void hint_lse(const struct compare_task *t, struct compare_result *r)
{
    struct spread s = measure_spread(t, r->elements);
    double c = s.oo > 0 && s.yy > 0 ? s.oy / sqrt(s.oo * s.yy) : 0, shift = s.o - s.y;
    double slope = s.yy > 0 ? s.oy / s.yy : 0, rest = sqrt(fmax(s.oo - 2 * s.oy + s.yy, 0));
    if (hint_factor(t, s.o / s.y)[0]) /* said already */
        return;
    if (c > 0.3 && slope < 0.3)
        hint(r, "varies %.2g times as much as the oracle: are scores scaled twice?", slope);
    else if (c > 0.3 && slope > 3)
        hint(r, "varies %.2g times as much as the oracle: are scores not scaled by 1/sqrt(D)?",
             slope);
    else if (fabs(shift) > 5 * rest)
        hint(r, "off by %.4g everywhere: its sum has %.2g times the terms", shift, exp(shift));
}
