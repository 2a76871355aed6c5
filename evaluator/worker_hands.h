/* SPDX-License-Identifier: Apache-2.0
 * The jobs a worker has in hand: one on the device, and on a GPU one that is compiled meanwhile. */
#ifndef EVALUATOR_WORKER_HANDS_H
#define EVALUATOR_WORKER_HANDS_H

#include "evaluator/worker_job.h"

enum { HANDS = 2, HANDS_FDS = HANDS * WORKER_CHILD_FDS };

struct worker_hands {
    struct worker_job job[HANDS];
};

int hands_busy(const struct worker_hands *h);
bool hands_compile(const struct worker_hands *h); /* is one of them not on the device yet? */
bool hands_hold(const struct worker_hands *h, int64_t job);
struct worker_job *hands_free(struct worker_hands *h); /* NULL: none */

void hands_fds(const struct worker_hands *h, struct pollfd fds[HANDS_FDS]);
void hands_stop(struct worker_hands *h, enum worker_stop why);

/* The earliest end of a budget, INT64_MAX: none; stops jobs that are past theirs. */
int64_t hands_budget_end(const struct worker_hands *h);
void hands_stop_overdue(struct worker_hands *h);

/* A budget is for work, not for waiting until the job before has left the device: begins them anew. */
void hands_begin_budgets(struct worker_hands *h);

void hands_release(struct worker_hands *h);

#endif
