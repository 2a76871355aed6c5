/* SPDX-License-Identifier: Apache-2.0
 * What of a check needs no submission: inputs and the oracle's answers, made while the submission
 * is still being compiled. Nobody can read an answer while the submission runs: its pages have no
 * access until its own trial is judged, so that not even an error of the executor could hand it to
 * a kernel. */
#ifndef EVALUATOR_CHECK_AHEAD_H
#define EVALUATOR_CHECK_AHEAD_H

#include "evaluator/check_tensors.h"

enum {
    CHECK_AHEAD_BYTES = 64 << 20 /* of inputs and answers; a larger workload is not prepared */
};

struct check_ahead;

/* All trials of `request`, which needs neither plan nor module yet; problem and workload must
 * outlive it. NULL: it is too large, or something failed, which the check will meet again and tell.
 */
struct check_ahead *check_ahead_make(const struct check_request *request);
void check_ahead_free(struct check_ahead *a); /* NULL is fine */

/* Copies the inputs of a trial, derived ones too. */
void check_ahead_inputs(const struct check_ahead *a, size_t trial, struct tensors *to);
/* Opens the answer of a trial. It stays the preparation's: tensors_release() leaves it alone.
 * False: it cannot be opened. */
bool check_ahead_open(struct check_ahead *a, size_t trial, struct tensors *answer);
/* Forgets it. */
void check_ahead_close(struct check_ahead *a, size_t trial);

#endif
