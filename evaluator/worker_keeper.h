/* SPDX-License-Identifier: Apache-2.0
 * The keeper of a worker's GPU (evaluator/keeper.h), kept running: started, listened to, and started
 * again with a growing pause when it ends, hangs at its start, or is said to be sick. Driven from the
 * worker's poll loop. A worker of the device cpu has ordinal -1 and none of this. */
#ifndef EVALUATOR_WORKER_KEEPER_H
#define EVALUATOR_WORKER_KEEPER_H

#include <stdbool.h>

#include "evaluator/keeper.h"

struct worker_keeper {
    int ordinal; /* -1: there is no keeper */
    bool running;
    struct keeper keeper;
    char detail[LIMIT_DETAIL]; /* while it is not ready: why */
    int64_t due;               /* now_ms(): to start, or, while it starts, to be ready */
    int64_t ready_since;
    int failures;              /* in a row */
    unsigned generation;       /* counts the keepers there were */
    unsigned changes;          /* counts whatever the database should hear of */
};

void worker_keeper_init(struct worker_keeper *k, int ordinal);
void worker_keeper_stop(struct worker_keeper *k);

/* Does what is due; never waits, but for a keeper that must be ended. */
void worker_keeper_turn(struct worker_keeper *k);

/* When worker_keeper_turn() has something to do even if nothing is readable; INT64_MAX: never. */
int64_t worker_keeper_due(const struct worker_keeper *k);
int worker_keeper_fd(const struct worker_keeper *k); /* readable: it said something; -1: none */

/* May jobs be taken? */
bool worker_keeper_serves(const struct worker_keeper *k);

/* "ok", "hot", "suspect", "out", for the table of devices, and why, or NULL. */
const char *worker_keeper_state(const struct worker_keeper *k, const char **detail);

/* The keeper of that generation failed in a job: ends it, starts another. */
void worker_keeper_blame(struct worker_keeper *k, unsigned generation, const char *why);

#endif
