/* SPDX-License-Identifier: Apache-2.0
 * Is a problem fit to be published? Answers that take no work must not pass it: zeros, ones, the
 * mean of the right answer, a copy of an input, the right answer to other inputs. Benchmarks whose
 * outputs are smaller than their tolerance have accepted all of these. */
#ifndef EVALUATOR_LINT_H
#define EVALUATOR_LINT_H

#include <jansson.h>

#include "core/arch.h"
#include "core/problem.h"

/* Tries every such answer on every distribution, by the paper's rule, at one workload, on the CPU
 * device in this process (the oracle is ours). *rows (owned by the caller): [{"distribution",
 * "answer", "tensor", "bad", "elements", "passes"}]. ERR_INVALID if any answer passes, and the
 * fault names the first. */
enum err problem_lint(const struct problem *p, const struct workload *w, const struct arch *a,
                      json_t **rows, struct fault *f);

#endif
