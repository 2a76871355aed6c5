/* SPDX-License-Identifier: Apache-2.0
 * Elements of matrix operands: what the tensor instructions multiply. */
#ifndef EVALUATOR_PTXVM_MATRIX_H
#define EVALUATOR_PTXVM_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "evaluator/ptxvm/ptx.h"

enum matrix_element {
    MATRIX_F16,
    MATRIX_BF16,
    MATRIX_TF32, /* in 32 bits, of which the lower 13 are ignored */
    MATRIX_E4M3,
    MATRIX_E5M2,
    MATRIX_S8,
    MATRIX_U8,
    MATRIX_ELEMENTS
};

/* False for a type that is no matrix element. */
bool matrix_element_of(enum ptx_type type, enum matrix_element *out);

static inline uint32_t matrix_bytes(enum matrix_element e)
{
    return e == MATRIX_TF32 ? 4 : e <= MATRIX_BF16 ? 2 : 1;
}

static inline bool matrix_is_integer(enum matrix_element e)
{
    return e >= MATRIX_S8;
}

/* Decodes `count` elements: to the bits of a float, which holds every value of the floating-point
 * elements exactly, or to a 32-bit integer. */
void matrix_decode(enum matrix_element e, const void *from, uint32_t count, uint32_t *to);

#endif
