/* SPDX-License-Identifier: Apache-2.0
 * Where a tensor is wrong, from the sums of its parts: which matrices, which rows of tiles in each,
 * and how the error runs along rows and columns. For hints; no verdict depends on it. */
#ifndef EVALUATOR_COMPARE_WHERE_H
#define EVALUATOR_COMPARE_WHERE_H

#include "evaluator/compare_parts.h"

/* Error relative to the oracle up to which "less precise" is a better guess than "wrong". */
#define COMPARE_WRONG 0.02

/* Pure. With fewer rows in `p` than the tensor has, right_rows stays 0. */
struct compare_where compare_where(const struct compare_parts *p);

#endif
