/* SPDX-License-Identifier: Apache-2.0
 * cvt of one value between any two scalar types. Pure. */
#ifndef EVALUATOR_PTXVM_CONVERT_H
#define EVALUATOR_PTXVM_CONVERT_H

#include <stdint.h>

#include "evaluator/ptxvm/floats.h"
#include "evaluator/ptxvm/ptx.h"

/* How a value is converted: type it gets, type it has << CVT_FROM, then how to round. */
enum {
    CVT_FROM = 8,
    CVT_MODE = 16, /* enum rounding */
    CVT_FTZ = 1 << 20,
    CVT_SAT = 1 << 21,
    CVT_RELU = 1 << 22,
    CVT_FINITE = 1 << 23,   /* .satfinite */
    CVT_INTEGRAL = 1 << 24, /* .rni .rzi .rmi .rpi */
    CVT_SIGN16 = 1 << 25,   /* signed result in a 16-bit register */
};

static inline enum ptx_type convert_to(uint32_t aux)
{
    return (enum ptx_type)(aux & 0xff);
}

static inline enum ptx_type convert_from(uint32_t aux)
{
    return (enum ptx_type)(aux >> CVT_FROM & 0xff);
}

static inline enum rounding convert_mode(uint32_t aux)
{
    return (enum rounding)(aux >> CVT_MODE & 7);
}

/* Value of bits; results narrower than 64 bits are in the low bits, integers extended by sign. */
uint64_t convert_value(uint64_t bits, uint32_t aux);
/* Clamps a value of integer type `from` to the range of `to`. */
int64_t convert_clamp(int64_t v, enum ptx_type from, enum ptx_type to);
/* Format of a floating-point type below f64 (of an element of a packed one), or NULL. */
const struct float_format *convert_format(enum ptx_type t);

#endif
