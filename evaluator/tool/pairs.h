/* SPDX-License-Identifier: Apache-2.0
 * What sampled CTAs wrote, held against the CTAs of the oracle that make the same elements. Where
 * the candidate wrote much, only some of them are run.
 *
 * Nobody says which elements a CTA should write. An unwritten one is noticed where that is beyond
 * doubt: between two written ones of its row that are nearer than a sector of memory, for CTAs do
 * not share sectors in pieces. Not noticed is what is missing in larger pieces or at the edge of
 * what a CTA writes: whole rows of a tile, its last columns, a tile; a small workload run whole
 * tells. */
#ifndef EVALUATOR_TOOL_PAIRS_H
#define EVALUATOR_TOOL_PAIRS_H

#include "evaluator/check_tally.h"
#include "evaluator/tool/oracle_part.h"

struct pairs_task {
    const struct world *candidate;
    struct oracle_part *oracle;
    size_t tensor; /* an output */
    const struct distribution *distribution;
    uint64_t seed; /* which CTAs of the oracle */
};

struct pairs_count {
    int64_t written, checked; /* elements */
};

/* Compares, adds to the counts and appends to `list`. False: `why` says what stands in the way. */
bool pairs_judge(const struct pairs_task *task, struct check_tally *tally, json_t *list,
                 struct pairs_count *count, char why[LIMIT_DETAIL]);

#endif
