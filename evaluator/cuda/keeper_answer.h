/* SPDX-License-Identifier: Apache-2.0
 * What an answer of a runner or verifier (evaluator/wire.h) means for the submission. Pure: a
 * process that has run foreign code may say anything. */
#ifndef EVALUATOR_CUDA_KEEPER_ANSWER_H
#define EVALUATOR_CUDA_KEEPER_ANSWER_H

#include <jansson.h>
#include <stdbool.h>

#include "core/words.h"
#include "core/err.h"

/* How an operation ended. `{0}` is PASSED. */
struct keeper_end {
    enum verdict verdict;
    unsigned flags; /* set of FLAG_… */
    char detail[LIMIT_DETAIL];
    json_t *fault; /* for report.faults; owned, may be NULL */
    bool sick;     /* the keeper has lost its context */
};
void keeper_end_release(struct keeper_end *end);

/* Sets verdict and sentence; returns false. */
__attribute__((format(printf, 3, 4))) bool
keeper_end_set(struct keeper_end *end, enum verdict verdict, const char *fmt, ...);

/* True if the answer says "ok"; else `end` has what its fault means: RUNTIME_ERROR, LAUNCH_ERROR,
 * TIMEOUT or INFRA_ERROR. */
bool keeper_answer_judge(const json_t *answer, struct keeper_end *end);

/* Reads exactly `count` times in microseconds, each over 0 and under an hour. False if it holds
 * anything else. */
bool keeper_answer_times(const json_t *list, double *us, size_t count);

#endif
