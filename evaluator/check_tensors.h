/* SPDX-License-Identifier: Apache-2.0
 * Host memory for the tensors of a workload, and the oracle's answer in it. */
#ifndef EVALUATOR_CHECK_TENSORS_H
#define EVALUATOR_CHECK_TENSORS_H

#include "evaluator/check.h"
#include "evaluator/compare.h"

/* One allocation per tensor of the problem, in ABI order. `{0}` is empty. */
struct tensors {
    const struct problem *problem;
    void *data[LIMIT_TENSORS];   /* owned if in `owned` */
    size_t bytes[LIMIT_TENSORS];
    bool owned[LIMIT_TENSORS];
};

/* Allocates every tensor; with `inputs` given, shares its inputs instead. `problem` must outlive
 * them. */
enum err tensors_init(struct tensors *t, const struct problem *problem, const struct workload *w,
                      const struct tensors *inputs, struct fault *f);
void tensors_release(struct tensors *t);
/* Fills every input. Derived ones get values too, as if they were drawn: good enough for who only
 * watches a kernel, for others tensors_derive_inputs() follows. */
void tensors_draw_inputs(struct tensors *t, const struct workload *w, const struct distribution *d,
                         struct seed seed);
void tensors_poison_outputs(struct tensors *t);

/* Makes the derived inputs, if the problem has any, by the oracle of `request` from the inputs that
 * are drawn. Poisons the outputs. Any failure is ours. */
enum err tensors_derive_inputs(const struct check_request *request, struct tensors *t,
                               struct fault *f);

/* Runs the problem's oracle on the inputs of `from`. `as_oracle` is filled by problem_as_oracle()
 * and belongs to the answer, which the caller releases. Any failure is ours. */
enum err oracle_run(const struct check_request *request, const struct tensors *from,
                    struct problem *as_oracle, struct tensors *answer, struct fault *f);

/* The same into tensors that are there: of that problem, with their inputs. */
enum err oracle_answer(const struct check_request *request, struct tensors *answer, struct fault *f);

/* What compare() needs to hold output i of `got` against `want`. `shape` must live with the
 * task. */
struct compare_task tensors_task(const struct tensors *got, const struct tensors *want,
                                 const struct workload *w, const struct distribution *d, size_t i,
                                 int64_t shape[LIMIT_DIMS]);

#endif
