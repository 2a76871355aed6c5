/* SPDX-License-Identifier: Apache-2.0
 * Guesses at why an output is wrong, cheap enough to make every time. They are words for the
 * person or agent who repairs the kernel; no verdict depends on them. */
#ifndef EVALUATOR_COMPARE_HINTS_H
#define EVALUATOR_COMPARE_HINTS_H

#include "evaluator/compare.h"

/* Fills r->hints from the tensors and the finished result. Pure. */
void compare_hints(const struct compare_task *task, struct compare_result *r);

#endif
