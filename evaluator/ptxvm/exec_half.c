/* SPDX-License-Identifier: Apache-2.0
 * f16, bf16 and their packed pairs: add, sub, mul, fma, neg, abs, min, max. Sums and products of
 * halves are exact (or rounded to odd) in double, so each result is rounded once. */
#include "evaluator/ptxvm/lanes.h"

#include <math.h>

#include "evaluator/ptxvm/floats.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

enum half_op {
    HALF_ADD,
    HALF_SUB,
    HALF_MUL,
    HALF_FMA,
    HALF_MIN,
    HALF_MAX,
    HALF_NEG,
    HALF_ABS,
    HALF_EX2,
    HALF_TANH
};

/* aux: operation, then these. */
enum {
    HALF_OP = 0xff,
    HALF_BF16 = 1 << 8,
    HALF_PAIR = 1 << 9,
    HALF_FTZ = 1 << 10,
    HALF_SAT = 1 << 11,
    HALF_RELU = 1 << 12,
    HALF_NAN = 1 << 13,
    HALF_XORSIGN = 1 << 14,
    HALF_OOB = 1 << 15,
};

static uint32_t flush_half(uint32_t h, uint32_t aux)
{
    uint32_t exponent = aux & HALF_BF16 ? 0x7f80 : 0x7c00;
    return (aux & HALF_FTZ) && !(h & exponent) ? h & 0x8000 : h;
}

static uint32_t extreme_half(uint32_t x, uint32_t y, double a, double b, uint32_t aux)
{
    bool min = (aux & HALF_OP) == HALF_MIN;
    uint32_t sign = (x ^ y) & 0x8000;
    if (aux & HALF_XORSIGN)
        x &= 0x7fff, y &= 0x7fff, a = fabs(a), b = fabs(b);
    uint32_t r;
    if (a != a || b != b)
        r = (aux & HALF_NAN) || (a != a && b != b) ? 0x7fff : a != a ? y : x;
    else if (a == b)
        r = min == (x >> 15) ? x : y;
    else
        r = (a < b) == min ? x : y;
    return (aux & HALF_XORSIGN) && r != 0x7fff ? (r & 0x7fff) | sign : r;
}

/* What a tensor copy fills in outside of the tensor. */
static bool is_outside(uint32_t h)
{
    return (h & 0x7fff) == 0x7ff7;
}

static double arithmetic(uint32_t op, double a, double b, double c)
{
    switch (op) {
    case HALF_ADD:
        return float_add_odd(a, b);
    case HALF_SUB:
        return float_add_odd(a, -b);
    case HALF_MUL:
        return a * b;
    case HALF_FMA:
        return float_add_odd(a * b, c);
    case HALF_EX2:
        return exp2(a);
    default:
        return tanh(a);
    }
}

static uint32_t half_lane(uint32_t x, uint32_t y, uint32_t z, uint32_t aux)
{
    const struct float_format *f = aux & HALF_BF16 ? &format_bf16 : &format_f16;
    x = flush_half(x, aux), y = flush_half(y, aux), z = flush_half(z, aux);
    uint32_t op = aux & HALF_OP, r;
    if ((aux & HALF_OOB) && (is_outside(x) || is_outside(y) || is_outside(z)))
        return 0;
    if (op == HALF_NEG || op == HALF_ABS)
        r = op == HALF_NEG ? x ^ 0x8000 : x & 0x7fff;
    else {
        double a = aux & HALF_BF16 ? bf16_widen(x) : f16_widen(x);
        double b = aux & HALF_BF16 ? bf16_widen(y) : f16_widen(y);
        double c = aux & HALF_BF16 ? bf16_widen(z) : f16_widen(z);
        if (op == HALF_MIN || op == HALF_MAX)
            return extreme_half(x, y, a, b, aux);
        double v = arithmetic(op, a, b, c);
        if (aux & HALF_SAT)
            v = f64_saturate(v);
        r = float_narrow(v, f, ROUND_NEAREST, false);
    }
    if ((aux & HALF_RELU) && (r & 0x8000))
        r = 0;
    uint32_t infinity = aux & HALF_BF16 ? 0x7f80 : 0x7c00;
    return (r & 0x7fff) > infinity ? 0x7fff : flush_half(r, aux);
}

HANDLER(half)
{
    uint32_t *d = vm_row(w, op->d);
    const uint32_t *a = vm_row(w, op->a), *b = vm_row(w, op->b), *c = vm_row(w, op->c);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint32_t r = half_lane(a[i] & 0xffff, b[i] & 0xffff, c[i] & 0xffff, op->aux);
        if (op->aux & HALF_PAIR)
            r |= half_lane(a[i] >> 16, b[i] >> 16, c[i] >> 16, op->aux) << 16;
        d[i] = r;
    }
    return op + 1;
}

/* ---- the plain forms through float, in vectors. A product of f16 is exact in float; a sum of two
 * halves in float is rounded innocuously (24 >= 2 * 11 + 2 bits). Products of bf16 may be subnormal
 * in float, where that does not hold: these take the way through double. ---- */

#define LOW(IN, x) IN((x)&0xffff)
#define HIGH(IN, x) IN((x) >> 16)
#define PLAIN(name, IN, OUT, operation)                                                            \
    BINARY(name, uint32_t, uint32_t, uint32_t, OUT(LOW(IN, a) operation LOW(IN, b)))               \
    BINARY(name##x2, uint32_t, uint32_t, uint32_t,                                                 \
           OUT(LOW(IN, a) operation LOW(IN, b)) | OUT(HIGH(IN, a) operation HIGH(IN, b)) << 16)
PLAIN(add_f16, f16_widen, f16_nearest, +)
PLAIN(sub_f16, f16_widen, f16_nearest, -)
PLAIN(mul_f16, f16_widen, f16_nearest, *)
PLAIN(add_bf16, bf16_widen, bf16_nearest, +)
PLAIN(sub_bf16, bf16_widen, bf16_nearest, -)

/* ---- rows ---- */

static bool decode_half(struct decoder *d, const struct row *row)
{
    static const struct {
        enum ptx_word word;
        uint32_t flag;
    } words[] = {
        {PTX_WORD_ftz, HALF_FTZ}, {PTX_WORD_sat, HALF_SAT},         {PTX_WORD_relu, HALF_RELU},
        {PTX_WORD_NaN, HALF_NAN}, {PTX_WORD_xorsign, HALF_XORSIGN}, {PTX_WORD_oob, HALF_OOB},
    };
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    bool bf16 = type == PTX_TYPE_bf16 || type == PTX_TYPE_bf16x2;
    bool pair = type == PTX_TYPE_f16x2 || type == PTX_TYPE_bf16x2;
    uint32_t sources = d->instr->operand_count - 1u;
    if (d->form->type_count != 1 || !(bf16 || pair || type == PTX_TYPE_f16) ||
        d->instr->operand_count < 2 || d->instr->operand_count > 4)
        return decode_emit(d, run_unsupported) != NULL;
    uint32_t refs[3] = {0};
    for (uint32_t i = 0; i < sources; i++)
        if (!(refs[i] = decode_source(d, &d->operands[i + 1], type)))
            return false;
    uint32_t result = decode_result(d, &d->operands[0], type);
    struct op *op = result ? decode_emit(d, half) : NULL;
    if (!op)
        return false;
    op->d = result, op->a = refs[0];
    op->b = refs[1] ? refs[1] : refs[0], op->c = refs[2] ? refs[2] : refs[0];
    op->aux = row->aux | (bf16 ? HALF_BF16 : 0) | (pair ? HALF_PAIR : 0);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        op->aux |= form_has(d, words[i].word) ? words[i].flag : 0;
    return true;
}

#define PLAINS(name)                                                                               \
    {#name ".f16", "h:hh", name##_f16, NULL, 0},                                                   \
    {                                                                                              \
#name ".f16x2", "w:ww", name##_f16x2, NULL, 0                                              \
    }

/* Mnemonics that other files have whole forms of: what is left over comes here. */
const struct row ROWS_NAME(half)[] = {
    PLAINS(add),
    PLAINS(sub),
    PLAINS(mul),
    {"add.bf16", "h:hh", add_bf16, NULL, 0},
    {"add.bf16x2", "w:ww", add_bf16x2, NULL, 0},
    {"sub.bf16", "h:hh", sub_bf16, NULL, 0},
    {"sub.bf16x2", "w:ww", sub_bf16x2, NULL, 0},
    {"add", NULL, NULL, decode_half, HALF_ADD},
    {"sub", NULL, NULL, decode_half, HALF_SUB},
    {"mul", NULL, NULL, decode_half, HALF_MUL},
    {"fma", NULL, NULL, decode_half, HALF_FMA},
    {"min", NULL, NULL, decode_half, HALF_MIN},
    {"max", NULL, NULL, decode_half, HALF_MAX},
    {"neg", NULL, NULL, decode_half, HALF_NEG},
    {"abs", NULL, NULL, decode_half, HALF_ABS},
    {"ex2", NULL, NULL, decode_half, HALF_EX2},
    {"tanh", NULL, NULL, decode_half, HALF_TANH},
    ROWS_END,
};
