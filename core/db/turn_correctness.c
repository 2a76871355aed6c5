// SPDX-License-Identifier: Apache-2.0
// What turns come to, cell by cell: the rollup is read as it stands, row by row, and added up here.
// To add it up for every limit and to sort that with all its names is dearer in the database than
// anything else of an answer over a hundred cells.
#include "core/db/turns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

enum { LIMITS = 16, IDS_BYTES = 4 * 1024 * 1024 };

enum { CELL_ID, CELL_TEXTS }; /* of CELLS: the id, then the members below */
static const char *const cell_members[] = {"origin",  "model",    "device_model",
                                           "problem", "workload", "condition"};

enum { COUNT_CELL, VARIANT, TRAJECTORIES, N, TURNS, CORRECT, INST, UNKNOWN, BEST, BEST_INST };
enum { OVERRIDE_CELL, OVERRIDE_LIMIT, OVERRIDE_TARGET, OVERRIDE_SOURCE };

/* The first turns of one variant, or of all variants. */
struct count {
    int64_t of, turns, correct, inst, unknown;
    double best, best_inst; /* 0: none */
};

struct variant {
    int place; /* of its cell in the answer */
    int64_t number;
    struct count at[LIMITS];
};

struct counts {
    int limits[LIMITS], limit_count; /* ascending, each once */
    struct db_rows cells, overrides;
    struct variant *variants; /* owned; by place, then number */
    size_t count, room;
};

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* "{1,4,8}". */
static enum err read_limits(const char *text, struct counts *c, struct fault *f)
{
    int n = 0;
    for (const char *at = text; *at && *at != '}';) {
        char *end;
        long limit = strtol(at + 1, &end, 10);
        if (end == at + 1 || limit < 1 || limit > INT32_MAX || n == LIMITS)
            return fault_set(f, ERR_INTERNAL, "cannot read the limits of turns %.64s", text);
        c->limits[n++] = (int)limit;
        at = end;
    }
    qsort(c->limits, (size_t)n, sizeof(*c->limits), compare_ints);
    for (int i = 0; i < n; i++)
        if (!c->limit_count || c->limits[i] != c->limits[c->limit_count - 1])
            c->limits[c->limit_count++] = c->limits[i];
    return ERR_NONE;
}

/* ---- adding up ---- */

static double speedup_at(const struct db_rows *rows, int row, int column)
{
    const char *text = db_get(rows, row, column);
    return text ? strtod(text, NULL) : 0;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static void count_add(struct count *to, const struct count *more)
{
    to->of += more->of;
    to->turns += more->turns;
    to->correct += more->correct;
    to->inst += more->inst;
    to->unknown += more->unknown;
    to->best = greater(to->best, more->best);
    to->best_inst = greater(to->best_inst, more->best_inst);
}

/* The variant of a row of CELL_COUNTS: the last one if it is that, else a new one. */
static struct variant *variant_of(struct counts *c, int place, int64_t number, int64_t trajectories)
{
    struct variant *last = c->count ? &c->variants[c->count - 1] : NULL;
    if (last && last->place == place && last->number == number)
        return last;
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 64;
        struct variant *more = realloc(c->variants, room * sizeof(*more));
        if (!more)
            return NULL;
        c->variants = more;
        c->room = room;
    }
    struct variant *v = &c->variants[c->count++];
    *v = (struct variant){.place = place, .number = number};
    for (int i = 0; i < c->limit_count; i++)
        v->at[i].of = trajectories * c->limits[i];
    return v;
}

static bool add_row(struct counts *c, int place, const struct db_rows *rows, int row)
{
    struct variant *v =
        variant_of(c, place, db_get_int(rows, row, VARIANT), db_get_int(rows, row, TRAJECTORIES));
    if (!v)
        return false;
    if (!db_get(rows, row, N)) /* no turn was recorded */
        return true;
    struct count turn = {.turns = db_get_int(rows, row, TURNS),
                         .correct = db_get_int(rows, row, CORRECT),
                         .inst = db_get_int(rows, row, INST),
                         .unknown = db_get_int(rows, row, UNKNOWN),
                         .best = speedup_at(rows, row, BEST),
                         .best_inst = speedup_at(rows, row, BEST_INST)};
    for (int i = 0; i < c->limit_count; i++)
        if (db_get_int(rows, row, N) < c->limits[i])
            count_add(&v->at[i], &turn);
    return true;
}

/* Where the cells stand in the answer, by id. */
struct place {
    int64_t cell;
    int place;
};

static int compare_places(const void *a, const void *b)
{
    int64_t x = ((const struct place *)a)->cell, y = ((const struct place *)b)->cell;
    return (x > y) - (x < y);
}

static int compare_variants(const void *a, const void *b)
{
    const struct variant *x = a, *y = b;
    if (x->place != y->place)
        return x->place - y->place;
    return (x->number > y->number) - (x->number < y->number);
}

/* In their order, each once: a plan of the database may give the rows of a variant in several
 * parts. */
static void join_parts(struct counts *c)
{
    size_t n = 0;
    qsort(c->variants, c->count, sizeof(*c->variants), compare_variants);
    for (size_t i = 0; i < c->count; i++) {
        struct variant *v = &c->variants[i];
        if (!n || compare_variants(&c->variants[n - 1], v) != 0) {
            c->variants[n++] = *v;
            continue;
        }
        for (int limit = 0; limit < c->limit_count; limit++) {
            v->at[limit].of = 0; /* that of the variant, in every part */
            count_add(&c->variants[n - 1].at[limit], &v->at[limit]);
        }
    }
    c->count = n;
}

/* Adds all rows of CELL_COUNTS up; false: out of memory. */
static bool add_rows(struct counts *c, const struct db_rows *rows)
{
    size_t n = (size_t)c->cells.count;
    struct place *places = calloc(n ? n : 1, sizeof(*places));
    bool held = places != NULL;
    for (size_t i = 0; held && i < n; i++)
        places[i] = (struct place){db_get_int(&c->cells, (int)i, CELL_ID), (int)i};
    if (held)
        qsort(places, n, sizeof(*places), compare_places);
    for (int row = 0; held && row < rows->count; row++) {
        struct place wanted = {.cell = db_get_int(rows, row, COUNT_CELL)};
        const struct place *p = bsearch(&wanted, places, n, sizeof(*places), compare_places);
        held = !p || add_row(c, p->place, rows, row);
    }
    free(places);
    if (held && c->count)
        join_parts(c);
    return held;
}

/* ---- the document ---- */

static json_t *text_json(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *speedup_json(double speedup)
{
    return speedup > 0 ? json_real(speedup) : json_null();
}

static json_t *variant_json(const struct variant *v, int limit)
{
    const struct count *k = &v->at[limit];
    json_t *out = json_object();
    json_object_set_new_nocheck(out, "variant", json_integer(v->number));
    json_object_set_new_nocheck(out, "of", json_integer(k->of));
    json_object_set_new_nocheck(out, "correct", json_integer(k->correct));
    json_object_set_new_nocheck(out, "target", json_integer(k->inst));
    json_object_set_new_nocheck(out, "best", speedup_json(k->best));
    json_object_set_new_nocheck(out, "best_target", speedup_json(k->best_inst));
    return out;
}

/* The row of OVERRIDES for a cell and a limit; -1: none. */
static int override_of(const struct counts *c, int64_t cell, int limit)
{
    for (int i = 0; i < c->overrides.count; i++)
        if (db_get_int(&c->overrides, i, OVERRIDE_CELL) == cell &&
            db_get_int(&c->overrides, i, OVERRIDE_LIMIT) == limit)
            return i;
    return -1;
}

/* One limit of a cell, whose variants are [first, end). */
static json_t *limit_json(const struct counts *c, size_t first, size_t end, int limit)
{
    struct count sum = {0};
    json_t *variants = json_array(), *at = json_object();
    for (size_t i = first; i < end; i++) {
        json_array_append_new(variants, variant_json(&c->variants[i], limit));
        count_add(&sum, &c->variants[i].at[limit]);
    }
    int replaced =
        override_of(c, db_get_int(&c->cells, c->variants[first].place, CELL_ID), c->limits[limit]);
    int64_t target = replaced < 0 ? sum.inst : db_get_int(&c->overrides, replaced, OVERRIDE_TARGET);
    const char *source = replaced < 0 ? NULL : db_get(&c->overrides, replaced, OVERRIDE_SOURCE);
    json_object_set_new_nocheck(at, "turns", json_integer(c->limits[limit]));
    json_object_set_new_nocheck(at, "of", json_integer(sum.of));
    json_object_set_new_nocheck(at, "recorded", json_integer(sum.turns));
    json_object_set_new_nocheck(at, "correct", json_integer(sum.correct));
    json_object_set_new_nocheck(at, "target", json_integer(target));
    json_object_set_new_nocheck(at, "unknown", json_integer(sum.unknown));
    json_object_set_new_nocheck(at, "target_source", text_json(source));
    json_object_set_new_nocheck(at, "best", speedup_json(sum.best));
    json_object_set_new_nocheck(at, "best_target", speedup_json(sum.best_inst));
    json_object_set_new_nocheck(at, "variants", variants);
    return at;
}

/* Cells without a trajectory are left out. */
static json_t *document_json(const struct counts *c)
{
    json_t *items = json_array();
    for (size_t first = 0, end; first < c->count; first = end) {
        int place = c->variants[first].place;
        json_t *item = json_object(), *limits = json_array();
        for (end = first; end < c->count && c->variants[end].place == place;)
            end++;
        json_object_set_new(item, "cell", json_integer(db_get_int(&c->cells, place, CELL_ID)));
        for (size_t i = 0; i < COUNT_OF(cell_members); i++)
            json_object_set_new(item, cell_members[i],
                                text_json(db_get(&c->cells, place, CELL_TEXTS + (int)i)));
        for (int limit = 0; limit < c->limit_count; limit++)
            json_array_append_new(limits, limit_json(c, first, end, limit));
        json_object_set_new(item, "at", limits);
        json_array_append_new(items, item);
    }
    return json_pack("{s:o}", "items", items);
}

/* ---- reading ---- */

/* The ids of the cells as an array text. */
static void list_ids(const struct db_rows *cells, struct buf *ids)
{
    for (int i = 0; i < cells->count; i++)
        buf_addf(ids, "%c%s", i ? ',' : '{', db_get(cells, i, CELL_ID));
    buf_adds(ids, cells->count ? "}" : "{}");
}

/* Three looks, not one snapshot: what an import replaces in between is left out. */
static enum err read_counts(struct db *db, const struct cell_filter *q, struct counts *c,
                            struct fault *f)
{
    struct db_rows rows = {0};
    struct buf ids;
    buf_init(&ids, IDS_BYTES);
    enum err e = db_run(db, STMT_CELLS,
                        DB_ARGS(db_text(q->origin), db_text(q->model), db_text(q->device_model),
                                db_text(q->problem), db_text(q->workload), db_text(q->condition)),
                        &c->cells, f);
    if (!e)
        list_ids(&c->cells, &ids);
    if (!e && ids.failed)
        e = fault_set(f, ERR_TOO_LARGE, "cannot list %d cells", c->cells.count);
    if (!e)
        e = db_run(db, STMT_CELL_OVERRIDES, DB_ARGS(db_text(ids.data)), &c->overrides, f);
    if (!e)
        e = db_run(db, STMT_CELL_COUNTS, DB_ARGS(db_text(ids.data)), &rows, f);
    if (!e && !add_rows(c, &rows))
        e = fault_set(f, ERR_NO_MEMORY, "cannot hold the cells: out of memory");
    db_rows_release(&rows);
    buf_release(&ids);
    return e;
}

enum err turns_correctness(struct db *db, const char *limits, const struct cell_filter *q,
                           json_t **out, struct fault *f)
{
    struct counts c = {0};
    enum err e = read_limits(limits, &c, f);
    if (!e)
        e = read_counts(db, q, &c, f);
    *out = e == ERR_NONE ? document_json(&c) : NULL;
    if (e == ERR_NONE && !*out)
        e = fault_set(f, ERR_NO_MEMORY, "cannot hold the cells: out of memory");
    db_rows_release(&c.cells);
    db_rows_release(&c.overrides);
    free(c.variants);
    return e;
}
