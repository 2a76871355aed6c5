/* SPDX-License-Identifier: Apache-2.0
 * The tensors of a workload that is too large to fill: every element of an input is a function of
 * its place, so a part exists once somebody looks at it; outputs are poison until written. */
#ifndef EVALUATOR_TOOL_WORLD_H
#define EVALUATOR_TOOL_WORLD_H

#include "evaluator/inputs.h"
#include "evaluator/tool/lazy.h"

/* How the elements of one tensor come into being. */
struct world_fill {
    struct seed seed;
    const struct distribution *distribution;
    unsigned tensor;
    enum dtype dtype;
};

struct world {
    const struct problem *problem; /* borrowed */
    const struct workload *workload;
    struct lazy *lazy[LIMIT_TENSORS]; /* NULL: shared with another world */
    void *data[LIMIT_TENSORS];
    struct world_fill fills[LIMIT_TENSORS];
};

/* With `inputs` given, shares its inputs. Does not move afterwards: its own memory points into it.
 */
enum err world_open(struct world *w, const struct problem *problem, const struct workload *workload,
                    struct world *inputs, struct fault *f);
void world_close(struct world *w);
/* Everything untouched again, and inputs of this distribution from now on. */
void world_draw(struct world *w, const struct distribution *d, struct seed seed);

/* Calls visit for each element of output `tensor` that is no longer poison, in order. */
void world_written(const struct world *w, size_t tensor, void (*visit)(void *arg, int64_t element),
                   void *arg);
bool world_is_written(const struct world *w, size_t tensor, int64_t element);

/* The next number of a sequence, for drawing what to look at. */
uint64_t world_random(uint64_t *state);

#endif
