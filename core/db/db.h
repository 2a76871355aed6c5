/* SPDX-License-Identifier: Apache-2.0
 * PostgreSQL for every program: connections whose statements are all prepared from statements.def
 * (so a typo fails at start), calls by enum, transactions as a function that takes a function.
 * libpq stays inside core/db. A `struct db` belongs to one thread at a time (a pool is threads that
 * have one each); it reconnects by itself between statements and never in the middle of a
 * transaction. */
#ifndef CORE_DB_DB_H
#define CORE_DB_DB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

enum statement {
#define STATEMENT(name, nparams, sql) STMT_##name,
#include "core/db/statements.def"
#undef STATEMENT
    STMT_COUNT
};

/* One parameter. Text and bytes are borrowed until the call returns. */
struct db_arg {
    const void *data; /* NULL: SQL null, unless `number` is set */
    size_t len;       /* bytes only */
    bool bytes;       /* sent in binary, for bytea */
    char number[32];  /* text of a number, when not empty */
};

struct db_arg db_text(const char *s); /* NULL gives SQL null */
struct db_arg db_bytes(const void *data, size_t len);
struct db_arg db_int(int64_t v);
struct db_arg db_bool(bool v);

/* Expands to the two arguments `args, count`: db_run(db, STMT_x, DB_ARGS(db_int(1)), NULL, f). */
#define DB_ARGS(...)                                                                               \
    (const struct db_arg[]){__VA_ARGS__},                                                          \
        sizeof((const struct db_arg[]){__VA_ARGS__}) / sizeof(struct db_arg)
#define DB_NO_ARGS NULL, 0

struct db_options {
    const char *conninfo;     /* libpq connection string or URI; borrowed by db_open, copied */
    const char *application;  /* shown in pg_stat_activity; copied */
    int statement_timeout_ms; /* 0: none */
};

/* One connection. NULL with a fault if the first connect fails; later losses heal by themselves,
 * with a growing pause between tries. Close with db_close. */
struct db *db_open(const struct db_options *o, struct fault *f);
void db_close(struct db *db);
bool db_connected(const struct db *db);

/* Rows of an answer, released with db_rows_release. Texts are borrowed until then; NULL is null. */
struct db_rows {
    void *result;
    int count;
};

void db_rows_release(struct db_rows *rows);
const char *db_get(const struct db_rows *rows, int row, int column);
int64_t db_get_int(const struct db_rows *rows, int row, int column);   /* 0 for null */
bool db_get_bool(const struct db_rows *rows, int row, int column);     /* false for null */
size_t db_get_length(const struct db_rows *rows, int row, int column); /* bytes of a value */

/* Runs a statement. `rows` may be NULL. Errors: ERR_DATABASE (unreachable, lost, shutting down,
 * full), ERR_DEADLINE (statement timeout), ERR_BUSY (serialization failure: db_tx retries it), and
 * what SQL raises with SQLSTATE PX4xx (see db.c); anything else is ERR_INTERNAL. */
enum err db_run(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                struct db_rows *rows, struct fault *f);
/* As db_run, for rows of many numbers, which cost more to print and to read than to look up: values
 * come in binary. Of these columns db_get reads texts, db_get_double float8 (null: NAN), and
 * db_get_binary booleans and integers that are not negative (null: 0). */
enum err db_run_binary(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                       struct db_rows *rows, struct fault *f);
double db_get_double(const struct db_rows *rows, int row, int column);
uint64_t db_get_binary(const struct db_rows *rows, int row, int column);
/* First column of the one row as JSON: new reference in *out. No row or null: ERR_NOT_FOUND. */
enum err db_json(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                 json_t **out, struct fault *f);
/* First column of the one row, raw bytes (bytea or text), appended to `out`; same ERR_NOT_FOUND. */
enum err db_read_bytes(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                       struct buf *out, struct fault *f);
/* BEGIN, fn, COMMIT; rolls back if fn fails; retries the whole on serialization failure and
 * deadlock, so fn must be repeatable. A lost connection at COMMIT is ERR_DATABASE: the outcome is
 * unknown. */
enum err db_tx(struct db *db, enum err (*fn)(struct db *db, void *arg, struct fault *f), void *arg,
               struct fault *f);

#endif
