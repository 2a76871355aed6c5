/* SPDX-License-Identifier: Apache-2.0
 * The keeper of `ptxbench eval` on a GPU: one for all that a command evaluates. It starts while the
 * first source is compiled. */
#ifndef CLI_EVAL_KEEPER_H
#define CLI_EVAL_KEEPER_H

#include "evaluator/evaluate.h"
#include "evaluator/keeper.h"

struct eval_keeper {
    int ordinal;
    bool running;
    struct keeper keeper;
    struct keeper_access access; /* for evaluation_request */
};

/* Spawns it. ERR_UNAVAILABLE: the program is not there. */
enum err eval_keeper_start(struct eval_keeper *k, int ordinal, struct fault *f);
void eval_keeper_stop(struct eval_keeper *k); /* safe on {0} */

#endif
