// SPDX-License-Identifier: Apache-2.0
/* How a comparison is shown. Numbers that JSON cannot hold become the strings "nan", "inf",
 * "-inf". */
#include <math.h>

#include "evaluator/compare.h"

static json_t *number(double v)
{
    if (isfinite(v))
        return json_real(v);
    return json_string(isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

/* Errors are over elements that are finite on both sides: with none there is nothing to say. */
static json_t *measured(const struct compare_result *r, double v)
{
    return r->nan + r->inf < r->elements ? number(v) : json_null();
}

static json_t *index_of(const struct compare_task *t, int64_t flat)
{
    json_t *index = json_array();
    for (int d = t->ndim - 1; d >= 0; d--) {
        json_array_insert_new(index, 0, json_integer(flat % t->shape[d]));
        flat /= t->shape[d];
    }
    return index;
}

static json_t *part(const struct compare_part *p)
{
    return json_pack("{s:I, s:I, s:o}", "row", (json_int_t)p->row, "column", (json_int_t)p->column,
                     "excess", number(p->excess));
}

static void add_bad(json_t *out, const struct compare_task *t, const struct compare_result *r)
{
    json_object_set_new(out, "first_bad",
                        json_pack("{s:o, s:o, s:o}", "index", index_of(t, r->first_bad), "got",
                                  number(r->got), "want", number(r->want)));
    json_object_set_new(out, "bad_box",
                        json_pack("{s:[I,I], s:[I,I]}", "rows", (json_int_t)r->bad_low[0],
                                  (json_int_t)r->bad_high[0], "columns", (json_int_t)r->bad_low[1],
                                  (json_int_t)r->bad_high[1]));
}

json_t *compare_json(const struct compare_task *task, const struct compare_result *r)
{
    json_t *out = json_pack(
        "{s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:b, s:b}", "name", task->name, "max_abs",
        measured(r, r->max_abs), "max_rel", measured(r, r->max_rel), "bad", (json_int_t)r->bad,
        "elements", (json_int_t)r->elements, "nonfinite", (json_int_t)(r->nan + r->inf),
        "unwritten", (json_int_t)r->unwritten, "mismatches", (json_int_t)r->mismatches, "excess",
        measured(r, r->excess), "paper", r->paper, "exact", r->exact);
    json_object_set_new(out, "strict",
                        task->rule.excess_max > 0 || task->rule.exact ? json_boolean(r->strict)
                                                                      : json_null());
    if (r->bad)
        add_bad(out, task, r);
    if (!r->strict) {
        json_object_set_new(out, "tile_median", number(r->tile_median));
        json_object_set_new(out, "worst_tile", part(&r->worst_tile));
        json_object_set_new(out, "worst_row", part(&r->worst_row));
        json_object_set_new(out, "bad_tiles", json_integer(r->bad_tiles));
        json_object_set_new(out, "tiles", json_integer(r->tiles));
        json_object_set_new(out, "bad_rows", json_integer(r->bad_rows));
    }
    json_t *hints = json_array();
    for (int i = 0; i < r->hint_count; i++)
        json_array_append_new(hints, json_string(r->hints[i]));
    json_object_set_new(out, "hints", hints);
    return out;
}
