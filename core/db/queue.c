// SPDX-License-Identifier: Apache-2.0
// Thin calls of sql/functions/queue.sql, evaluation.sql and worker.sql.
#include "core/db/queue.h"

#include <stdlib.h>
#include <string.h>

void job_release_memory(struct job *j)
{
    free(j->request);
    *j = (struct job){0};
}

static enum err job_read(const struct db_rows *rows, struct job *j, struct fault *f)
{
    *j = (struct job){.id = db_get_int(rows, 0, 0),
                      .attempt = (int)db_get_int(rows, 0, 1),
                      .max_attempts = (int)db_get_int(rows, 0, 2),
                      .evaluation_id = db_get_int(rows, 0, 3),
                      .timeout_s = (int)db_get_int(rows, 0, 6),
                      .request = strdup(db_get(rows, 0, 7))};
    snprintf(j->submission_id, sizeof(j->submission_id), "%s", db_get(rows, 0, 4));
    snprintf(j->lane, sizeof(j->lane), "%s", db_get(rows, 0, 5));
    return j->request ? ERR_NONE : fault_set(f, ERR_NO_MEMORY, "cannot hold the request of a job");
}

enum err queue_claim(struct db *db, const char *worker, const char *lanes, int lease_ms,
                     struct job *j, bool *got, struct fault *f)
{
    struct db_rows rows;
    enum err e = db_run(db, STMT_JOB_CLAIM,
                        DB_ARGS(db_text(worker), db_text(lanes), db_int(lease_ms)), &rows, f);
    *got = e == ERR_NONE && rows.count == 1;
    if (*got)
        e = job_read(&rows, j, f);
    db_rows_release(&rows);
    return e;
}

enum err queue_heartbeat(struct db *db, const struct job *j, int lease_ms, bool *mine, bool *cancel,
                         struct fault *f)
{
    struct db_rows rows;
    enum err e = db_run(db, STMT_JOB_HEARTBEAT,
                        DB_ARGS(db_int(j->id), db_int(j->attempt), db_int(lease_ms)), &rows, f);
    *mine = e == ERR_NONE && rows.count == 1;
    *cancel = *mine && db_get_bool(&rows, 0, 0);
    db_rows_release(&rows);
    return e;
}

/* Runs a statement whose answer is one boolean. */
static enum err ask(struct db *db, enum statement s, const struct db_arg *args, size_t count,
                    bool *yes, struct fault *f)
{
    struct db_rows rows;
    enum err e = db_run(db, s, args, count, &rows, f);
    *yes = e == ERR_NONE && rows.count == 1 && db_get_bool(&rows, 0, 0);
    db_rows_release(&rows);
    return e;
}

enum err queue_release(struct db *db, const struct job *j, bool *mine, struct fault *f)
{
    return ask(db, STMT_JOB_RELEASE, DB_ARGS(db_int(j->id), db_int(j->attempt)), mine, f);
}

enum err queue_fail(struct db *db, const struct job *j, const char *error, bool retry,
                    char state[16], struct fault *f)
{
    struct db_rows rows;
    enum err e = db_run(db, STMT_JOB_FAIL,
                        DB_ARGS(db_int(j->id), db_int(j->attempt), db_text(error), db_bool(retry)),
                        &rows, f);
    const char *now = e == ERR_NONE && rows.count == 1 ? db_get(&rows, 0, 0) : NULL;
    snprintf(state, 16, "%s", now ? now : "");
    db_rows_release(&rows);
    return e;
}

enum err queue_source(struct db *db, const struct job *j, struct buf *out, struct fault *f)
{
    return db_read_bytes(db, STMT_JOB_SOURCE, DB_ARGS(db_int(j->id), db_int(j->attempt)), out, f);
}

enum err queue_event(struct db *db, const struct job *j, const char *kind, const char *data,
                     struct fault *f)
{
    bool mine; /* an event of a lost lease is dropped; the heartbeat will tell */
    return ask(db, STMT_JOB_EVENT,
               DB_ARGS(db_int(j->id), db_int(j->attempt), db_text(kind), db_text(data)), &mine, f);
}

static enum err count_of(struct db *db, enum statement s, int *count, struct fault *f)
{
    struct db_rows rows;
    enum err e = db_run(db, s, DB_NO_ARGS, &rows, f);
    *count = e == ERR_NONE ? (int)db_get_int(&rows, 0, 0) : 0;
    db_rows_release(&rows);
    return e;
}

enum err queue_reap(struct db *db, int *reaped, struct fault *f)
{
    return count_of(db, STMT_JOB_REAP, reaped, f);
}

enum err queue_prune(struct db *db, int *deleted, struct fault *f)
{
    return count_of(db, STMT_PRUNE, deleted, f);
}

enum err queue_worker_start(struct db *db, const struct worker_info *w, struct fault *f)
{
    return db_run(db, STMT_WORKER_START,
                  DB_ARGS(db_text(w->name), db_text(w->host), db_text(w->device),
                          db_text(w->device_uuid), db_text(w->device_model), db_text(w->driver),
                          db_text(w->lanes), db_int(w->lease_ms)),
                  NULL, f);
}

enum err queue_worker_health(struct db *db, const char *name, const char *state, const char *detail,
                             const char *health, struct fault *f)
{
    return db_run(db, STMT_WORKER_HEALTH,
                  DB_ARGS(db_text(name), db_text(state), db_text(detail), db_text(health)), NULL, f);
}

enum err queue_worker_seen(struct db *db, const char *name, struct fault *f)
{
    return db_run(db, STMT_WORKER_SEEN, DB_ARGS(db_text(name)), NULL, f);
}

enum err queue_worker_stop(struct db *db, const char *name, struct fault *f)
{
    return db_run(db, STMT_WORKER_STOP, DB_ARGS(db_text(name)), NULL, f);
}
