/* SPDX-License-Identifier: Apache-2.0
 * What a process that ran foreign code says about it: the same frames from ptxbench-runner and from a
 * keeper. Any number of FRAME_EVENT (progress), FRAME_LOG (what kernels printed), FRAME_CAPTURE, then
 * one FRAME_RESULT {"verdict", "flags": bits, "detail", … members of the report}. */
#ifndef EVALUATOR_OUTCOME_H
#define EVALUATOR_OUTCOME_H

#include <jansson.h>

#include "core/frame.h"
#include "core/words.h"

struct outcome {
    enum verdict verdict;
    unsigned flags; /* set of FLAG_… */
    char detail[LIMIT_DETAIL];
    json_t *json; /* the result frame; NULL if there was none; owned */
    struct buf log, capture;
};

/* Progress of who answers: borrowed. */
typedef void outcome_progress(void *arg, const json_t *event);

/* Starts as INFRA_ERROR, since nothing was said yet. */
void outcome_init(struct outcome *o);
void outcome_release(struct outcome *o); /* safe on {0} */

/* Takes one frame. False: nothing that belongs here. `progress` may be NULL. */
bool outcome_take(struct outcome *o, const struct frame *frame, outcome_progress *progress, void *arg);

/* Reads verdict, flags and detail out of the result frame. False: there is none, or it has none. */
bool outcome_read(struct outcome *o);

/* It said nothing usable: drops the result frame. */
void outcome_give_up(struct outcome *o, enum verdict verdict, const char *detail);

#endif
