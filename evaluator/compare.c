// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluator/compare_hints.h"
#include "evaluator/compare_parts.h"
#include "evaluator/compare_where.h"
#include "evaluator/inputs.h"

void compare_parts_measure(struct compare_parts *p, const struct compare_task *t)
{
    *p = (struct compare_parts){.matrices = 1, .height = 1, .width = t->shape[t->ndim - 1]};
    if (t->ndim > 1)
        p->height = t->shape[t->ndim - 2];
    for (int i = 0; i + 2 < t->ndim; i++)
        p->matrices *= t->shape[i];
    p->tiles_down = (p->height + COMPARE_TILE - 1) / COMPARE_TILE;
    p->tiles_across = (p->width + COMPARE_TILE - 1) / COMPARE_TILE;
    p->tile_count = p->matrices * p->tiles_down * p->tiles_across;
    p->row_count = p->matrices * p->height;
}

bool compare_parts_init(struct compare_parts *p, const struct compare_task *t)
{
    compare_parts_measure(p, t);
    p->tiles = calloc((size_t)p->tile_count + 1, sizeof(*p->tiles));
    p->rows = calloc((size_t)p->row_count + 1, sizeof(*p->rows));
    return p->tiles && p->rows;
}

void compare_parts_release(struct compare_parts *p)
{
    free(p->tiles);
    free(p->rows);
}

static int64_t tile_of(const struct compare_parts *p, int64_t row, int64_t column)
{
    int64_t matrix = row / p->height, down = row % p->height / COMPARE_TILE;
    return (matrix * p->tiles_down + down) * p->tiles_across + column / COMPARE_TILE;
}

static void sums_add(struct compare_sums *s, double error, double rounding, double y)
{
    s->error += error * error;
    s->rounding += rounding * rounding;
    s->reference += y * y;
    s->n++;
}

/* Relative excess of a part. A part that is nearly zero is measured against the tensor's own scale,
 * else its rounding noise would be divided by nothing. */
static double excess_of(const struct compare_sums *s, const struct compare_sums *all)
{
    double least = all->n ? all->reference / (double)all->n * (double)s->n * 1e-6 : 0;
    double scale = s->reference > least ? s->reference : least;
    double squared = s->error - s->rounding;
    return squared <= 0 ? 0 : scale > 0 ? sqrt(squared / scale) : INFINITY;
}

static double round_to(enum dtype t, double v)
{
    uint64_t cell = 0;
    dtype_store(t, &cell, 0, v);
    return dtype_load(t, &cell, 0);
}

static bool is_poison(enum dtype t, const void *array, int64_t i)
{
    static const uint8_t poison[8] = {POISON_BYTE, POISON_BYTE, POISON_BYTE, POISON_BYTE,
                                      POISON_BYTE, POISON_BYTE, POISON_BYTE, POISON_BYTE};
    size_t n = dtype_bytes(t);
    return !memcmp((const char *)array + (size_t)i * n, poison, n);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)); /* -0 equals 0 */
}

/* The paper's rule for one element; notes sizes and kinds on the way. */
static bool element_is_bad(const struct compare_rule *rule, double o, double y,
                           struct compare_result *r)
{
    if (!isfinite(y))
        return !same(o, y);
    if (!isfinite(o)) {
        r->nan += isnan(o) != 0;
        r->inf += isinf(o) != 0; /* it is -1 for -inf */
        return true;
    }
    double abs = fabs(o - y), rel = abs / (fabs(y) + 1e-8);
    r->max_abs = fmax(r->max_abs, abs);
    r->max_rel = fmax(r->max_rel, rel);
    return abs > rule->atol && rel > rule->rtol;
}

static void note_bad(struct compare_result *r, int64_t i, int64_t row, int64_t column, double o,
                     double y)
{
    if (!r->bad++) {
        r->first_bad = i;
        r->got = o;
        r->want = y;
        r->bad_low[0] = r->bad_high[0] = row;
        r->bad_low[1] = r->bad_high[1] = column;
    }
    int64_t at[2] = {row, column};
    for (int d = 0; d < 2; d++) {
        r->bad_low[d] = at[d] < r->bad_low[d] ? at[d] : r->bad_low[d];
        r->bad_high[d] = at[d] > r->bad_high[d] ? at[d] : r->bad_high[d];
    }
}

static void walk(const struct compare_task *t, struct compare_parts *p, struct compare_result *r)
{
    for (int64_t i = 0; i < r->elements; i++) {
        int64_t row = i / p->width, column = i % p->width;
        double o = dtype_load(t->dtype, t->output, (size_t)i);
        double y = dtype_load(t->oracle_dtype, t->oracle, (size_t)i);
        double rounded = round_to(t->dtype, y);
        r->unwritten += is_poison(t->dtype, t->output, i);
        r->mismatches += !same(o, rounded);
        if (element_is_bad(&t->rule, o, y, r))
            note_bad(r, i, row, column, o, y);
        if (!isfinite(o) || !isfinite(rounded))
            continue;
        sums_add(&p->tiles[tile_of(p, row, column)], o - y, rounded - y, y);
        sums_add(&p->rows[row], o - y, rounded - y, y);
        sums_add(&p->all, o - y, rounded - y, y);
    }
}

/* The value that sorting would put at `k`: what is smaller ends before it, what is larger behind. */
static double select_kth(double *v, int64_t n, int64_t k)
{
    for (int64_t low = 0, high = n - 1; low < high;) {
        double pivot = v[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j) {
                double t = v[i];
                v[i++] = v[j];
                v[j--] = t;
            }
        }
        low = k > j ? i : low;
        high = k < i ? j : high;
        if (j < k && k < i)
            break;
    }
    return v[k];
}

double compare_part_max(const struct compare_rule *rule)
{
    return rule->part_max > 0 ? rule->part_max : rule->excess_max;
}

/* Finds the median and the worst of `n` parts and how many exceed the limit that their median
 * sets. */
static bool judge_parts(const struct compare_sums *parts, int64_t n, const struct compare_sums *all,
                        double part_max, int64_t *bad, int64_t *worst, double *worst_excess,
                        double *median)
{
    double *excess = malloc(((size_t)n + 1) * sizeof(*excess));
    if (!excess)
        return false;
    for (int64_t i = 0; i < n; i++)
        excess[i] = excess_of(&parts[i], all);
    for (int64_t i = 0; i < n; i++)
        if (!i || excess[i] > *worst_excess) {
            *worst = i;
            *worst_excess = excess[i];
        }
    *median = n ? select_kth(excess, n, n / 2) : 0;
    double limit = fmax(4 * *median, part_max);
    for (int64_t i = 0; i < n; i++)
        *bad += excess[i] > limit;
    free(excess);
    return true;
}

bool compare_judge(const struct compare_task *t, const struct compare_parts *p,
                   struct compare_result *r)
{
    int64_t tile = 0, row = 0;
    r->tiles = p->tile_count;
    r->rows = p->row_count;
    r->excess = excess_of(&p->all, &p->all);
    double bound = t->rule.excess_max, part_max = compare_part_max(&t->rule), row_median;
    if (!judge_parts(p->tiles, p->tile_count, &p->all, part_max, &r->bad_tiles, &tile,
                     &r->worst_tile.excess, &r->tile_median) ||
        !judge_parts(p->rows, p->row_count, &p->all, part_max, &r->bad_rows, &row,
                     &r->worst_row.excess, &row_median))
        return false;
    int64_t per_matrix = p->tiles_down * p->tiles_across;
    if (per_matrix) {
        int64_t matrix = tile / per_matrix, in_matrix = tile % per_matrix;
        r->worst_tile.row = matrix * p->height + in_matrix / p->tiles_across * COMPARE_TILE;
        r->worst_tile.column = in_matrix % p->tiles_across * COMPARE_TILE;
    }
    r->worst_row.row = row;
    r->where = compare_where(p);
    bool few = (double)r->bad <= ceil(t->rule.bad_share * (double)r->elements);
    r->paper = few && (!r->bad || !(r->nan || r->inf));
    r->exact = !r->mismatches;
    bool within = fmax(r->excess, r->tile_median) <= bound && !r->bad_tiles && !r->bad_rows;
    r->strict = r->paper && (!bound || within) && (!t->rule.exact || r->exact);
    return true;
}

enum err compare(const struct compare_task *task, struct compare_result *out, struct fault *f)
{
    *out = (struct compare_result){.elements = 1, .first_bad = -1};
    for (int i = 0; i < task->ndim; i++)
        out->elements *= task->shape[i];
    struct compare_parts parts;
    bool ok = compare_parts_init(&parts, task);
    if (ok) {
        walk(task, &parts, out);
        ok = compare_judge(task, &parts, out);
    }
    compare_parts_release(&parts);
    if (!ok)
        return fault_set(f, ERR_NO_MEMORY, "cannot compare %s: out of memory", task->name);
    compare_hints(task, out);
    return ERR_NONE;
}
