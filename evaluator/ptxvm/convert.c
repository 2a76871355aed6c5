/* SPDX-License-Identifier: Apache-2.0
 * Conversions go through int64 or double, which hold every source exactly, and are rounded once. */
#include "evaluator/ptxvm/convert.h"

#include <math.h>

/* ---- integers ---- */

static int64_t read_int(enum ptx_type t, uint64_t bits)
{
    switch (t) {
    case PTX_TYPE_u8:
    case PTX_TYPE_b8:
        return (uint8_t)bits;
    case PTX_TYPE_s8:
        return (int8_t)bits;
    case PTX_TYPE_u16:
    case PTX_TYPE_b16:
        return (uint16_t)bits;
    case PTX_TYPE_s16:
        return (int16_t)bits;
    case PTX_TYPE_u32:
    case PTX_TYPE_b32:
        return (uint32_t)bits;
    case PTX_TYPE_s32:
        return (int32_t)bits;
    default:
        return (int64_t)bits;
    }
}

static uint64_t greatest_int(enum ptx_type t)
{
    unsigned bits = ptx_type_bits(t);
    uint64_t all = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    return ptx_type_class(t) == 's' ? all >> 1 : all;
}

int64_t convert_clamp(int64_t v, enum ptx_type from, enum ptx_type to)
{
    bool negative = ptx_type_class(from) == 's' && v < 0, is_signed = ptx_type_class(to) == 's';
    uint64_t max = greatest_int(to);
    if (negative)
        return !is_signed ? 0 : v < -(int64_t)max - 1 ? -(int64_t)max - 1 : v;
    return (uint64_t)v > max ? (int64_t)max : v;
}

/* The double nearest below in magnitude with an odd last bit where bits were cut. */
static double int_to_odd(int64_t v, bool is_signed)
{
    bool negative = is_signed && v < 0;
    uint64_t u = negative ? 0 - (uint64_t)v : (uint64_t)v;
    int cut = 0;
    for (; u >> 53; cut++)
        u = u >> 1 | (u & 1);
    double d = ldexp((double)u, cut);
    return negative ? -d : d;
}

/* ---- floats ---- */

const struct float_format *convert_format(enum ptx_type t)
{
    switch (t) {
    case PTX_TYPE_f32:
        return &format_f32;
    case PTX_TYPE_f16:
    case PTX_TYPE_f16x2:
        return &format_f16;
    case PTX_TYPE_bf16:
    case PTX_TYPE_bf16x2:
        return &format_bf16;
    case PTX_TYPE_tf32:
        return &format_tf32;
    case PTX_TYPE_e4m3:
    case PTX_TYPE_e4m3x2:
        return &format_e4m3;
    case PTX_TYPE_e5m2:
    case PTX_TYPE_e5m2x2:
        return &format_e5m2;
    default:
        return NULL;
    }
}

static double read_float(enum ptx_type t, uint64_t bits, uint32_t aux)
{
    if (t == PTX_TYPE_f64)
        return f64_from(bits);
    if (t == PTX_TYPE_f32 || t == PTX_TYPE_tf32) {
        float f = f32_from((uint32_t)bits);
        /* The hardware does not flush what becomes f16. */
        return aux & CVT_FTZ && convert_to(aux) != PTX_TYPE_f16 ? f32_flush(f) : f;
    }
    return float_widen((uint32_t)bits, convert_format(t));
}

static double to_integral(double v, enum rounding mode)
{
    switch (mode) {
    case ROUND_ZERO:
        return trunc(v);
    case ROUND_DOWN:
        return floor(v);
    case ROUND_UP:
        return ceil(v);
    default:
        return nearbyint(v);
    }
}

static uint64_t write_float(enum ptx_type t, double v, uint32_t aux)
{
    if (aux & CVT_SAT)
        v = f64_saturate(v);
    if ((aux & CVT_RELU) && v < 0)
        v = 0;
    if (t == PTX_TYPE_f64)
        return f64_bits(v);
    uint32_t bits = float_narrow(v, convert_format(t), convert_mode(aux), aux & CVT_FINITE);
    if ((aux & CVT_RELU) &&
        bits >> (convert_format(t)->exponent_bits + convert_format(t)->mantissa_bits))
        bits = 0; /* -0 */
    if (t == PTX_TYPE_tf32)
        return bits == format_tf32.nan ? NAN_F32 : bits << 13;
    return t == PTX_TYPE_f32 && (aux & CVT_FTZ) ? f32_bits(f32_flush(f32_from(bits))) : bits;
}

/* NaN is 0, but the top bit of a 64-bit result and from f64 (PTX manual, cvt). */
static int64_t float_to_int(double v, uint32_t aux)
{
    enum ptx_type to = convert_to(aux);
    bool is_signed = ptx_type_class(to) == 's';
    unsigned bits = ptx_type_bits(to);
    if (v != v)
        return bits == 64 || convert_from(aux) == PTX_TYPE_f64
                   ? is_signed ? -(int64_t)greatest_int(to) - 1
                               : (int64_t)(UINT64_C(1) << (bits - 1))
                   : 0;
    v = to_integral(v, convert_mode(aux));
    double limit = ldexp(1, (int)bits - (is_signed ? 1 : 0));
    if (v >= limit)
        return (int64_t)greatest_int(to);
    if (v < (is_signed ? -limit : 0))
        return is_signed ? -(int64_t)greatest_int(to) - 1 : 0;
    return is_signed ? (int64_t)v : (int64_t)(uint64_t)v;
}

/* long double holds every 64-bit integer. */
static double int_to_f64(int64_t v, bool is_signed, enum rounding mode)
{
    long double exact = is_signed ? (long double)v : (long double)(uint64_t)v;
    double d = is_signed ? (double)v : (double)(uint64_t)v;
    bool above = d > exact, below = d < exact;
    if (above && (mode == ROUND_DOWN || (mode == ROUND_ZERO && d > 0)))
        return nextafter(d, -INFINITY);
    if (below && (mode == ROUND_UP || (mode == ROUND_ZERO && d < 0)))
        return nextafter(d, INFINITY);
    return d;
}

static uint64_t int_to_float(int64_t v, uint32_t aux)
{
    bool is_signed = ptx_type_class(convert_from(aux)) == 's';
    if (convert_to(aux) == PTX_TYPE_f64)
        return f64_bits(int_to_f64(v, is_signed, convert_mode(aux)));
    return write_float(convert_to(aux), int_to_odd(v, is_signed), aux);
}

/* ---- one value ---- */

/* NaNs are the canonical one, but for what the hardware was seen to do: from f64 the sign stays,
 * .rna to tf32 cuts the payload, and clamped results are zero. */
static uint64_t convert_nan(uint64_t bits, uint32_t aux)
{
    enum ptx_type to = convert_to(aux);
    if (aux & CVT_SAT)
        return 0;
    if (to == PTX_TYPE_tf32 && convert_mode(aux) == ROUND_AWAY) {
        uint64_t cut = bits & 0xffffe000;
        bool quiet = cut & 0x400000;
        return (aux & CVT_FINITE) && !quiet ? cut - 0x2000 : cut;
    }
    if (to == PTX_TYPE_tf32)
        return NAN_F32 & 0xffffe000;
    if (to == PTX_TYPE_f64)
        return f64_bits(read_float(convert_from(aux), bits, aux));
    uint32_t sign =
        convert_from(aux) == PTX_TYPE_f64 && !(aux & CVT_RELU) ? (uint32_t)(bits >> 63) : 0;
    const struct float_format *f = convert_format(to);
    return f->nan | sign << (f->exponent_bits + f->mantissa_bits);
}

uint64_t convert_value(uint64_t bits, uint32_t aux)
{
    enum ptx_type from = convert_from(aux), to = convert_to(aux);
    bool from_float = ptx_type_class(from) == 'f', to_float = ptx_type_class(to) == 'f';
    if (from_float) {
        double v = read_float(from, bits, aux);
        if (v != v && to_float)
            return convert_nan(bits, aux);
        if (!to_float)
            return (uint64_t)float_to_int(v, aux);
        if (aux & CVT_INTEGRAL) {
            v = to_integral(v, convert_mode(aux));
            aux &= ~(7u << CVT_MODE);
        }
        return write_float(to, v, aux);
    }
    int64_t v = read_int(from, bits);
    if (to_float)
        return int_to_float(v, aux);
    if (aux & CVT_SAT)
        v = convert_clamp(v, from, to);
    return (uint64_t)read_int(to, (uint64_t)v);
}
