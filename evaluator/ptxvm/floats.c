/* SPDX-License-Identifier: Apache-2.0
 * Narrowing with every rounding mode by integer arithmetic on the bits of a double. */
#include "evaluator/ptxvm/floats.h"

#include <math.h>

const struct float_format format_f32 = {8, 23, false, NAN_F32};
const struct float_format format_f16 = {5, 10, false, 0x7fff};
const struct float_format format_bf16 = {8, 7, false, 0x7fff};
const struct float_format format_tf32 = {8, 10, false, 0x3ffff};
const struct float_format format_e4m3 = {4, 3, true, 0x7f};
const struct float_format format_e5m2 = {5, 2, false, 0x7f};

/* Does the kept part go up by one unit? `half`, `rest`: first bit cut, any of the others. */
static bool rounds_up(enum rounding r, bool negative, bool odd, bool half, bool rest)
{
    switch (r) {
    case ROUND_NEAREST:
        return half && (rest || odd);
    case ROUND_AWAY:
        return half;
    case ROUND_UP:
        return !negative && (half || rest);
    case ROUND_DOWN:
        return negative && (half || rest);
    default:
        return false;
    }
}

/* Greatest finite magnitude as bits. */
static uint32_t greatest(const struct float_format *f)
{
    uint32_t all = (UINT32_C(1) << (f->exponent_bits + f->mantissa_bits)) - 1;
    return f->finite ? all - 1 : (all >> f->mantissa_bits << f->mantissa_bits) - 1;
}

static uint32_t overflow(const struct float_format *f, enum rounding r, bool negative,
                         bool saturate)
{
    bool stays = saturate || r == ROUND_ZERO || (r == ROUND_DOWN && !negative) ||
                 (r == ROUND_UP && negative);
    return stays ? greatest(f) : f->finite ? f->nan : greatest(f) + 1;
}

uint32_t float_narrow(double v, const struct float_format *f, enum rounding r, bool saturate)
{
    if (isnan(v))
        return f->nan;
    uint64_t u = f64_bits(v);
    bool negative = u >> 63;
    uint32_t sign = (uint32_t)negative << (f->exponent_bits + f->mantissa_bits);
    if (isinf(v))
        return sign | (saturate || f->finite ? overflow(f, ROUND_NEAREST, negative, saturate)
                                             : greatest(f) + 1);
    int exponent = (int)(u >> 52 & 0x7ff) - 1023;
    uint64_t mantissa =
        (u & ((UINT64_C(1) << 52) - 1)) | (exponent > -1023 ? UINT64_C(1) << 52 : 0);
    if (mantissa == 0)
        return sign;
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    int lowest = 1 - bias; /* exponent of normal numbers, at least */
    int cut = 52 - f->mantissa_bits + (exponent < lowest ? lowest - exponent : 0);
    cut = cut > 62 ? 62 : cut;
    uint64_t kept = mantissa >> cut, gone = mantissa & ((UINT64_C(1) << cut) - 1);
    bool half = gone >> (cut - 1) & 1, rest = gone & ((UINT64_C(1) << (cut - 1)) - 1);
    kept += rounds_up(r, negative, kept & 1, half, rest);
    /* A carry into the exponent comes out right because the fields are adjacent. */
    uint64_t biased = exponent < lowest ? 0 : (uint64_t)(exponent - lowest);
    uint64_t bits = (biased << f->mantissa_bits) + kept;
    if (bits > greatest(f))
        bits = overflow(f, r, negative, saturate);
    return sign | (uint32_t)bits;
}

double float_widen(uint32_t bits, const struct float_format *f)
{
    uint32_t magnitude = bits & ((UINT32_C(1) << (f->exponent_bits + f->mantissa_bits)) - 1);
    bool negative = bits >> (f->exponent_bits + f->mantissa_bits) & 1;
    uint32_t mantissa = magnitude & ((UINT32_C(1) << f->mantissa_bits) - 1);
    int exponent = (int)(magnitude >> f->mantissa_bits);
    double v;
    if (magnitude > greatest(f))
        v = !f->finite && mantissa == 0 ? (double)INFINITY : (double)NAN;
    else {
        int bias = (1 << (f->exponent_bits - 1)) - 1;
        uint32_t whole = mantissa | (exponent ? UINT32_C(1) << f->mantissa_bits : 0);
        v = ldexp(whole, (exponent ? exponent : 1) - bias - f->mantissa_bits);
    }
    return negative ? -v : v;
}

double float_add_odd(double a, double b)
{
    double sum = a + b;
    if (!isfinite(sum))
        return sum;
    /* The exact error of the sum (Knuth). */
    double shadow = sum - a;
    double error = (a - (sum - shadow)) + (b - shadow);
    if (error == 0 || (f64_bits(sum) & 1))
        return sum;
    /* Even and inexact: the neighbour on the side of the error is odd. */
    bool up = (error > 0) == (sum > 0);
    return f64_from(up ? f64_bits(sum) + 1 : f64_bits(sum) - 1);
}
