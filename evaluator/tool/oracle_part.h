/* SPDX-License-Identifier: Apache-2.0
 * The oracle for some elements only: which of its CTAs make them, and running just those.
 *
 * Nobody says which CTA of an oracle makes which element; it is learnt. One CTA is run and leaves a
 * box; its neighbour along each axis of the grid leaves another; from there boxes are taken to lie
 * in a lattice. That is a guess, and a checked one: an element counts as known only if the CTAs
 * that were run did write it. */
#ifndef EVALUATOR_TOOL_ORACLE_PART_H
#define EVALUATOR_TOOL_ORACLE_PART_H

#include "evaluator/tool/program.h"
#include "evaluator/tool/world.h"

struct oracle_box {
    int64_t low[LIMIT_DIMS];
    bool any;
};

struct oracle_part {
    const struct tool_program *program;
    struct problem as_oracle;
    struct plan *plan;
    struct world world;
    uint64_t grid[3], ctas;
    struct oracle_box origin[LIMIT_TENSORS]; /* what CTA 0 wrote */
    int64_t step[3][LIMIT_TENSORS]
                [LIMIT_DIMS]; /* from a CTA to the next along an axis of the grid */
};

/* Learns the lattice on the inputs of `candidate`, whose inputs it shares. False: `why` says what
 * stands in the way. Close it in any case. */
bool oracle_part_open(struct oracle_part *o, const struct tool_program *p, struct world *candidate,
                      char why[LIMIT_DETAIL]);
void oracle_part_close(struct oracle_part *o);

/* Number of the CTA that should make an element, or UINT64_MAX. */
uint64_t oracle_part_cta(const struct oracle_part *o, size_t tensor, int64_t element);
/* Runs these CTAs; o->world then holds what they made. */
bool oracle_part_run(struct oracle_part *o, const uint64_t *ctas, size_t count,
                     char why[LIMIT_DETAIL]);

#endif
