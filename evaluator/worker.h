/* SPDX-License-Identifier: Apache-2.0
 * The worker: takes jobs one after the other from the lanes of its device, evaluates each in a child,
 * delivers. SQL and processes; no CUDA and no foreign code in this process. A worker of a GPU keeps a
 * keeper running and takes no job while there is none that is well; while one job is on the GPU, it has
 * the next one compiled. */
#ifndef EVALUATOR_WORKER_H
#define EVALUATOR_WORKER_H

#include "core/arch.h"

struct worker_config {
    const char *database; /* conninfo */
    const char *home;     /* home_dir() */
    const char *device;   /* "cpu", "cuda:0" */
    const struct archs *archs;
    const char *evaluator; /* NULL: this program in its role `evaluate`; else a program for tests */
    int lease_ms, beat_ms, poll_ms, reap_ms;
    int exit_when_idle; /* stop when nothing is queued: for tests and benches */
};

/* Runs until SIGTERM or SIGINT (drain: finish the job in hand; a second one gives it back). A
 * database that goes away ends the session: the child is killed, everything is dropped, and the
 * worker starts from nothing with a growing pause; its lease runs out by itself. Returns ERR_NONE
 * after a drain, ERR_CONFLICT if the schema is not the one of this program. */
enum err worker_run(const struct worker_config *config, struct fault *f);

#endif
