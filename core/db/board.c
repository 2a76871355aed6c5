// SPDX-License-Identifier: Apache-2.0
// Boards as the API shows them. The database gives entries one by one as their index has them, and
// what is said of each was written when it came: putting a board together costs memory that is
// touched once, and a process of PostgreSQL pays for that several times what the reading takes.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/db/store.h"
#include "core/limits.h"

enum { HEAD_TEXT, HEAD_BOARDS };                          /* of BOARD_HEAD */
enum { BOARD, SPEEDUP, CI_LOW, CI_HIGH, ATTEMPTS, ITEM }; /* of BOARD_PAGE and BOARD_PAGES */
enum { ENTRY_BYTES = 64, BOARDS = 256 };

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

/* NAN for null. */
static double number_at(const struct db_rows *rows, int row, int column)
{
    const char *text = db_get(rows, row, column);
    return text ? strtod(text, NULL) : NAN;
}

/* Rank of the next entry of a board, best first; 0: it was not timed. */
static int next_rank(struct ranks *r, const struct db_rows *rows, int row)
{
    double speedup = number_at(rows, row, SPEEDUP);
    r->entries++;
    if (isnan(speedup))
        return 0;
    double ln = log(speedup);
    double half = half_width(number_at(rows, row, CI_LOW), number_at(rows, row, CI_HIGH));
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

/* The entries with their ranks; those of several boards come mixed, each board's in its order. */
static enum err add_items(const struct db_rows *rows, struct buf *out, struct fault *f)
{
    struct ranks all[BOARDS] = {0};
    for (int i = 0; i < rows->count; i++) {
        const char *item = db_get(rows, i, ITEM), *attempts = db_get(rows, i, ATTEMPTS);
        struct ranks *r = ranks_of(all, db_get_int(rows, i, BOARD));
        char rank[ENTRY_BYTES] = "null";
        if (!r)
            return fault_set(f, ERR_INTERNAL, "cannot rank more than %d boards at once", BOARDS);
        int n = next_rank(r, rows, i);
        if (n)
            snprintf(rank, sizeof(rank), "%d", n);
        if (i == 0)
            buf_room(out, (size_t)rows->count * (strlen(item) + ENTRY_BYTES)); /* grow once */
        buf_adds(out, i ? ",{\"rank\":" : "{\"rank\":");
        buf_adds(out, rank);
        buf_adds(out, ",\"attempts\":");
        buf_adds(out, attempts);
        buf_adds(out, ",");
        buf_adds(out, item + 1); /* without its opening brace */
    }
    return ERR_NONE;
}

static enum err add_page(struct db *db, const char *boards, int limit, struct buf *out,
                         struct fault *f)
{
    struct db_rows rows;
    enum err e;
    if (strchr(boards, ','))
        e = db_run(db, STMT_BOARD_PAGES, DB_ARGS(db_text(boards), db_int(limit)), &rows, f);
    else
        e = db_run(db, STMT_BOARD_PAGE,
                   DB_ARGS(db_int(strtoll(boards + 1, NULL, 10)), db_int(limit)), &rows, f);
    if (!e)
        e = add_items(&rows, out, f);
    db_rows_release(&rows);
    return e;
}

enum err store_board_text(struct db *db, const struct board_filter *q, struct buf *out,
                          struct fault *f)
{
    struct db_rows head;
    enum err e = db_run(db, STMT_BOARD_HEAD,
                        DB_ARGS(db_text(q->problem), db_text(q->workload), db_text(q->arch),
                                db_text(q->device_model), db_int(q->epoch), db_text(q->baseline)),
                        &head, f);
    if (!e) {
        const char *boards = db_get(&head, 0, HEAD_BOARDS); /* "{1,2}" */
        buf_adds(out, db_get(&head, 0, HEAD_TEXT));
        buf_adds(out, ",\"items\":[");
        if (boards)
            e = add_page(db, boards, q->limit, out, f);
        buf_adds(out, "]}");
    }
    db_rows_release(&head);
    if (!e && out->failed)
        e = fault_set(f, ERR_TOO_LARGE, "the board is larger than %zu bytes", out->max);
    return e;
}

enum err store_leaderboard(struct db *db, const struct board_filter *q, json_t **out,
                           struct fault *f)
{
    struct buf text;
    buf_init(&text, LIMIT_BODY);
    *out = NULL;
    enum err e = store_board_text(db, q, &text, f);
    if (!e && !(*out = json_loadb(text.data, text.len, 0, NULL)))
        e = fault_set(f, ERR_INTERNAL, "cannot read the board");
    buf_release(&text);
    return e;
}
