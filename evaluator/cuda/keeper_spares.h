/* SPDX-License-Identifier: Apache-2.0
 * Processes started ahead of the submission that will use them, since a context on the device takes
 * a large part of a second. Each is used once. There are two of a role: a submission that follows
 * another at once finds one although the other's has not been replaced yet, and so does the second
 * launch of a plan, whose instructions a second verifier counts. */
#ifndef EVALUATOR_CUDA_KEEPER_SPARES_H
#define EVALUATOR_CUDA_KEEPER_SPARES_H

#include "evaluator/cuda/keeper_child.h"

enum keeper_role { KEEPER_RUNNER, KEEPER_VERIFIER, KEEPER_ROLES };
enum { KEEPER_SPARES = 2 }; /* of each; a context of 0.5 GB each */

struct keeper_spares {
    int ordinal;
    struct keeper_child children[KEEPER_ROLES][KEEPER_SPARES];
};

void keeper_spares_init(struct keeper_spares *s, int ordinal);
void keeper_spares_stop(struct keeper_spares *s);

/* Starts what is missing; does not wait. */
void keeper_spares_start(struct keeper_spares *s);
/* Has all that was started said that it is ready, or ended? Does not wait. */
bool keeper_spares_ready(struct keeper_spares *s);
/* Waits until what was started is ready or has failed: nothing may start while something is timed.
 */
void keeper_spares_settle(struct keeper_spares *s, const struct keeper_watch *watch);
/* Hands one over, ready; `out` is then the caller's. */
bool keeper_spares_take(struct keeper_spares *s, enum keeper_role role,
                        const struct keeper_watch *watch, struct keeper_child *out,
                        struct keeper_end *end);

#endif
