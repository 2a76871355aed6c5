// SPDX-License-Identifier: Apache-2.0
// Element types and conversions of single elements. Every narrowing rounds once, to nearest even,
// straight from the double: rounding through float first would round twice. Knows no tensors.
#include "core/dtype.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    bool is_float;
} rows[DTYPE_COUNT] = {
#define DTYPE(name, bytes, ptx, is_float) {#name, bytes, is_float},
#include "core/dtypes.def"
#undef DTYPE
};

const char *dtype_name(enum dtype t)
{
    return rows[t].name;
}

size_t dtype_bytes(enum dtype t)
{
    return rows[t].bytes;
}

bool dtype_is_float(enum dtype t)
{
    return rows[t].is_float;
}

int dtype_find(const char *name)
{
    for (int t = 0; t < DTYPE_COUNT; t++)
        if (!strcmp(rows[t].name, name))
            return t;
    return -1;
}

/* The 16-bit float with `mantissa` stored bits that is nearest to v; ties go to the even one. */
static uint16_t narrow(double v, int mantissa)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int top = (1 << (15 - mantissa)) - 1, bias = top >> 1, shift = 52 - mantissa;
    uint16_t infinity = (uint16_t)(top << mantissa);

    if (exponent == 0x7ff) {
        uint16_t quiet_nan = (uint16_t)(1 << (mantissa - 1) | fraction >> shift);
        return sign | infinity | (fraction ? quiet_nan : 0);
    }
    int biased = exponent - 1023 + bias;
    if (biased >= top)
        return sign | infinity;
    uint64_t significand = fraction | UINT64_C(1) << 52;
    uint64_t base = (uint64_t)(biased - 1) << mantissa; /* the hidden bit adds the missing one */
    if (biased <= 0) { /* subnormal: no hidden bit, a longer shift */
        base = 0;
        shift += 1 - biased;
        if (shift > 53)
            return sign; /* under half of the least subnormal, double subnormals included */
    }
    uint64_t kept = significand >> shift, half = UINT64_C(1) << (shift - 1);
    uint64_t rest = significand & ((half << 1) - 1);
    if (rest > half || (rest == half && (kept & 1)))
        kept++; /* a carry runs into the exponent, and from the largest finite value into infinity
                 */
    return sign | (uint16_t)(base + kept);
}

uint16_t f16_from_double(double v)
{
    return narrow(v, 10);
}

uint16_t bf16_from_double(double v)
{
    return narrow(v, 7);
}

uint16_t bf16_from_float(float v)
{
    return narrow((double)v, 7); /* widening is exact */
}

double f16_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    double v;
    if (exponent == 0x1f)
        v = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent)
        v = ldexp(1024 + fraction, exponent - 25);
    else
        v = ldexp(fraction, -24);
    return bits & 0x8000 ? -v : v;
}

float bf16_to_float(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float v;
    memcpy(&v, &wide, sizeof(v));
    return v;
}

/* Element i of an array of T, wherever it lies: arrays from foreign bytes need not be aligned. */
#define LOAD(T)                                                                                    \
    do {                                                                                           \
        T value;                                                                                   \
        memcpy(&value, (const char *)array + i * sizeof(T), sizeof(T));                            \
        return (double)value;                                                                      \
    } while (0)

double dtype_load(enum dtype t, const void *array, size_t i)
{
    uint16_t half;
    switch (t) {
    case DTYPE_f64:
        LOAD(double);
    case DTYPE_f32:
        LOAD(float);
    case DTYPE_f16:
        memcpy(&half, (const char *)array + i * sizeof(half), sizeof(half));
        return f16_to_double(half);
    case DTYPE_bf16:
        memcpy(&half, (const char *)array + i * sizeof(half), sizeof(half));
        return (double)bf16_to_float(half);
    case DTYPE_i64:
        LOAD(int64_t);
    case DTYPE_u64:
        LOAD(uint64_t);
    case DTYPE_i32:
        LOAD(int32_t);
    case DTYPE_u32:
        LOAD(uint32_t);
    case DTYPE_i8:
        LOAD(int8_t);
    case DTYPE_u8:
        LOAD(uint8_t);
    case DTYPE_COUNT:
        break;
    }
    return 0;
}

static int64_t to_signed(double v, int64_t low, int64_t high)
{
    if (isnan(v))
        return 0;
    return v <= (double)low ? low : v >= (double)high ? high : (int64_t)v;
}

static uint64_t to_unsigned(double v, uint64_t high)
{
    if (!(v > 0))
        return 0;
    return v >= (double)high ? high : (uint64_t)v;
}

#define STORE(T, expression)                                                                       \
    do {                                                                                           \
        T value = (T)(expression);                                                                 \
        memcpy((char *)array + i * sizeof(T), &value, sizeof(T));                                  \
        return;                                                                                    \
    } while (0)

void dtype_store(enum dtype t, void *array, size_t i, double v)
{
    switch (t) {
    case DTYPE_f64:
        STORE(double, v);
    case DTYPE_f32:
        STORE(float, v);
    case DTYPE_f16:
        STORE(uint16_t, f16_from_double(v));
    case DTYPE_bf16:
        STORE(uint16_t, bf16_from_double(v));
    case DTYPE_i64:
        STORE(int64_t, to_signed(v, INT64_MIN, INT64_MAX));
    case DTYPE_u64:
        STORE(uint64_t, to_unsigned(v, UINT64_MAX));
    case DTYPE_i32:
        STORE(int32_t, to_signed(v, INT32_MIN, INT32_MAX));
    case DTYPE_u32:
        STORE(uint32_t, to_unsigned(v, UINT32_MAX));
    case DTYPE_i8:
        STORE(int8_t, to_signed(v, INT8_MIN, INT8_MAX));
    case DTYPE_u8:
        STORE(uint8_t, to_unsigned(v, UINT8_MAX));
    case DTYPE_COUNT:
        break;
    }
}
