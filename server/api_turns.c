// SPDX-License-Identifier: Apache-2.0
// Metrics over the turns of models: published and local cells by the same rules. Answers are
// cached: cells change with an import, of which the hub hears, and when turns are written, which
// shows at the next event of any submission or after the cache's own short life.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/db/turns.h"
#include "core/json_text.h"
#include "core/turn_metrics.h"
#include "server/api.h"
#include "server/csv.h"

enum { CURVES_BYTES = 16 * MIB };
enum { TURNS_MOST = 1000, LIMITS_MOST = 8, CELLS_DEFAULT = 16, CELLS_MOST = 64, LIMITS_TEXT = 64 };

static const char *const correctness_columns[] = {
    "origin",          "model",          "condition",      "device_model",
    "problem",         "workload",       "turns",          "of",
    "recorded",        "correct",        "target",         "unknown",
    "correct_percent", "target_percent", "correct_ci95.0", "correct_ci95.1",
    "target_ci95.0",   "target_ci95.1",  "best",           "best_target",
    "target_source"};

static const char *const fast_p_columns[] = {
    "origin",      "model",      "condition",  "device_model", "problem", "workload",
    "turns",       "exact",      "p",          "all.mean",     "all.low", "all.high",
    "target.mean", "target.low", "target.high"};

static const char *const transition_columns[] = {"origin",  "model",    "condition", "device_model",
                                                 "problem", "workload", "n",         "from",
                                                 "to",      "turns"};

static struct cell_filter read_filter(const struct request *r)
{
    return (struct cell_filter){
        .origin = request_query(r, "origin"),
        .model = request_query(r, "model"),
        .device_model = request_query(r, "device"),
        .problem = request_query(r, "problem"),
        .workload = request_query(r, "workload"),
        .condition = request_query(r, "condition"),
    };
}

/* "1,4,8" as numbers of 1 to TURNS_MOST, and as an array text of PostgreSQL. */
static enum err read_limits(struct request *r, char out[LIMITS_TEXT])
{
    const char *text = request_query(r, "turns"), *at = text ? text : "1,4,8";
    size_t n = 0;
    for (int i = 0; i < LIMITS_MOST; i++) {
        char *end;
        long limit = strtol(at, &end, 10);
        if (end == at || *at < '0' || *at > '9' || limit < 1 || limit > TURNS_MOST)
            break;
        n += (size_t)snprintf(out + n, LIMITS_TEXT - n, "%c%ld", i ? ',' : '{', limit);
        if (!*end) {
            snprintf(out + n, LIMITS_TEXT - n, "}");
            return ERR_NONE;
        }
        if (*end != ',')
            break;
        at = end + 1;
    }
    return fault_set(
        &r->fault, ERR_BAD_PARAMETER,
        "turns must be at most %d numbers from 1 to %d with commas between, not '%.64s'",
        LIMITS_MOST, TURNS_MOST, text ? text : "");
}

/* "0,0.5,1" as numbers of 0 to 100. */
static enum err read_points(struct request *r, double p[FAST_P_POINTS], size_t *count)
{
    const char *text = request_query(r, "p"), *at = text ? text : "0,0.1,0.25,0.5,0.75,0.9,1";
    for (*count = 0; *count < FAST_P_POINTS;) {
        char *end;
        double value = strtod(at, &end);
        if (end == at || !(value >= 0 && value <= 100))
            break;
        p[(*count)++] = value;
        if (!*end)
            return ERR_NONE;
        if (*end != ',')
            break;
        at = end + 1;
    }
    return fault_set(&r->fault, ERR_BAD_PARAMETER,
                     "p must be at most %d numbers from 0 to 100 with commas between, not '%.64s'",
                     FAST_P_POINTS, text ? text : "");
}

/* One row per entry of a list of each item, with the item's own members before it: for CSV. */
static json_t *flatten(const json_t *document, const char *list)
{
    json_t *rows = json_array(), *item, *entry;
    size_t i, j;
    json_array_foreach(json_object_get(document, "items"), i, item)
        json_array_foreach(json_object_get(item, list), j, entry)
    {
        json_t *row = json_copy(item);
        json_object_update(row, entry);
        json_array_append_new(rows, row);
    }
    return rows;
}

/* Answers `document` (taken) whole, or its rows as CSV. */
static enum err answer_cells(struct request *r, json_t *document, const char *list,
                             const char *const *columns, size_t count)
{
    bool csv;
    enum err e = csv_wanted(r, &csv);
    if (!e && csv)
        e = answer_csv(r, columns, count, request_keep_json(r, flatten(document, list)));
    else if (!e)
        return answer_json(r, 200, document);
    json_decref(document);
    return e;
}

static enum err read_correctness(struct request *r)
{
    char limits[LIMITS_TEXT];
    struct cell_filter q = read_filter(r);
    json_t *document = NULL;
    enum err e = read_limits(r, limits);
    if (!e)
        e = turns_correctness(r->db, limits, &q, &document, &r->fault);
    if (e)
        return e;
    turn_correctness_shape(document);
    return answer_cells(r, document, "at", correctness_columns, COUNT_OF(correctness_columns));
}

enum err turn_correctness_get(struct request *r)
{
    return read_correctness(r);
}

/* Cells as they come: text of a curve's thousands of speedups, or objects for CSV, which has none. */
struct fast_p_answer {
    double p[FAST_P_POINTS];
    size_t count, cells;
    bool curves, csv;
    struct buf text;
    json_t *items;
};

static int add_bytes(const char *bytes, size_t n, void *b)
{
    buf_add(b, bytes, n);
    return 0;
}

static void add_speedups(struct buf *b, const char *name, const double *reached, size_t count)
{
    buf_addf(b, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add(b, ",", 1);
        json_add_real(b, reached[i]);
    }
    buf_add(b, "]", 1);
}

static void add_variant(struct buf *b, const struct fast_p_variant *v, bool curves)
{
    buf_addf(b, "{\"variant\":%lld,\"of\":%lld,\"correct\":%lld,\"target\":%lld",
             (long long)v->number, (long long)v->of, (long long)v->correct, (long long)v->target);
    if (curves) {
        add_speedups(b, "speedups", v->reached, v->reached_count);
        add_speedups(b, "speedups_target", v->reached_target, v->reached_target_count);
    }
    buf_adds(b, "}");
}

static enum err add_cell(void *arg, const struct fast_p_cell *cell, struct fault *f)
{
    struct fast_p_answer *a = arg;
    struct buf *b = &a->text;
    json_t *points = fast_p_points(cell->variants, cell->count, a->p, a->count);
    if (a->csv) {
        json_t *item = json_copy((json_t *)cell->members);
        json_object_set_new(item, "points", points);
        json_array_append_new(a->items, item);
        return ERR_NONE;
    }
    buf_adds(b, a->cells++ ? "," : "");
    json_dump_callback(cell->members, add_bytes, b, ANSWER_JSON);
    b->len -= !b->failed; /* its closing brace */
    buf_adds(b, ",\"variants\":[");
    for (size_t i = 0; i < cell->count; i++) {
        buf_adds(b, i ? "," : "");
        add_variant(b, &cell->variants[i], a->curves);
    }
    buf_adds(b, "],\"points\":");
    json_dump_callback(points, add_bytes, b, ANSWER_JSON);
    buf_adds(b, "}");
    json_decref(points);
    return b->failed
               ? fault_set(f, ERR_TOO_LARGE,
                           "the curves are larger than %zu bytes; ask for fewer cells", b->max)
               : ERR_NONE;
}

static enum err read_fast_p(struct request *r)
{
    int64_t turns = 0, most = 0;
    struct fast_p_answer a = {0};
    struct cell_filter q = read_filter(r);
    enum err e = request_number(r, "turns", 1, TURNS_MOST, 8, &turns);
    if (!e)
        e = request_number(r, "limit", 1, CELLS_MOST, CELLS_DEFAULT, &most);
    if (!e)
        e = request_yesno(r, "curves", &a.curves);
    if (!e)
        e = read_points(r, a.p, &a.count);
    if (!e)
        e = csv_wanted(r, &a.csv);
    if (e)
        return e;
    a.items = json_array();
    json_t *document = request_keep_json(r, json_pack("{s:o}", "items", a.items));
    buf_init(&a.text, CURVES_BYTES);
    buf_adds(&a.text, "{\"items\":[");
    e = turns_fast_p(r->db, (int)turns, (int)most, &q, add_cell, &a, &r->fault);
    buf_adds(&a.text, "]}\n");
    if (!e && !a.csv)
        return answer_buf(r, 200, "application/json", &a.text);
    buf_release(&a.text);
    return e ? e
             : answer_csv(r, fast_p_columns, COUNT_OF(fast_p_columns),
                          request_keep_json(r, flatten(document, "points")));
}

enum err fast_p_get(struct request *r)
{
    return read_fast_p(r);
}

static enum err read_transitions(struct request *r)
{
    int64_t most = 0;
    struct cell_filter q = read_filter(r);
    json_t *document = NULL;
    enum err e = request_number(r, "limit", 1, CELLS_MOST, CELLS_DEFAULT, &most);
    if (!e)
        e = turns_transitions(r->db, (int)most, &q, &document, &r->fault);
    if (e)
        return e;
    transitions_shape(document);
    return answer_cells(r, document, "transitions", transition_columns,
                        COUNT_OF(transition_columns));
}

enum err transitions_get(struct request *r)
{
    return read_transitions(r);
}
