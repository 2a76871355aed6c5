// SPDX-License-Identifier: Apache-2.0
#include "core/db/turns.h"

#include <stdlib.h>
#include <string.h>

#include "core/util.h"

#define CELL_ARGS(q)                                                                               \
    db_text((q)->origin), db_text((q)->model), db_text((q)->device_model), db_text((q)->problem),  \
        db_text((q)->workload), db_text((q)->condition)

/* ---- Fast_p ---- */

enum { CELL_ID, CELL_TEXTS }; /* of CELLS: the id, then the members below */
static const char *const cell_members[] = {"origin",  "model",    "device_model",
                                           "problem", "workload", "condition"};

enum { VARIANT, TRAJECTORIES, CORRECT, TARGET, EXACT, REACHED_TARGET, REACHED_OTHER };

/* A float8[] as PostgreSQL sends it: dimensions, whether there are nulls, type, then of the one dimension
 * its size and first index; then of each value its size and itself. All numbers big-endian. */
enum { ARRAY_DIMENSIONS = 0, ARRAY_COUNT = 12, ARRAY_VALUES = 20, VALUE_BYTES = 4 + 8 };

static uint64_t big_endian(const unsigned char *bytes, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | bytes[i];
    return v;
}

/* Appends the numbers of an array without nulls to `out`, where there is room for as many as its bytes may
 * hold. How many there are. */
static size_t read_doubles(const struct db_rows *rows, int row, int column, double *out)
{
    const unsigned char *bytes = (const unsigned char *)db_get(rows, row, column);
    size_t len = bytes ? db_get_length(rows, row, column) : 0;
    if (len < ARRAY_VALUES || big_endian(bytes + ARRAY_DIMENSIONS, 4) != 1)
        return 0;
    size_t count = big_endian(bytes + ARRAY_COUNT, 4);
    if (count > (len - ARRAY_VALUES) / VALUE_BYTES)
        return 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = big_endian(bytes + ARRAY_VALUES + i * VALUE_BYTES + 4, 8);
        memcpy(&out[i], &bits, sizeof(bits));
    }
    return count;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* False: out of memory. */
static bool read_variant(const struct db_rows *rows, int row, int turns, struct fast_p_variant *v)
{
    size_t room =
        (db_get_length(rows, row, REACHED_TARGET) + db_get_length(rows, row, REACHED_OTHER)) /
        VALUE_BYTES;
    *v = (struct fast_p_variant){.number = (int64_t)db_get_binary(rows, row, VARIANT),
                                 .of = (int64_t)db_get_binary(rows, row, TRAJECTORIES) * turns,
                                 .correct = (int64_t)db_get_binary(rows, row, CORRECT),
                                 .target = (int64_t)db_get_binary(rows, row, TARGET),
                                 .reached = malloc((room + 1) * sizeof(double)),
                                 .reached_target = malloc((room + 1) * sizeof(double))};
    if (!v->reached || !v->reached_target)
        return false;
    size_t n = read_doubles(rows, row, REACHED_TARGET, v->reached_target);
    qsort(v->reached_target, n, sizeof(double), compare_doubles);
    memcpy(v->reached, v->reached_target, n * sizeof(double));
    v->reached_target_count = n;
    v->reached_count = n + read_doubles(rows, row, REACHED_OTHER, v->reached + n);
    qsort(v->reached, v->reached_count, sizeof(double), compare_doubles);
    if (!db_get_binary(rows, row, EXACT)) {
        v->reached_target_count = fast_p_quantiles(v->reached_target, v->reached_target_count);
        v->reached_count = fast_p_quantiles(v->reached, v->reached_count);
    }
    return true;
}

static json_t *members_json(const struct db_rows *cells, int row, int turns, bool exact)
{
    json_t *members = json_object();
    json_object_set_new(members, "cell", json_integer(db_get_int(cells, row, CELL_ID)));
    for (size_t i = 0; i < COUNT_OF(cell_members); i++) {
        const char *text = db_get(cells, row, CELL_TEXTS + (int)i);
        json_object_set_new(members, cell_members[i], text ? json_string(text) : json_null());
    }
    json_object_set_new(members, "turns", json_integer(turns));
    json_object_set_new(members, "exact", json_boolean(exact));
    return members;
}

static enum err read_cell(struct db *db, const struct db_rows *cells, int row, int turns,
                          fast_p_fn *each, void *arg, struct fault *f)
{
    struct db_rows rows;
    enum err e =
        db_run_binary(db, STMT_FAST_P_VARIANTS,
                      DB_ARGS(db_text(db_get(cells, row, CELL_ID)), db_int(turns)), &rows, f);
    if (e)
        return e;
    size_t count = (size_t)rows.count;
    struct fast_p_variant *variants = calloc(count + 1, sizeof(*variants));
    json_t *members = members_json(cells, row, turns, !count || db_get_binary(&rows, 0, EXACT));
    bool held = variants && members;
    for (size_t i = 0; held && i < count; i++)
        held = read_variant(&rows, (int)i, turns, &variants[i]);
    e = held ? each(arg, &(struct fast_p_cell){members, variants, count}, f)
             : fault_set(f, ERR_NO_MEMORY, "cannot hold the turns of a cell: out of memory");
    for (size_t i = 0; variants && i < count; i++)
        fast_p_variant_release(&variants[i]);
    free(variants);
    json_decref(members);
    db_rows_release(&rows);
    return e;
}

enum err turns_fast_p(struct db *db, int turns, int most, const struct cell_filter *q,
                      fast_p_fn *each, void *arg, struct fault *f)
{
    struct db_rows cells;
    enum err e = db_run(db, STMT_CELLS, DB_ARGS(CELL_ARGS(q)), &cells, f);
    for (int i = 0; !e && i < cells.count && i < most; i++)
        e = read_cell(db, &cells, i, turns, each, arg, f);
    db_rows_release(&cells);
    return e;
}

/* ---- other documents ---- */

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
