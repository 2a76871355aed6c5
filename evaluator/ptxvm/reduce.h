/* SPDX-License-Identifier: Apache-2.0
 * What the reducing copies do to an element of memory, atomically with respect to other host
 * threads. */
#ifndef EVALUATOR_PTXVM_REDUCE_H
#define EVALUATOR_PTXVM_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "evaluator/ptxvm/ptx.h"

enum reduce_kind {
    REDUCE_NONE,
    REDUCE_ADD,
    REDUCE_MIN,
    REDUCE_MAX,
    REDUCE_INC,
    REDUCE_DEC,
    REDUCE_AND,
    REDUCE_OR,
    REDUCE_XOR,
};

/* The kind that a form names, or REDUCE_NONE. */
enum reduce_kind reduce_kind_of(const struct ptx_form *form);
/* Is it defined for elements of this type? */
bool reduce_allowed(enum reduce_kind kind, enum ptx_type type);
/* Combines `bytes` bytes of elements at `from` into those at `to`, which is aligned to the element.
 */
void reduce_apply(enum reduce_kind kind, enum ptx_type type, unsigned char *to,
                  const unsigned char *from, uint32_t bytes);

#endif
