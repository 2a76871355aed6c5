/* SPDX-License-Identifier: Apache-2.0
 * From comparisons to a verdict and the report's "check": the rules of evaluator/check.h in one
 * place, for every device. A tally begins as PASSED; the first thing that goes wrong decides. */
#ifndef EVALUATOR_CHECK_TALLY_H
#define EVALUATOR_CHECK_TALLY_H

#include "core/problem.h"
#include "core/words.h"
#include "evaluator/compare.h"
#include "evaluator/inputs.h"

struct check_tally {
    enum verdict verdict;
    unsigned flags;            /* set of FLAG_… */
    char detail[LIMIT_DETAIL]; /* why it is not PASSED */
    bool strict, has_strict;   /* every output so far; is there a strict rule at all? */
    json_t *trials;            /* owned */
};

/* The rule for an output on inputs of a distribution. */
struct compare_rule check_rule(const struct problem *p, size_t tensor,
                               const struct distribution *d);

void check_tally_init(struct check_tally *t);
void check_tally_release(struct check_tally *t);

/* Sets the verdict; returns false. */
__attribute__((format(printf, 3, 4))) bool
check_tally_stop(struct check_tally *t, enum verdict verdict, const char *fmt, ...);

/* Takes in one compared output and appends it to `list`, which may be NULL. `which` goes behind "on
 * normal inputs" in the sentence: "", " in the second run". */
void check_tally_output(struct check_tally *t, const struct compare_task *task,
                        const struct compare_result *r, const struct distribution *d,
                        const char *which, json_t *list);

/* Appends one trial; takes `list`. `runs_agree`: NULL if it ran only once. */
void check_tally_trial(struct check_tally *t, const struct distribution *d, struct seed seed,
                       const bool *runs_agree, json_t *list);

/* The report's "check", NULL if no trial was compared. Raises `loose`. New reference. */
json_t *check_tally_finish(struct check_tally *t);

#endif
