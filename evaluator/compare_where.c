// SPDX-License-Identifier: Apache-2.0
#include "evaluator/compare_where.h"

#include <math.h>

static double relative(const struct compare_sums *s)
{
    return s->reference > 0 ? sqrt(s->error / s->reference) : s->error > 0 ? INFINITY : 0;
}

static void add(struct compare_sums *to, const struct compare_sums *s)
{
    to->error += s->error;
    to->reference += s->reference;
    to->n += s->n;
}

/* The first and last row, or column, of tiles over all matrices. */
static void measure_ends(const struct compare_parts *p, struct compare_where *w)
{
    struct compare_sums ends[4] = {0};
    for (int64_t t = 0; t < p->tile_count; t++) {
        int64_t down = t / p->tiles_across % p->tiles_down, across = t % p->tiles_across;
        if (down == 0)
            add(&ends[0], &p->tiles[t]);
        if (down == p->tiles_down - 1)
            add(&ends[1], &p->tiles[t]);
        if (across == 0)
            add(&ends[2], &p->tiles[t]);
        if (across == p->tiles_across - 1)
            add(&ends[3], &p->tiles[t]);
    }
    w->first_rows = relative(&ends[0]);
    w->last_rows = relative(&ends[1]);
    w->first_columns = relative(&ends[2]);
    w->last_columns = relative(&ends[3]);
}

/* The band of rows of tiles that holds every wrong tile, and the matrices that have one. */
static void find_band(const struct compare_parts *p, struct compare_where *w)
{
    int64_t per_matrix = p->tiles_down * p->tiles_across, last_matrix = -1;
    for (int64_t t = 0; t < p->tile_count; t++) {
        if (relative(&p->tiles[t]) <= COMPARE_WRONG)
            continue;
        int64_t matrix = t / per_matrix, down = t % per_matrix / p->tiles_across;
        if (!w->wrong_tiles++) {
            w->first_wrong = matrix;
            w->band_low = w->band_high = down;
        }
        w->band_low = down < w->band_low ? down : w->band_low;
        w->band_high = down > w->band_high ? down : w->band_high;
        w->wrong_matrices += matrix != last_matrix;
        last_matrix = matrix;
    }
}

struct compare_where compare_where(const struct compare_parts *p)
{
    struct compare_where w = {.matrices = p->matrices, .bands = p->tiles_down};
    if (p->tile_count) {
        measure_ends(p, &w);
        find_band(p, &w);
    }
    for (int64_t i = 0; i < p->row_count && p->row_count == p->matrices * p->height; i++)
        w.right_rows += relative(&p->rows[i]) <= COMPARE_WRONG;
    return w;
}
