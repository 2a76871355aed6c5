/* SPDX-License-Identifier: Apache-2.0
 * The runner's half of evaluator/sanitize.h: in this process, so only confined callers give it foreign
 * code. */
#ifndef EVALUATOR_SANITIZE_RUN_H
#define EVALUATOR_SANITIZE_RUN_H

#include "evaluator/check.h"

/* Runs the plan once on random inputs, without oracle or comparison. {"verdict", "flags": 0, "detail",
 * "skipped": reason | null, "thread_instructions", "findings": [as report.faults]}; new reference. */
json_t *sanitize_run(const struct check_request *request);

#endif
