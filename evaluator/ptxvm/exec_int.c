/* SPDX-License-Identifier: Apache-2.0
 * Integer arithmetic: add, sub, mul, mad, sad, div, rem, min, max, abs, neg, carry chains, dot
 * products. 16-bit values lie zero-extended in 32-bit rows. */
#include "evaluator/ptxvm/lanes.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide_unsigned;
__extension__ typedef __int128 wide_signed;

/* ---- helpers on one lane ---- */

static inline int32_t clamp_s32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

static inline uint64_t hi_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((wide_unsigned)a * b >> 64);
}

static inline uint64_t hi_s64(int64_t a, int64_t b)
{
    return (uint64_t)((wide_unsigned)((wide_signed)a * b) >> 64);
}

/* Division: x / 0 and x % 0 give all ones as on the hardware, INT_MIN / -1 wraps. */
#define DIVIDES(T, NAME, overflows, wrapped)                                                       \
    static inline T div_##NAME(T a, T b)                                                           \
    {                                                                                              \
        return b == 0 ? (T)-1 : (overflows) ? (T)(wrapped) : (T)(a / b);                           \
    }                                                                                              \
    static inline T rem_##NAME(T a, T b)                                                           \
    {                                                                                              \
        return b == 0 ? (T)-1 : (overflows) ? 0 : (T)(a % b);                                      \
    }
DIVIDES(uint16_t, u16, false, 0)
DIVIDES(uint32_t, u32, false, 0)
DIVIDES(uint64_t, u64, false, 0)
DIVIDES(int16_t, s16, b == -1, 0 - (uint32_t)a)
DIVIDES(int32_t, s32, b == -1, 0 - (uint32_t)a)
DIVIDES(int64_t, s64, b == -1, 0 - (uint64_t)a)

static inline int32_t sext24(uint32_t a)
{
    return (int32_t)(a << 8) >> 8;
}

/* Two 16-bit halves, each by `value` of x and y. */
#define HALVES(T, value)                                                                           \
    (uint32_t)(uint16_t) half_##value((T)(uint16_t)a, (T)(uint16_t)b) |                            \
        (uint32_t)(uint16_t)half_##value((T)(uint16_t)(a >> 16), (T)(uint16_t)(b >> 16)) << 16

#define half_add(x, y) ((x) + (y))
#define half_sub(x, y) ((x) - (y))
#define half_min(x, y) ((x) < (y) ? (x) : (y))
#define half_max(x, y) ((x) > (y) ? (x) : (y))

static inline uint32_t dp4(uint32_t a, uint32_t b, uint32_t c, bool as, bool bs)
{
    for (int k = 0; k < 32; k += 8) {
        int32_t x = as ? (int8_t)(a >> k) : (uint8_t)(a >> k);
        int32_t y = bs ? (int8_t)(b >> k) : (uint8_t)(b >> k);
        c += (uint32_t)(x * y);
    }
    return c;
}

static inline uint32_t dp2(uint32_t a, uint32_t b, uint32_t c, bool as, bool bs, int shift)
{
    for (int k = 0; k < 2; k++) {
        int32_t x = as ? (int16_t)(a >> 16 * k) : (uint16_t)(a >> 16 * k);
        int32_t y = bs ? (int8_t)(b >> (shift + 8 * k)) : (uint8_t)(b >> (shift + 8 * k));
        c += (uint32_t)(x * y);
    }
    return c;
}

/* ---- add, sub, mul, mad ---- */

BINARY(add_16, uint32_t, uint32_t, uint32_t, (uint16_t)(a + b))
BINARY(add_32, uint32_t, uint32_t, uint32_t, a + b)
BINARY(add_64, uint64_t, uint64_t, uint64_t, a + b)
BINARY(add_16x2, uint32_t, uint32_t, uint32_t, HALVES(uint16_t, add))
BINARY(add_sat, uint32_t, int32_t, int32_t, clamp_s32((int64_t)a + b))
BINARY(sub_16, uint32_t, uint32_t, uint32_t, (uint16_t)(a - b))
BINARY(sub_32, uint32_t, uint32_t, uint32_t, a - b)
BINARY(sub_64, uint64_t, uint64_t, uint64_t, a - b)
BINARY(sub_sat, uint32_t, int32_t, int32_t, clamp_s32((int64_t)a - b))

BINARY(mul_lo_16, uint32_t, uint32_t, uint32_t, (uint16_t)(a *b))
BINARY(mul_lo_32, uint32_t, uint32_t, uint32_t, a *b)
BINARY(mul_lo_64, uint64_t, uint64_t, uint64_t, a *b)
BINARY(mul_hi_u16, uint32_t, uint32_t, uint32_t, (a & 0xffff) * (b & 0xffff) >> 16)
BINARY(mul_hi_s16, uint32_t, uint32_t, uint32_t,
       (uint16_t)((uint32_t)((int16_t)a *(int16_t)b) >> 16))
BINARY(mul_hi_u32, uint32_t, uint32_t, uint32_t, (uint64_t)a *b >> 32)
BINARY(mul_hi_s32, uint32_t, int32_t, int32_t, (uint64_t)((int64_t)a *b) >> 32)
BINARY(mul_hi_u64, uint64_t, uint64_t, uint64_t, hi_u64(a, b))
BINARY(mul_hi_s64, uint64_t, int64_t, int64_t, hi_s64(a, b))
BINARY(mul_wide_u16, uint32_t, uint32_t, uint32_t, (a & 0xffff) * (b & 0xffff))
BINARY(mul_wide_s16, uint32_t, uint32_t, uint32_t, (uint32_t)((int16_t)a *(int16_t)b))
BINARY(mul_wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)a *b)
BINARY(mul_wide_s32, uint64_t, int32_t, int32_t, (int64_t)a *b)
BINARY(mul24_lo_u32, uint32_t, uint32_t, uint32_t, (a & 0xffffff) * (b & 0xffffff))
BINARY(mul24_lo_s32, uint32_t, uint32_t, uint32_t, (int64_t)sext24(a) * sext24(b))
BINARY(mul24_hi_u32, uint32_t, uint32_t, uint32_t, (uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 16)
BINARY(mul24_hi_s32, uint32_t, uint32_t, uint32_t, (uint64_t)((int64_t)sext24(a) * sext24(b)) >> 16)

TERNARY(mad_lo_16, uint32_t, uint32_t, uint32_t, uint32_t, (uint16_t)(a *b + c))
TERNARY(mad_lo_32, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)
TERNARY(mad_lo_64, uint64_t, uint64_t, uint64_t, uint64_t, a *b + c)
TERNARY(mad_hi_u16, uint32_t, uint32_t, uint32_t, uint32_t,
        (uint16_t)(((a & 0xffff) * (b & 0xffff) >> 16) + c))
TERNARY(mad_hi_s16, uint32_t, uint32_t, uint32_t, uint32_t,
        (uint16_t)(((uint32_t)((int16_t)a * (int16_t)b) >> 16) + c))
TERNARY(mad_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)((uint64_t)a *b >> 32) + c)
TERNARY(mad_hi_s32, uint32_t, int32_t, int32_t, uint32_t,
        (uint32_t)((uint64_t)((int64_t)a *b) >> 32) + c)
TERNARY(mad_hi_sat, uint32_t, int32_t, int32_t, int32_t,
        clamp_s32((int64_t)(int32_t)((uint64_t)((int64_t)a *b) >> 32) + c))
TERNARY(mad_hi_u64, uint64_t, uint64_t, uint64_t, uint64_t, hi_u64(a, b) + c)
TERNARY(mad_hi_s64, uint64_t, int64_t, int64_t, uint64_t, hi_s64(a, b) + c)
TERNARY(mad_wide_u16, uint32_t, uint32_t, uint32_t, uint32_t, (a & 0xffff) * (b & 0xffff) + c)
TERNARY(mad_wide_s16, uint32_t, uint32_t, uint32_t, uint32_t,
        (uint32_t)((int16_t)a *(int16_t)b) + c)
TERNARY(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a *b + c)
TERNARY(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a *b) + c)
TERNARY(mad24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, (a & 0xffffff) * (b & 0xffffff) + c)
TERNARY(mad24_lo_s32, uint32_t, uint32_t, uint32_t, uint32_t,
        (uint32_t)((int64_t)sext24(a) * sext24(b)) + c)
TERNARY(mad24_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t,
        (uint32_t)((uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 16) + c)
TERNARY(mad24_hi_s32, uint32_t, uint32_t, uint32_t, uint32_t,
        (uint32_t)((uint64_t)((int64_t)sext24(a) * sext24(b)) >> 16) + c)
TERNARY(mad24_hi_sat, uint32_t, uint32_t, uint32_t, int32_t,
        clamp_s32((int32_t)((uint64_t)((int64_t)sext24(a) * sext24(b)) >> 16) + (int64_t)c))

/* ---- sad, div, rem, min, max, abs, neg ---- */

#define TYPED(S, D, T)                                                                             \
    BINARY(div_rows_##S, D, D, D, div_##S((T)a, (T)b))                                             \
    BINARY(rem_rows_##S, D, D, D, rem_##S((T)a, (T)b))                                             \
    BINARY(min_##S, D, D, D, (T)a < (T)b ? a : b)                                                  \
    BINARY(max_##S, D, D, D, (T)a > (T)b ? a : b)                                                  \
    TERNARY(sad_##S, D, D, D, D, c + ((T)a < (T)b ? b - a : a - b))
#define SMALL(S, T)                                                                                \
    BINARY(div_rows_##S, uint32_t, uint32_t, uint32_t, (uint16_t)div_##S((T)a, (T)b))              \
    BINARY(rem_rows_##S, uint32_t, uint32_t, uint32_t, (uint16_t)rem_##S((T)a, (T)b))              \
    BINARY(min_##S, uint32_t, uint32_t, uint32_t, (T)a < (T)b ? a : b)                             \
    BINARY(max_##S, uint32_t, uint32_t, uint32_t, (T)a > (T)b ? a : b)                             \
    TERNARY(sad_##S, uint32_t, uint32_t, uint32_t, uint32_t,                                       \
            (uint16_t)(c + ((T)a < (T)b ? b - a : a - b)))
SMALL(u16, uint16_t)
SMALL(s16, int16_t)
TYPED(u32, uint32_t, uint32_t)
TYPED(s32, uint32_t, int32_t)
TYPED(u64, uint64_t, uint64_t)
TYPED(s64, uint64_t, int64_t)

BINARY(min_u16x2, uint32_t, uint32_t, uint32_t, HALVES(uint16_t, min))
BINARY(max_u16x2, uint32_t, uint32_t, uint32_t, HALVES(uint16_t, max))
BINARY(min_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, min))
BINARY(max_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, max))
/* Halves below zero become zero. */
static inline uint32_t relu_16x2(uint32_t v)
{
    return (v & 0x8000 ? 0 : v & 0xffff) | (v & 0x80000000 ? 0 : v & 0xffff0000);
}

BINARY(min_relu_s16x2, uint32_t, uint32_t, uint32_t, relu_16x2(HALVES(int16_t, min)))
BINARY(max_relu_s16x2, uint32_t, uint32_t, uint32_t, relu_16x2(HALVES(int16_t, max)))
BINARY(min_relu_s32, int32_t, int32_t, int32_t, (a < b ? a : b) < 0 ? 0 : (a < b ? a : b))
BINARY(max_relu_s32, int32_t, int32_t, int32_t, (a > b ? a : b) < 0 ? 0 : (a > b ? a : b))

UNARY(abs_16, uint32_t, uint32_t, (int16_t)a < 0 ? (uint16_t)-a : a)
UNARY(abs_32, uint32_t, uint32_t, (int32_t)a < 0 ? 0 - a : a)
UNARY(abs_64, uint64_t, uint64_t, (int64_t)a < 0 ? 0 - a : a)
UNARY(neg_16, uint32_t, uint32_t, (uint16_t)(0 - a))
UNARY(neg_32, uint32_t, uint32_t, 0 - a)
UNARY(neg_64, uint64_t, uint64_t, 0 - a)

/* ---- carry chains: list[0] is the carry in, e the carry out, both optional. As on the hardware, a
 * subtraction adds the complement: CC.CF is set where nothing is borrowed. ---- */

#define CARRY(name, T, flip, first, second, step)                                                  \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        T *d = vm_row(w, op->d);                                                                   \
        const T *ra = vm_row(w, op->a), *rb = vm_row(w, op->b);                                    \
        const T *rc = vm_row(w, op->c);                                                            \
        uint32_t in = op->uses ? w->preds[op->list[0]] ^ (flip) : 0, out = 0;                      \
        EACH_LANE                                                                                  \
        {                                                                                          \
            if (!ACTIVE(exec, i))                                                                  \
                continue;                                                                          \
            T a = ra[i], b = rb[i], c = rc[i], carry = in >> i & 1;                                \
            (void)a, (void)b, (void)c;                                                             \
            T x = first, y = second;                                                               \
            step;                                                                                  \
            d[i] = x;                                                                              \
            out |= carry ? lane_bit[i] : 0;                                                        \
        }                                                                                          \
        if (op->e)                                                                                 \
            vm_set_pred(w, op->e, exec, out ^ (flip));                                             \
        return op + 1;                                                                             \
    }
#define STEP_ADD                                                                                   \
    x += y;                                                                                        \
    y = x < y;                                                                                     \
    x += carry;                                                                                    \
    carry = y | (x < carry)
#define STEP_SUB                                                                                   \
    y = x < y || (x == y && carry) ? (x -= y + carry, 1) : (x -= y + carry, 0);                    \
    carry = y
CARRY(addc_32, uint32_t, 0, a, b, STEP_ADD)
CARRY(addc_64, uint64_t, 0, a, b, STEP_ADD)
CARRY(subc_32, uint32_t, VM_FULL, a, b, STEP_SUB)
CARRY(subc_64, uint64_t, VM_FULL, a, b, STEP_SUB)
CARRY(madc_lo_32, uint32_t, 0, a *b, c, STEP_ADD)
CARRY(madc_lo_64, uint64_t, 0, a *b, c, STEP_ADD)
CARRY(madc_hi_u32, uint32_t, 0, (uint32_t)((uint64_t)a *b >> 32), c, STEP_ADD)
CARRY(madc_hi_s32, uint32_t, 0, (uint32_t)((uint64_t)((int64_t)(int32_t)a *(int32_t)b) >> 32), c,
      STEP_ADD)
CARRY(madc_hi_u64, uint64_t, 0, hi_u64(a, b), c, STEP_ADD)
CARRY(madc_hi_s64, uint64_t, 0, hi_s64((int64_t)a, (int64_t)b), c, STEP_ADD)

static bool decode_carry(struct decoder *d, const struct row *row)
{
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    bool in =
        d->form->op == PTX_OP_addc || d->form->op == PTX_OP_subc || d->form->op == PTX_OP_madc;
    uint32_t refs[3] = {0}, sources = row->aux;
    if (!decode_count_is(d, sources + 1))
        return false;
    for (uint32_t i = 0; i < sources; i++)
        if (!(refs[i] = decode_source(d, &d->operands[i + 1], type)))
            return false;
    uint32_t result = decode_result(d, &d->operands[0], type);
    struct op *op = result ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->d = result, op->a = refs[0], op->b = refs[1], op->c = refs[2] ? refs[2] : refs[1];
    op->e = form_has(d, PTX_WORD_cc) ? d->carry : REF_NONE;
    return !in || decode_list(d, d->carry, false);
}

/* ---- dot products ---- */

#define DOT(types, as, bs)                                                                         \
    TERNARY(dp4a_##types, uint32_t, uint32_t, uint32_t, uint32_t, dp4(a, b, c, as, bs))            \
    TERNARY(dp2a_lo_##types, uint32_t, uint32_t, uint32_t, uint32_t, dp2(a, b, c, as, bs, 0))      \
    TERNARY(dp2a_hi_##types, uint32_t, uint32_t, uint32_t, uint32_t, dp2(a, b, c, as, bs, 16))
DOT(uu, false, false)
DOT(us, false, true)
DOT(su, true, false)
DOT(ss, true, true)

/* ---- rows ---- */

#define BOTH(form, n, shape, run)                                                                  \
    {form ".u" n, shape, run, NULL, 0},                                                            \
    {                                                                                              \
        form ".s" n, shape, run, NULL, 0                                                           \
    }
#define SIZES(form, shape16, shape32, shape64, name)                                               \
    BOTH(form, "16", shape16, name##_16), BOTH(form, "32", shape32, name##_32),                    \
        BOTH(form, "64", shape64, name##_64)
#define SIGNS(form, n, shape, name)                                                                \
    {form ".u" #n, shape, name##_u##n, NULL, 0},                                                   \
    {                                                                                              \
        form ".s" #n, shape, name##_s##n, NULL, 0                                                  \
    }
#define SIGNED_SIZES(form, shape16, shape32, shape64, name)                                        \
    SIGNS(form, 16, shape16, name), SIGNS(form, 32, shape32, name), SIGNS(form, 64, shape64, name)
#define CARRIES(form, n, sources, run)                                                             \
    {form ".u" n, NULL, run, decode_carry, sources},                                               \
        {form ".s" n, NULL, run, decode_carry, sources},                                           \
    {                                                                                              \
        form ".b" n, NULL, run, decode_carry, sources                                              \
    }
#define DOTS(form, name)                                                                           \
    {form ".u32.u32", "w:www", name##_uu, NULL, 0},                                                \
        {form ".u32.s32", "w:www", name##_us, NULL, 0},                                            \
        {form ".s32.u32", "w:www", name##_su, NULL, 0},                                            \
    {                                                                                              \
        form ".s32.s32", "w:www", name##_ss, NULL, 0                                               \
    }

/* The manual writes .relu before the type, the headers of CUDA behind it. */
#define RELU(form, type, run)                                                                      \
    {form ".relu." type, "w:ww", run, NULL, 0},                                                    \
    {                                                                                              \
        form "." type ".relu", "w:ww", run, NULL, 0                                                \
    }

const struct row ROWS_NAME(int)[] = {
    SIZES("add", "h:hh", "w:ww", "d:dd", add),
    SIZES("sub", "h:hh", "w:ww", "d:dd", sub),
    {"add.u16x2", "w:ww", add_16x2, NULL, 0},
    {"add.s16x2", "w:ww", add_16x2, NULL, 0},
    {"add.sat.s32", "w:ww", add_sat, NULL, 0},
    {"sub.sat.s32", "w:ww", sub_sat, NULL, 0},
    SIZES("mul.lo", "h:hh", "w:ww", "d:dd", mul_lo),
    SIGNED_SIZES("mul.hi", "h:hh", "w:ww", "d:dd", mul_hi),
    SIGNS("mul.wide", 16, "w:hh", mul_wide),
    SIGNS("mul.wide", 32, "d:ww", mul_wide),
    SIGNS("mul24.lo", 32, "w:ww", mul24_lo),
    SIGNS("mul24.hi", 32, "w:ww", mul24_hi),
    SIZES("mad.lo", "h:hhh", "w:www", "d:ddd", mad_lo),
    SIGNED_SIZES("mad.hi", "h:hhh", "w:www", "d:ddd", mad_hi),
    {"mad.hi.sat.s32", "w:www", mad_hi_sat, NULL, 0},
    SIGNS("mad.wide", 16, "w:hhw", mad_wide),
    SIGNS("mad.wide", 32, "d:wwd", mad_wide),
    SIGNS("mad24.lo", 32, "w:www", mad24_lo),
    SIGNS("mad24.hi", 32, "w:www", mad24_hi),
    {"mad24.hi.sat.s32", "w:www", mad24_hi_sat, NULL, 0},
    SIGNED_SIZES("sad", "h:hhh", "w:www", "d:ddd", sad),
    SIGNED_SIZES("div", "h:hh", "w:ww", "d:dd", div_rows),
    SIGNED_SIZES("rem", "h:hh", "w:ww", "d:dd", rem_rows),
    SIGNED_SIZES("min", "h:hh", "w:ww", "d:dd", min),
    SIGNED_SIZES("max", "h:hh", "w:ww", "d:dd", max),
    {"min.u16x2", "w:ww", min_u16x2, NULL, 0},
    {"max.u16x2", "w:ww", max_u16x2, NULL, 0},
    {"min.s16x2", "w:ww", min_s16x2, NULL, 0},
    {"max.s16x2", "w:ww", max_s16x2, NULL, 0},
    RELU("min", "s32", min_relu_s32),
    RELU("max", "s32", max_relu_s32),
    RELU("min", "s16x2", min_relu_s16x2),
    RELU("max", "s16x2", max_relu_s16x2),
    {"abs.s16", "h:h", abs_16, NULL, 0},
    {"abs.s32", "w:w", abs_32, NULL, 0},
    {"abs.s64", "d:d", abs_64, NULL, 0},
    {"neg.s16", "h:h", neg_16, NULL, 0},
    {"neg.s32", "w:w", neg_32, NULL, 0},
    {"neg.s64", "d:d", neg_64, NULL, 0},
    CARRIES("add.cc", "32", 2, addc_32),
    CARRIES("add.cc", "64", 2, addc_64),
    CARRIES("addc", "32", 2, addc_32),
    CARRIES("addc", "64", 2, addc_64),
    CARRIES("addc.cc", "32", 2, addc_32),
    CARRIES("addc.cc", "64", 2, addc_64),
    CARRIES("sub.cc", "32", 2, subc_32),
    CARRIES("sub.cc", "64", 2, subc_64),
    CARRIES("subc", "32", 2, subc_32),
    CARRIES("subc", "64", 2, subc_64),
    CARRIES("subc.cc", "32", 2, subc_32),
    CARRIES("subc.cc", "64", 2, subc_64),
#define MAD_CARRIES(form)                                                                          \
    CARRIES(form ".lo.cc", "32", 3, madc_lo_32), CARRIES(form ".lo.cc", "64", 3, madc_lo_64),      \
        {form ".hi.cc.u32", NULL, madc_hi_u32, decode_carry, 3},                                   \
        {form ".hi.cc.s32", NULL, madc_hi_s32, decode_carry, 3},                                   \
        {form ".hi.cc.u64", NULL, madc_hi_u64, decode_carry, 3},                                   \
    {                                                                                              \
        form ".hi.cc.s64", NULL, madc_hi_s64, decode_carry, 3                                      \
    }
    MAD_CARRIES("mad"),
    MAD_CARRIES("madc"),
    CARRIES("madc.lo", "32", 3, madc_lo_32),
    CARRIES("madc.lo", "64", 3, madc_lo_64),
    {"madc.hi.u32", NULL, madc_hi_u32, decode_carry, 3},
    {"madc.hi.s32", NULL, madc_hi_s32, decode_carry, 3},
    {"madc.hi.u64", NULL, madc_hi_u64, decode_carry, 3},
    {"madc.hi.s64", NULL, madc_hi_s64, decode_carry, 3},
    DOTS("dp4a", dp4a),
    DOTS("dp2a.lo", dp2a_lo),
    DOTS("dp2a.hi", dp2a_hi),
    ROWS_END,
};
