/* SPDX-License-Identifier: Apache-2.0
 * The devices an evaluation can run on. A device is one row: how it is named, and for each stage
 * that depends on it a function, or the reason why this device has none. compile and inspect are
 * the same everywhere and not here. */
#ifndef EVALUATOR_DEVICE_H
#define EVALUATOR_DEVICE_H

#include "core/words.h"
#include "evaluator/stages.h"

struct device {
    const char *prefix; /* "cpu"; "cuda:" */
    const char *model;  /* for people, until a stage knows better: "ptxvm" */
    /* What can go on while the submission is compiled, for its check; NULL: nothing. Says nothing when it
     * fails: the check tries again. */
    void (*begin)(struct evaluating *e);
    struct {
        stage_function *run;
        const char *missing; /* why there is no `run` */
    } stages[STAGE_COUNT];
};

/* The row for "cpu", "cuda:0", …, or NULL. */
const struct device *device_find(const char *name);

/* N of "cuda:N"; -1: this device has no keeper. */
int device_ordinal(const char *name);

#endif
