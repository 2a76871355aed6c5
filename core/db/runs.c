// SPDX-License-Identifier: Apache-2.0
// Runs as the API reads and changes them: thin calls of sql/functions/runs.sql and its neighbours.
#include "core/db/runs.h"

#include "core/util.h"

enum { IMPORT_MS = 60 * 1000 };

static struct db_arg number(double v)
{
    struct db_arg a = {0};
    snprintf(a.number, sizeof(a.number), "%.17g", v);
    return a;
}

enum err runs_create(struct db *db, int64_t owner, const char *document, int open_limit,
                     json_t **out, struct fault *f)
{
    char id[UUID_TEXT];
    uuid7(id);
    return db_json(db, STMT_RUN_CREATE,
                   DB_ARGS(db_text(id), db_int(owner), db_text(document), db_int(open_limit)), out,
                   f);
}

enum err runs_list(struct db *db, const struct run_filter *q, int64_t viewer, json_t **out,
                   struct fault *f)
{
    return db_json(db, STMT_RUN_LIST,
                   DB_ARGS(db_int(q->limit), db_text(q->before), db_int(viewer),
                           db_text(q->problem), db_text(q->model), db_text(q->state),
                           db_text(q->owner)),
                   out, f);
}

enum err runs_get(struct db *db, const char *id, int64_t viewer, json_t **out, struct fault *f)
{
    return db_json(db, STMT_RUN_GET, DB_ARGS(db_text(id), db_int(viewer)), out, f);
}

enum err runs_rev(struct db *db, const char *id, int64_t viewer, json_t **out, struct fault *f)
{
    return db_json(db, STMT_RUN_REV, DB_ARGS(db_text(id), db_int(viewer)), out, f);
}

enum err runs_trajectory(struct db *db, const char *id, int trajectory, int64_t viewer,
                         json_t **out, struct fault *f)
{
    return db_json(db, STMT_RUN_TRAJECTORY,
                   DB_ARGS(db_text(id), db_int(trajectory), db_int(viewer)), out, f);
}

enum err runs_messages(struct db *db, const char *id, int trajectory, int n, int64_t viewer,
                       json_t **out, struct fault *f)
{
    return db_json(db, STMT_RUN_MESSAGES,
                   DB_ARGS(db_text(id), db_int(trajectory), db_int(n), db_int(viewer)), out, f);
}

/* ---- changes: each in a transaction of its own that a deadlock repeats ---- */

struct change {
    enum statement statement;
    const struct db_arg *args;
    size_t count;
    json_t **out;
};

static enum err change_once(struct db *db, void *arg, struct fault *f)
{
    struct change *c = arg;
    json_decref(*c->out); /* of the try before, whose commit failed */
    return db_json(db, c->statement, c->args, c->count, c->out, f);
}

static enum err change(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                       json_t **out, struct fault *f)
{
    struct change c = {.statement = s, .args = args, .count = count, .out = out};
    *out = NULL;
    enum err e = db_tx(db, change_once, &c, f);
    if (e != ERR_NONE) {
        json_decref(*out);
        *out = NULL;
    }
    return e;
}

enum err runs_cancel(struct db *db, const char *id, int64_t viewer, json_t **out, struct fault *f)
{
    return change(db, STMT_RUN_CANCEL, DB_ARGS(db_text(id), db_int(viewer)), out, f);
}

enum err runs_resume(struct db *db, const char *id, int64_t viewer, int64_t max_tokens,
                     double max_usd, json_t **out, struct fault *f)
{
    return change(db, STMT_RUN_RESUME,
                  DB_ARGS(db_text(id), db_int(viewer), db_int(max_tokens), number(max_usd)), out,
                  f);
}

enum err runs_extend(struct db *db, const char *id, int64_t viewer, int turns, double target,
                     json_t **out, struct fault *f)
{
    return change(db, STMT_RUN_EXTEND,
                  DB_ARGS(db_text(id), db_int(viewer), db_int(turns), number(target)), out, f);
}

enum err runs_supervise(struct db *db, const char *id, int trajectory, int n, int64_t viewer,
                        const char *text, json_t **out, struct fault *f)
{
    return change(
        db, STMT_RUN_SUPERVISE,
        DB_ARGS(db_text(id), db_int(trajectory), db_int(n), db_int(viewer), db_text(text)), out, f);
}

/* Tens of megabytes take longer than any other request may. */
static enum err import_once(struct db *db, void *arg, struct fault *f)
{
    enum err e = db_run(db, STMT_TX_TIMEOUT, DB_ARGS(db_int(IMPORT_MS)), NULL, f);
    return e != ERR_NONE ? e : change_once(db, arg, f);
}

enum err runs_import(struct db *db, int64_t owner, const char *document, json_t **out,
                     struct fault *f)
{
    char id[UUID_TEXT];
    uuid7(id);
    const struct db_arg args[] = {db_text(id), db_int(owner), db_text(document)};
    struct change import = {STMT_RUN_IMPORT, args, COUNT_OF(args), out};
    *out = NULL;
    enum err e = db_tx(db, import_once, &import, f);
    if (e != ERR_NONE) {
        json_decref(*out);
        *out = NULL;
    }
    return e;
}
