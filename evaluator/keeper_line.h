/* SPDX-License-Identifier: Apache-2.0
 * One connection to a keeper (evaluator/keeper.h) as a submission's stage driver uses it: asks, waits
 * without being deaf to a cancellation, and turns whatever becomes of the keeper into an outcome. */
#ifndef EVALUATOR_KEEPER_LINE_H
#define EVALUATOR_KEEPER_LINE_H

#include "evaluator/outcome.h"

struct keeper_line;

/* What to wait with, and for how long. */
struct keeper_wait_spec {
    int64_t silence_ms;        /* the keeper is hung if it says nothing for so long; 0: wait for ever */
    outcome_progress *progress; /* may be NULL */
    bool (*tick)(void *arg);   /* asked ten times a second; false stops: CANCELLED. May be NULL */
    void *arg;
};

/* Takes over the descriptor. NULL: out of memory (the descriptor is closed). */
struct keeper_line *keeper_line_new(int fd);
void keeper_line_free(struct keeper_line *line); /* closes; NULL is fine */

/* Sends `request` and, if given, a cubin; waits for the result. The outcome is initialised here, released
 * by the caller. INFRA_ERROR: the keeper is gone, hung, sick, or says what makes no sense; after that
 * the line is of no more use. */
void keeper_line_ask(struct keeper_line *line, const json_t *request, const struct buf *cubin,
                     const struct keeper_wait_spec *spec, struct outcome *out);

#endif
