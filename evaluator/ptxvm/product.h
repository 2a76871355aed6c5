/* SPDX-License-Identifier: Apache-2.0
 * Products of small matrices element by element, for the shapes and types that are too rare to be
 * made fast: wmma, and mma.sync of f64, 4-bit and 1-bit elements. Pure. */
#ifndef EVALUATOR_PTXVM_PRODUCT_H
#define EVALUATOR_PTXVM_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "evaluator/ptxvm/ptx.h"

enum { PRODUCT_MAX = 16 * 256 /* elements of a matrix */ };

/* D = A B + C. Types are enum ptx_type. */
struct product {
    uint8_t m, n;
    uint16_t k : 10, flags : 6; /* PRODUCT_… */
    uint8_t d, a, b, c;
};

_Static_assert(sizeof(struct product) == sizeof(int64_t), "a product is kept in op->imm");

enum {
    PRODUCT_SATURATE = 1, /* 32-bit integers */
    PRODUCT_XOR = 2,      /* of bits, instead of and */
    PRODUCT_ROUNDING = 4, /* shift: enum rounding of f64 sums, 0 to 3 */
    PRODUCT_MODE = 3,
};

union product_element {
    float f;
    double d;
    uint32_t i;
};

static inline uint32_t product_bits(uint8_t type)
{
    return ptx_type_bits((enum ptx_type)type);
}

/* Fills flags from the words of a form; false: types that are no product. */
bool product_finish(struct product *p, const struct ptx_form *form);
union product_element product_decode(enum ptx_type type, uint64_t bits);
uint64_t product_encode(enum ptx_type type, union product_element v);
/* `sum` holds C and gets D; matrices are dense, by rows. */
void product_run(const struct product *p, const union product_element *a,
                 const union product_element *b, union product_element *sum);

#endif
