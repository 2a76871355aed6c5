/* SPDX-License-Identifier: Apache-2.0
 * The job queue as C calls it: one thin call per SQL function of sql/functions/queue.sql. A job's
 * state is about the machinery: a kernel that fails is a job that succeeded. `attempt` is the
 * fencing token of a lease: every call of a worker carries it. */
#ifndef CORE_DB_QUEUE_H
#define CORE_DB_QUEUE_H

#include "core/db/db.h"
#include "core/util.h"

enum { LIMIT_WORKER_NAME = 200, LIMIT_LANES = 16 };

struct job {
    int64_t id;
    int attempt;
    int max_attempts;
    int64_t evaluation_id;
    char submission_id[UUID_TEXT];
    char lane[LIMIT_NAME + 1];
    int timeout_s; /* budget of the work, beside the lease; enforced by the worker */
    char *request; /* submission document, JSON text; owned */
};

void job_release_memory(struct job *j);

/* Claims the next job of any of the lanes (a PostgreSQL array text, "{sm_90a/cpu,sm_100a/cpu}").
 * *got false: nothing to do. */
enum err queue_claim(struct db *db, const char *worker, const char *lanes, int lease_ms,
                     struct job *j, bool *got, struct fault *f);
/* Renews the lease and the worker's sign of life. *mine false: the lease is lost, kill the work. */
enum err queue_heartbeat(struct db *db, const struct job *j, int lease_ms, bool *mine, bool *cancel,
                         struct fault *f);
/* Gives the job back unharmed. *mine false: the lease was lost. */
enum err queue_release(struct db *db, const struct job *j, bool *mine, struct fault *f);
/* The attempt did not deliver: our machinery failed, or the work was killed because the owner
 * cancelled. `state` becomes "queued" (to be retried), "failed", "cancelled", or "" (the lease was
 * lost). */
enum err queue_fail(struct db *db, const struct job *j, const char *error, bool retry,
                    char state[16], struct fault *f);
/* Source of the job's submission, appended to `out`. */
enum err queue_source(struct db *db, const struct job *j, struct buf *out, struct fault *f);
/* Appends one progress event; `data` is JSON text of at most LIMIT_EVENT bytes. */
enum err queue_event(struct db *db, const struct job *j, const char *kind, const char *data,
                     struct fault *f);

/* Takes back what dead workers held; *reaped counts the jobs. Safe by many at once. */
enum err queue_reap(struct db *db, int *reaped, struct fault *f);
/* Deletes old events, finished jobs, keys and dead workers, a bounded number per call. */
enum err queue_prune(struct db *db, int *deleted, struct fault *f);

struct worker_info {
    const char *name; /* host:pid:start-time */
    const char *host;
    const char *device;                              /* "cpu", "cuda:0" */
    const char *device_uuid, *device_model, *driver; /* driver may be NULL */
    const char *lanes;                               /* array text */
    int lease_ms;
};

/* Also when the device has become known, or another. */
enum err queue_worker_start(struct db *db, const struct worker_info *w, struct fault *f);
/* What the worker's device tells of itself. `state`: ok, hot, suspect, out; any but ok pauses the lanes
 * that nobody else serves. `detail` and `health` (JSON text, see evaluator/keeper.h) may be NULL. */
enum err queue_worker_health(struct db *db, const char *name, const char *state, const char *detail,
                             const char *health, struct fault *f);
enum err queue_worker_seen(struct db *db, const char *name, struct fault *f);
enum err queue_worker_stop(struct db *db, const char *name, struct fault *f);

#endif
