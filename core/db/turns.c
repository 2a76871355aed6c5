// SPDX-License-Identifier: Apache-2.0
#include "core/db/turns.h"

#include <stdlib.h>

#include "core/util.h"

#define CELL_ARGS(q)                                                                               \
    db_text((q)->origin), db_text((q)->model), db_text((q)->device_model), db_text((q)->problem),  \
        db_text((q)->workload), db_text((q)->condition)

/* Columns of turn_correctness_rows(). */
enum column {
    CELL,
    ORIGIN,
    MODEL,
    DEVICE_MODEL,
    PROBLEM,
    WORKLOAD,
    CONDITION,
    TURNS,
    VARIANT,
    OF,
    RECORDED,
    CORRECT,
    TARGET,
    UNKNOWN,
    BEST,
    BEST_TARGET,
    OVERRIDE,
    OVERRIDE_SOURCE
};

static const struct {
    const char *name;
    enum column column;
} cell_names[] = {{"origin", ORIGIN},   {"model", MODEL},       {"device_model", DEVICE_MODEL},
                  {"problem", PROBLEM}, {"workload", WORKLOAD}, {"condition", CONDITION}};

static json_t *text_at(const struct db_rows *rows, int row, enum column c)
{
    const char *text = db_get(rows, row, (int)c);
    return text ? json_string(text) : json_null();
}

static json_t *number_at(const struct db_rows *rows, int row, enum column c)
{
    return json_integer(db_get_int(rows, row, (int)c));
}

/* What of one limit is added up over the variants. */
struct limit_sum {
    int64_t of, recorded, correct, target, unknown;
    double best, best_target; /* 0: none */
};

static double speedup_at(const struct db_rows *rows, int row, enum column c)
{
    const char *text = db_get(rows, row, (int)c);
    return text ? strtod(text, NULL) : 0;
}

static json_t *speedup_json(double speedup)
{
    return speedup > 0 ? json_real(speedup) : json_null();
}

static void add_variant(struct limit_sum *sum, json_t *variants, const struct db_rows *rows,
                        int row)
{
    double best = speedup_at(rows, row, BEST), best_target = speedup_at(rows, row, BEST_TARGET);
    json_t *v = json_object();
    json_object_set_new(v, "variant", number_at(rows, row, VARIANT));
    json_object_set_new(v, "of", number_at(rows, row, OF));
    json_object_set_new(v, "correct", number_at(rows, row, CORRECT));
    json_object_set_new(v, "target", number_at(rows, row, TARGET));
    json_object_set_new(v, "best", speedup_json(best));
    json_object_set_new(v, "best_target", speedup_json(best_target));
    json_array_append_new(variants, v);
    sum->of += db_get_int(rows, row, OF);
    sum->recorded += db_get_int(rows, row, RECORDED);
    sum->correct += db_get_int(rows, row, CORRECT);
    sum->target += db_get_int(rows, row, TARGET);
    sum->unknown += db_get_int(rows, row, UNKNOWN);
    sum->best = best > sum->best ? best : sum->best;
    sum->best_target = best_target > sum->best_target ? best_target : sum->best_target;
}

/* The rows of one cell and limit from *row on, which is moved past them. */
static json_t *limit_json(const struct db_rows *rows, int *row)
{
    int first = *row;
    struct limit_sum sum = {0};
    json_t *variants = json_array(), *at = json_object();
    for (; *row < rows->count && db_get_int(rows, *row, CELL) == db_get_int(rows, first, CELL) &&
           db_get_int(rows, *row, TURNS) == db_get_int(rows, first, TURNS);
         (*row)++)
        add_variant(&sum, variants, rows, *row);
    bool replaced = db_get(rows, first, OVERRIDE) != NULL;
    json_object_set_new(at, "turns", number_at(rows, first, TURNS));
    json_object_set_new(at, "of", json_integer(sum.of));
    json_object_set_new(at, "recorded", json_integer(sum.recorded));
    json_object_set_new(at, "correct", json_integer(sum.correct));
    json_object_set_new(at, "target",
                        replaced ? number_at(rows, first, OVERRIDE) : json_integer(sum.target));
    json_object_set_new(at, "unknown", json_integer(sum.unknown));
    json_object_set_new(at, "target_source", text_at(rows, first, OVERRIDE_SOURCE));
    json_object_set_new(at, "best", speedup_json(sum.best));
    json_object_set_new(at, "best_target", speedup_json(sum.best_target));
    json_object_set_new(at, "variants", variants);
    return at;
}

static json_t *correctness_json(const struct db_rows *rows)
{
    json_t *items = json_array();
    for (int row = 0; row < rows->count;) {
        int64_t cell = db_get_int(rows, row, CELL);
        json_t *item = json_object(), *limits = json_array();
        json_object_set_new(item, "cell", json_integer(cell));
        for (size_t i = 0; i < COUNT_OF(cell_names); i++)
            json_object_set_new(item, cell_names[i].name, text_at(rows, row, cell_names[i].column));
        while (row < rows->count && db_get_int(rows, row, CELL) == cell)
            json_array_append_new(limits, limit_json(rows, &row));
        json_object_set_new(item, "at", limits);
        json_array_append_new(items, item);
    }
    return json_pack("{s:o}", "items", items);
}

enum err turns_correctness(struct db *db, const char *limits, const struct cell_filter *q,
                           json_t **out, struct fault *f)
{
    struct db_rows rows;
    enum err e =
        db_run(db, STMT_TURN_CORRECTNESS, DB_ARGS(db_text(limits), CELL_ARGS(q)), &rows, f);
    *out = e == ERR_NONE ? correctness_json(&rows) : NULL;
    db_rows_release(&rows);
    if (e == ERR_NONE && !*out)
        e = fault_set(f, ERR_NO_MEMORY, "cannot hold the cells: out of memory");
    return e;
}

enum err turns_fast_p(struct db *db, int turns, int most, const struct cell_filter *q, json_t **out,
                      struct fault *f)
{
    return db_json(db, STMT_FAST_P, DB_ARGS(db_int(turns), db_int(most), CELL_ARGS(q)), out, f);
}

enum err turns_transitions(struct db *db, int most, const struct cell_filter *q, json_t **out,
                           struct fault *f)
{
    return db_json(db, STMT_TURN_TRANSITIONS, DB_ARGS(db_int(most), CELL_ARGS(q)), out, f);
}

enum err turns_import(struct db *db, const json_t *document, json_t **out, struct fault *f)
{
    char *text = json_dumps(document, JSON_COMPACT);
    if (!text)
        return fault_set(f, ERR_NO_MEMORY, "cannot import: out of memory");
    enum err e = db_json(db, STMT_PUBLISHED_IMPORT, DB_ARGS(db_text(text)), out, f);
    free(text);
    return e;
}
