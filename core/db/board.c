// SPDX-License-Identifier: Apache-2.0
// Boards as the API shows them. The database gives entries one by one as their index has them, and
// what is said of each was written when it came: putting a board together costs memory that is
// touched once, and a process of PostgreSQL pays for that several times what the reading takes.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/db/store.h"
#include "core/json_text.h"
#include "core/limits.h"

enum { HIDDEN, ID, EPOCH, BASELINE };                     /* of BOARD_CHOICES */
enum { SPEEDUP, CI_LOW, CI_HIGH, ATTEMPTS, ITEM, BOARD }; /* of BOARD_PAGES; BOARD_PAGE has one */
enum { ENTRY_BYTES = 64, BOARDS = 256, DIGITS = 20, NO_EPOCH = -1 };

/* Of the boards that a reader may choose from, those of one epoch and one baseline. */
struct choice {
    struct db_rows rows;  /* all, by epoch and baseline; one without a board: there is none */
    int64_t epoch;        /* NO_EPOCH: none */
    const char *baseline; /* NULL: none */
};

/* How far the ranks of one board are given. */
struct ranks {
    int64_t board;
    int entries, rank;  /* rank 0: no timed entry yet */
    double first, half; /* of the first of the band: ln of its speedup, and half width of that */
};

/* As half_width() and in_band() of sql/functions/board.sql, by which one submission is ranked. */
static double half_width(double low, double high)
{
    return low > 0 && high >= low ? log(high / low) / 2 : 0;
}

static bool is_in_band(const struct ranks *r, double ln, double half)
{
    return r->first - ln <= sqrt(r->half * r->half + half * half);
}

/* Rank of the next entry of a board, best first; 0: it was not timed. */
static int next_rank(struct ranks *r, const struct db_rows *rows, int row)
{
    double speedup = db_get_double(rows, row, SPEEDUP);
    r->entries++;
    if (isnan(speedup))
        return 0;
    double ln = log(speedup);
    double half = half_width(db_get_double(rows, row, CI_LOW), db_get_double(rows, row, CI_HIGH));
    if (!r->rank || !is_in_band(r, ln, half)) {
        r->rank = r->entries;
        r->first = ln;
        r->half = half;
    }
    return r->rank;
}

/* NULL: more boards than there can be. */
static struct ranks *ranks_of(struct ranks all[BOARDS], int64_t board)
{
    for (size_t i = 0; i < BOARDS; i++)
        if (!all[i].board || all[i].board == board) {
            all[i].board = board;
            return &all[i];
        }
    return NULL;
}

static void add_item(struct buf *out, const struct db_rows *rows, int row, int rank)
{
    buf_adds(out, row ? ",{\"rank\":" : "{\"rank\":");
    if (rank)
        json_add_integer(out, rank);
    else
        buf_adds(out, "null");
    buf_adds(out, ",\"attempts\":");
    json_add_integer(out, (int64_t)db_get_binary(rows, row, ATTEMPTS));
    buf_adds(out, ",");
    buf_add(out, db_get(rows, row, ITEM) + 1, /* without its opening brace */
            db_get_length(rows, row, ITEM) - 1);
}

/* The entries with their ranks; those of several boards come mixed, each board's in its order. */
static enum err add_items(const struct db_rows *rows, bool mixed, struct buf *out, struct fault *f)
{
    struct ranks all[BOARDS] = {0};
    if (rows->count) /* grow once */
        buf_room(out, (size_t)rows->count * (db_get_length(rows, 0, ITEM) + ENTRY_BYTES));
    for (int i = 0; i < rows->count; i++) {
        struct ranks *r = mixed ? ranks_of(all, (int64_t)db_get_binary(rows, i, BOARD)) : all;
        if (!r)
            return fault_set(f, ERR_INTERNAL, "cannot rank more than %d boards at once", BOARDS);
        add_item(out, rows, i, next_rank(r, rows, i));
    }
    return ERR_NONE;
}

/* ---- which boards ---- */

static bool is_board(const struct db_rows *rows, int row)
{
    return db_get(rows, row, ID) != NULL;
}

static int64_t epoch_of(const struct db_rows *rows, int row)
{
    return (int64_t)db_get_binary(rows, row, EPOCH);
}

static bool is_composed(const char *baseline)
{
    static const char end[] = "(composed)";
    size_t n = strlen(baseline);
    return n >= sizeof(end) - 1 && !strcmp(baseline + n - (sizeof(end) - 1), end);
}

/* A board that has a baseline, of the epoch that was chosen. */
static bool is_timed(const struct choice *c, int row)
{
    return is_board(&c->rows, row) && epoch_of(&c->rows, row) == c->epoch &&
           *db_get(&c->rows, row, BASELINE);
}

/* The newest epoch and the vendor's own baseline, or one put together of its parts if there is no
 * other, unless the reader says which. */
static void choose(struct choice *c, const struct board_filter *q)
{
    int last = c->rows.count - 1;
    c->epoch = q->epoch ? q->epoch : is_board(&c->rows, last) ? epoch_of(&c->rows, last) : NO_EPOCH;
    c->baseline = q->baseline;
    for (int i = 0; !q->baseline && i < c->rows.count; i++) {
        const char *baseline = db_get(&c->rows, i, BASELINE);
        if (is_timed(c, i) &&
            (!c->baseline || (is_composed(c->baseline) && !is_composed(baseline))))
            c->baseline = baseline;
    }
}

/* Does a board hold what was chosen? What was not timed at all is shown beside every baseline. */
static bool is_chosen(const struct choice *c, int row)
{
    return is_board(&c->rows, row) && epoch_of(&c->rows, row) == c->epoch &&
           (!is_timed(c, row) ||
            (c->baseline && !strcmp(db_get(&c->rows, row, BASELINE), c->baseline)));
}

/* As a PostgreSQL array; "" if there is none. */
static void list_chosen(const struct choice *c, struct buf *ids)
{
    for (int i = 0; i < c->rows.count; i++)
        if (is_chosen(c, i))
            buf_addf(ids, "%c%llu", ids->len ? ',' : '{',
                     (unsigned long long)db_get_binary(&c->rows, i, ID));
    buf_adds(ids, ids->len ? "}" : "");
}

static void add_choice(const struct choice *c, struct buf *out)
{
    int64_t epoch = NO_EPOCH;
    if (c->epoch == NO_EPOCH)
        buf_adds(out, "\"epoch\":null,\"epochs\":[");
    else
        buf_addf(out, "\"epoch\":%lld,\"epochs\":[", (long long)c->epoch);
    for (int i = 0; i < c->rows.count && is_board(&c->rows, i); i++) {
        if (epoch_of(&c->rows, i) != epoch)
            buf_addf(out, "%s%lld", epoch == NO_EPOCH ? "" : ",", (long long)epoch_of(&c->rows, i));
        epoch = epoch_of(&c->rows, i);
    }
    buf_adds(out, "],\"baseline\":");
    json_add_string(out, c->baseline);
    buf_adds(out, ",\"baselines\":[");
    const char *baseline = NULL;
    for (int i = 0; i < c->rows.count; i++) {
        if (!is_timed(c, i) || (baseline && !strcmp(baseline, db_get(&c->rows, i, BASELINE))))
            continue;
        buf_adds(out, baseline ? "," : "");
        baseline = db_get(&c->rows, i, BASELINE);
        json_add_string(out, baseline);
    }
    buf_adds(out, "]");
}

/* What an operator took off: rarely anything. */
static enum err add_hidden(struct db *db, const struct board_filter *q, const struct choice *c,
                           struct buf *out, struct fault *f)
{
    buf_adds(out, ",\"hidden\":");
    if (db_get_binary(&c->rows, 0, HIDDEN))
        return db_read_bytes(db, STMT_BOARD_HIDDEN,
                             DB_ARGS(db_text(q->problem), db_text(q->workload), db_text(q->arch)),
                             out, f);
    buf_adds(out, "[]");
    return ERR_NONE;
}

static enum err add_page(struct db *db, const struct choice *c, int limit, struct buf *out,
                         struct fault *f)
{
    struct db_rows rows = {0};
    struct buf ids;
    enum err e = ERR_NONE;
    buf_init(&ids, BOARDS * DIGITS);
    list_chosen(c, &ids);
    bool mixed = ids.len && strchr(ids.data, ',');
    if (ids.failed)
        e = fault_set(f, ERR_INTERNAL, "cannot read more than %d boards at once", BOARDS);
    else if (mixed)
        e = db_run_binary(db, STMT_BOARD_PAGES, DB_ARGS(db_text(ids.data), db_int(limit)), &rows,
                          f);
    else if (ids.len)
        e = db_run_binary(db, STMT_BOARD_PAGE,
                          DB_ARGS(db_int(strtoll(ids.data + 1, NULL, 10)), db_int(limit)), &rows,
                          f);
    if (!e)
        e = add_items(&rows, mixed, out, f);
    db_rows_release(&rows);
    buf_release(&ids);
    return e;
}

enum err store_board_text(struct db *db, const struct board_filter *q, struct buf *out,
                          struct fault *f)
{
    struct choice c;
    enum err e = db_run_binary(db, STMT_BOARD_CHOICES,
                               DB_ARGS(db_text(q->problem), db_text(q->workload), db_text(q->arch),
                                       db_text(q->device_model)),
                               &c.rows, f);
    if (!e) {
        choose(&c, q);
        add_choice(&c, out);
        e = add_hidden(db, q, &c, out, f);
    }
    if (!e) {
        buf_adds(out, ",\"items\":[");
        e = add_page(db, &c, q->limit, out, f);
        buf_adds(out, "]}");
    }
    db_rows_release(&c.rows);
    if (!e && out->failed)
        e = fault_set(f, ERR_TOO_LARGE, "the board is larger than %zu bytes", out->max);
    return e;
}

enum err store_leaderboard(struct db *db, const struct board_filter *q, json_t **out,
                           struct fault *f)
{
    struct buf text;
    buf_init(&text, LIMIT_BODY);
    buf_adds(&text, "{");
    *out = NULL;
    enum err e = store_board_text(db, q, &text, f);
    if (!e && !(*out = json_loadb(text.data, text.len, 0, NULL)))
        e = fault_set(f, ERR_INTERNAL, "cannot read the board");
    buf_release(&text);
    return e;
}
