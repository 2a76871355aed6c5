/* SPDX-License-Identifier: Apache-2.0
 * One job in the worker's hand: from the claimed row to the delivered result. */
#ifndef EVALUATOR_WORKER_JOB_H
#define EVALUATOR_WORKER_JOB_H

#include "core/db/store.h"
#include "evaluator/keeper.h"
#include "evaluator/worker.h"
#include "evaluator/worker_child.h"

/* Why its child was killed by us. */
enum worker_stop {
    STOP_NONE,
    STOP_CANCELLED,
    STOP_LEASE_LOST,
    STOP_BUDGET,
    STOP_RELEASE,
    STOP_BAD_OUTPUT
};

struct worker_job {
    bool busy;
    struct job job;
    struct worker_child child;
    enum worker_stop stop;
    char stop_detail[LIMIT_DETAIL];
    int64_t started, budget_end; /* now_ms() */
    int events;                  /* written so far */
    unsigned generation;         /* of the keeper that it was given */
    bool on_device;              /* it is compiled: its check has begun, or waits for the keeper */
    bool device_failed;          /* how it ended speaks against the device's keeper; detail says how */
    char device_detail[LIMIT_DETAIL];
    struct buf report, ptx, cubin, log;
    struct db *db; /* borrowed */
};

/* w->job was just claimed: fetches the source and starts the child, with a connection to the keeper if
 * the device has one. If the child cannot be started the job is failed at once; an error is one of the
 * database. */
enum err worker_job_start(struct worker_job *w, struct db *db, const struct worker_config *config,
                          struct keeper *keeper, struct fault *f);

/* Kills the child; the job is settled when it has ended. The first reason counts. */
void worker_job_stop(struct worker_job *w, enum worker_stop why);

/* Moves frames; when the child has ended, settles the job: busy is false afterwards. */
enum err worker_job_advance(struct worker_job *w, struct fault *f);

/* Drops everything, killing the child: the lease runs out by itself. */
void worker_job_release(struct worker_job *w);

#endif
