/* SPDX-License-Identifier: Apache-2.0
 * Floating point on single values: bits, flushing, NaNs, and narrowing to any small format in any
 * rounding mode. Pure. */
#ifndef EVALUATOR_PTXVM_FLOATS_H
#define EVALUATOR_PTXVM_FLOATS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum rounding { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP, ROUND_AWAY /* ties away: .rna */ };

/* A binary format below double: sign, exponent, mantissa. `finite`: no infinities, one NaN (e4m3).
 */
struct float_format {
    int exponent_bits, mantissa_bits;
    bool finite;
    uint32_t nan; /* canonical */
};

extern const struct float_format format_f32, format_f16, format_bf16, format_tf32, format_e4m3,
    format_e5m2;

/* Nearest value of the format in the given direction. `saturate` gives the greatest finite value
 * instead of infinity (or of NaN where the format has none). NaN gives the canonical NaN. */
uint32_t float_narrow(double v, const struct float_format *format, enum rounding rounding,
                      bool saturate);
double float_widen(uint32_t bits, const struct float_format *format);

/* a + b rounded to odd: exact enough for one more rounding to at most 51 bits in any mode. */
double float_add_odd(double a, double b);

#define NAN_F32 UINT32_C(0x7fffffff)

static inline uint32_t f32_bits(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static inline float f32_from(uint32_t u)
{
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static inline uint64_t f64_bits(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

static inline double f64_from(uint64_t u)
{
    double v;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* Subnormals become zeros of their sign. */
static inline float f32_flush(float v)
{
    uint32_t u = f32_bits(v);
    return f32_from(u & 0x7f800000 ? u : u & 0x80000000);
}

/* The hardware's NaN. */
static inline float f32_canonical(float v)
{
    return f32_from(v != v ? NAN_F32 : f32_bits(v));
}

/* The same for a double made narrower: the sign of a NaN stays. */
static inline float f32_narrow(double v)
{
    float f = (float)v;
    return f32_from(f != f ? (f32_bits(f) & 0x80000000) | NAN_F32 : f32_bits(f));
}

/* [0, 1]; NaN and negative zero give +0. */
static inline float f32_saturate(float v)
{
    return v > 0 ? (v < 1 ? v : 1) : 0;
}

static inline double f64_saturate(double v)
{
    return v > 0 ? (v < 1 ? v : 1) : 0;
}

static inline float bf16_widen(uint32_t bits)
{
    return f32_from(bits << 16);
}

/* To nearest even; NaN gives 0x7fff. */
static inline uint32_t bf16_nearest(float v)
{
    uint32_t u = f32_bits(v);
    uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return v != v ? 0x7fff : rounded;
}

static inline float f16_widen(uint32_t h)
{
    /* Exponent and mantissa moved up, then the difference of the biases multiplied in: that makes
     * subnormals normal too. Infinity and NaN get their exponent back by hand. */
    uint32_t magnitude = (h & 0x7fff) << 13;
    uint32_t u = f32_bits(f32_from(magnitude) * f32_from(0x77800000));
    u = (h & 0x7c00) == 0x7c00 ? magnitude | 0x7f800000 : u;
    return f32_from(u > 0x7f800000 ? NAN_F32 : u | (h & 0x8000) << 16);
}

/* To nearest even; NaN gives 0x7fff. */
static inline uint32_t f16_nearest(float v)
{
    uint32_t u = f32_bits(v), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    /* Normal results: round at bit 13 and shift the bias. Subnormal ones: adding 0.5 puts the unit
     * of the result at the last bit of the sum, which rounds by itself. */
    uint32_t normal = (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13;
    uint32_t subnormal = f32_bits(f32_from(a) + 0.5f) - 0x3f000000;
    uint32_t h = a < 0x38800000 ? subnormal : normal;
    h = a >= 0x477ff000 ? 0x7c00 : h;
    return a > 0x7f800000 ? 0x7fff : h | sign;
}

#endif
