/* SPDX-License-Identifier: Apache-2.0
 * Logic, shifts, bit fields, permutation, selection. */
#include "evaluator/ptxvm/lanes.h"

#include "evaluator/ptxvm/floats.h"

/* ---- helpers on one lane ---- */

static inline uint32_t popc_32(uint32_t a)
{
    a -= a >> 1 & 0x55555555;
    a = (a & 0x33333333) + (a >> 2 & 0x33333333);
    return ((a + (a >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

static inline uint32_t clz_64(uint64_t a)
{
    return a ? (uint32_t)__builtin_clzll(a) : 64;
}

static inline uint32_t clz_32(uint32_t a)
{
    return a ? (uint32_t)__builtin_clz(a) : 32;
}

static inline uint32_t brev_32(uint32_t a)
{
    a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
    a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
    a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(a);
}

static inline uint64_t brev_64(uint64_t a)
{
    return (uint64_t)brev_32((uint32_t)a) << 32 | brev_32((uint32_t)(a >> 32));
}

/* Bit fields may reach past the top. Position and length are 8 bits each, but for the 64-bit forms,
 * whose behaviour beyond 255 the manual leaves open, the hardware looks at all of them. */
static inline uint64_t bfe(uint64_t a, uint64_t pos, uint64_t len, uint32_t bits, bool is_signed)
{
    if (bits == 32)
        pos &= 0xff, len &= 0xff;
    if (len == 0)
        return 0;
    uint64_t top = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
    bool sign = is_signed && (a >> top & 1);
    uint64_t field = pos < bits ? a >> pos : 0;
    uint64_t have = pos < bits ? (len < bits - pos ? len : bits - pos) : 0;
    uint64_t mask = have >= 64 ? UINT64_MAX : (UINT64_C(1) << have) - 1;
    return (field & mask) | (sign ? ~mask : 0);
}

static inline uint64_t bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, uint32_t bits)
{
    pos &= 0xff, len &= 0xff;
    if (pos >= bits || len == 0)
        return b;
    uint32_t have = len < bits - pos ? len : bits - pos;
    uint64_t mask = (have >= 64 ? UINT64_MAX : (UINT64_C(1) << have) - 1) << pos;
    return (b & ~mask) | (a << pos & mask);
}

/* N-th set bit from a base, upwards for n > 0; 0xffffffff: none. */
static inline uint32_t fns(uint32_t mask, uint32_t base, int32_t n)
{
    if (base > 31)
        return VM_FULL;
    if (n == 0)
        return mask >> base & 1 ? base : VM_FULL;
    int step = n > 0 ? 1 : -1;
    uint32_t left = n > 0 ? (uint32_t)n : 0 - (uint32_t)n;
    for (int at = (int)base; at >= 0 && at < 32; at += step)
        if ((mask >> at & 1) && --left == 0)
            return (uint32_t)at;
    return VM_FULL;
}

static inline uint32_t bmsk(uint32_t pos, uint32_t len, bool wrap)
{
    if (wrap)
        pos &= 31, len &= 31;
    if (pos > 31 || len == 0)
        return 0;
    return (len > 31 ? VM_FULL : (UINT32_C(1) << len) - 1) << pos;
}

static inline uint32_t szext(uint32_t a, uint32_t bits, bool wrap, bool is_signed)
{
    if (wrap)
        bits &= 31;
    if (bits > 31)
        return a;
    if (bits == 0)
        return 0;
    uint32_t mask = (UINT32_C(1) << bits) - 1;
    return (a & mask) | (is_signed && (a >> (bits - 1) & 1) ? ~mask : 0);
}

static inline uint32_t prmt_byte(uint64_t bytes, uint32_t selector)
{
    uint32_t byte = (uint32_t)(bytes >> 8 * (selector & 7)) & 0xff;
    return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}

static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    return prmt_byte(bytes, selector) | prmt_byte(bytes, selector >> 4) << 8 |
           prmt_byte(bytes, selector >> 8) << 16 | prmt_byte(bytes, selector >> 12) << 24;
}

/* Selectors of the special modes of prmt by the low two bits of c (PTX manual, table of prmt). */
enum prmt_mode { PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };
static const uint16_t prmt_selectors[][4] = {
    [PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543}, [PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
    [PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333}, [PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
    [PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210}, [PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
};

static inline uint32_t funnel_left(uint32_t lo, uint32_t hi, uint32_t n)
{
    return n == 0 ? hi : n > 31 ? lo : hi << n | lo >> (32 - n);
}

static inline uint32_t funnel_right(uint32_t lo, uint32_t hi, uint32_t n)
{
    return n == 0 ? lo : n > 31 ? hi : lo >> n | hi << (32 - n);
}

/* ---- logic and shifts ---- */

#define LOGIC(S, T, MASK)                                                                          \
    BINARY(and_##S, T, T, T, a &b)                                                                 \
    BINARY(or_##S, T, T, T, a | b)                                                                 \
    BINARY(xor_##S, T, T, T, a ^ b)                                                                \
    UNARY(not_##S, T, T, ~a &(T)MASK)                                                              \
    UNARY(cnot_##S, T, T, a == 0)
LOGIC(16, uint32_t, 0xffff)
LOGIC(32, uint32_t, UINT32_MAX)
LOGIC(64, uint64_t, UINT64_MAX)

BINARY(shl_16, uint32_t, uint32_t, uint32_t, b > 15 ? 0 : (uint16_t)(a << (b & 15)))
BINARY(shl_32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a << (b & 31))
BINARY(shl_64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a << (b & 63))
BINARY(shr_u16, uint32_t, uint32_t, uint32_t, b > 15 ? 0 : (a & 0xffff) >> (b & 15))
BINARY(shr_u32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a >> (b & 31))
BINARY(shr_u64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a >> (b & 63))
BINARY(shr_s16, uint32_t, uint32_t, uint32_t, (uint16_t)((int16_t)a >> (b > 15 ? 15 : b)))
BINARY(shr_s32, uint32_t, int32_t, uint32_t, a >> (b > 31 ? 31 : b))
BINARY(shr_s64, uint64_t, int64_t, uint32_t, a >> (b > 63 ? 63 : b))
TERNARY(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, funnel_left(a, b, c & 31))
TERNARY(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, funnel_right(a, b, c & 31))
TERNARY(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, funnel_left(a, b, c))
TERNARY(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, funnel_right(a, b, c))

/* ---- counting and finding ---- */

UNARY(popc_b32, uint32_t, uint32_t, popc_32(a))
UNARY(popc_b64, uint32_t, uint64_t, popc_32((uint32_t)a) + popc_32((uint32_t)(a >> 32)))
UNARY(clz_b32, uint32_t, uint32_t, clz_32(a))
UNARY(clz_b64, uint32_t, uint64_t, clz_64(a))
UNARY(brev_b32, uint32_t, uint32_t, brev_32(a))
UNARY(brev_b64, uint64_t, uint64_t, brev_64(a))
#define FIND(S, T, value, bits, clz)                                                               \
    UNARY(bfind_##S, uint32_t, T, clz(value) == bits ? VM_FULL : bits - 1 - clz(value))            \
    UNARY(bfind_shift_##S, uint32_t, T, clz(value) == bits ? VM_FULL : clz(value))
FIND(u32, uint32_t, a, 32, clz_32)
FIND(s32, uint32_t, (a ^ (uint32_t)((int32_t)a >> 31)), 32, clz_32)
FIND(u64, uint64_t, a, 64, clz_64)
FIND(s64, uint64_t, (a ^ (uint64_t)((int64_t)a >> 63)), 64, clz_64)
TERNARY(fns_b32, uint32_t, uint32_t, uint32_t, uint32_t, fns(a, b, (int32_t)c))

/* ---- fields ---- */

TERNARY(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, bfe(a, b, c, 32, false))
TERNARY(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, bfe(a, b, c, 32, true))
TERNARY(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, bfe(a, b, c, 64, false))
TERNARY(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, bfe(a, b, c, 64, true))
BINARY(bmsk_clamp, uint32_t, uint32_t, uint32_t, bmsk(a, b, false))
BINARY(bmsk_wrap, uint32_t, uint32_t, uint32_t, bmsk(a, b, true))
BINARY(szext_clamp_u32, uint32_t, uint32_t, uint32_t, szext(a, b, false, false))
BINARY(szext_clamp_s32, uint32_t, uint32_t, uint32_t, szext(a, b, false, true))
BINARY(szext_wrap_u32, uint32_t, uint32_t, uint32_t, szext(a, b, true, false))
BINARY(szext_wrap_s32, uint32_t, uint32_t, uint32_t, szext(a, b, true, true))
TERNARY(prmt_b32, uint32_t, uint32_t, uint32_t, uint32_t, prmt(a, b, c))
TERNARY(prmt_mode, uint32_t, uint32_t, uint32_t, uint32_t,
        prmt(a, b, prmt_selectors[op->aux][c & 3]))

/* The four operands of bfi: list[0] is the length. */
#define INSERT(name, T, bits)                                                                      \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        T *d = vm_row(w, op->d);                                                                   \
        const T *ra = vm_row(w, op->a), *rb = vm_row(w, op->b);                                    \
        const uint32_t *rc = vm_row(w, op->c), *rl = vm_row(w, op->list[0]);                       \
        EACH_LANE if (ACTIVE(exec, i)) d[i] = (T)bfi(ra[i], rb[i], rc[i], rl[i], bits);            \
        return op + 1;                                                                             \
    }
INSERT(bfi_b32, uint32_t, 32)
INSERT(bfi_b64, uint64_t, 64)

static bool decode_bfi(struct decoder *d, const struct row *row)
{
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    uint32_t a = decode_count_is(d, 5) ? decode_source(d, &d->operands[1], type) : REF_NONE;
    uint32_t b = a ? decode_source(d, &d->operands[2], type) : REF_NONE;
    uint32_t pos = b ? decode_source(d, &d->operands[3], PTX_TYPE_b32) : REF_NONE;
    uint32_t len = pos ? decode_source(d, &d->operands[4], PTX_TYPE_b32) : REF_NONE;
    uint32_t result = len ? decode_result(d, &d->operands[0], type) : REF_NONE;
    struct op *op = result ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->d = result, op->a = a, op->b = b, op->c = pos;
    return decode_list(d, len, false);
}

/* ---- selection ---- */

#define SELECT(S, T)                                                                               \
    HANDLER(selp_##S)                                                                              \
    {                                                                                              \
        T *d = vm_row(w, op->d);                                                                   \
        const T *ra = vm_row(w, op->a), *rb = vm_row(w, op->b);                                    \
        const uint32_t p = w->preds[op->c];                                                        \
        LANES_STORE(T, const T a = ra[i]; const T b = rb[i], p & lane_bit[i] ? a : b)              \
        return op + 1;                                                                             \
    }                                                                                              \
    TERNARY(slct_##S##_s32, T, T, T, int32_t, c >= 0 ? a : b)                                      \
    TERNARY(slct_##S##_f32, T, T, T, float, c >= 0 ? a : b)                                        \
    TERNARY(slct_##S##_f32_ftz, T, T, T, float, f32_flush(c) >= 0 ? a : b)
SELECT(32, uint32_t)
SELECT(64, uint64_t)

/* ---- rows ---- */

#define BITS(form, S, shape, run)                                                                  \
    {                                                                                              \
        form ".b" S, shape, run, NULL, 0                                                           \
    }
#define SIZES(form, shape16, shape32, shape64, name)                                               \
    BITS(form, "16", shape16, name##_16), BITS(form, "32", shape32, name##_32),                    \
        BITS(form, "64", shape64, name##_64)
#define SELECTS(type, letter, S)                                                                   \
    {"selp." type, letter ":" letter letter "p", selp_##S, NULL, 0},                               \
        {"slct." type ".s32", letter ":" letter letter "w", slct_##S##_s32, NULL, 0},              \
        {"slct." type ".f32", letter ":" letter letter "f", slct_##S##_f32, NULL, 0},              \
    {                                                                                              \
        "slct.ftz." type ".f32", letter ":" letter letter "f", slct_##S##_f32_ftz, NULL, 0         \
    }

/* The mode stands behind the type in the manual; the assembler takes it before, too. */
#define PRMT(name, mode)                                                                           \
    {"prmt.b32." name, "w:www", prmt_mode, NULL, mode},                                            \
    {                                                                                              \
        "prmt." name ".b32", "w:www", prmt_mode, NULL, mode                                        \
    }

const struct row ROWS_NAME(bits)[] = {
    SIZES("and", "h:hh", "w:ww", "d:dd", and),
    SIZES("or", "h:hh", "w:ww", "d:dd", or),
    SIZES("xor", "h:hh", "w:ww", "d:dd", xor),
    SIZES("not", "h:h", "w:w", "d:d", not ),
    SIZES("cnot", "h:h", "w:w", "d:d", cnot),
    SIZES("shl", "h:hw", "w:ww", "d:dw", shl),
    {"shr.b16", "h:hw", shr_u16, NULL, 0},
    {"shr.u16", "h:hw", shr_u16, NULL, 0},
    {"shr.s16", "h:hw", shr_s16, NULL, 0},
    {"shr.b32", "w:ww", shr_u32, NULL, 0},
    {"shr.u32", "w:ww", shr_u32, NULL, 0},
    {"shr.s32", "w:ww", shr_s32, NULL, 0},
    {"shr.b64", "d:dw", shr_u64, NULL, 0},
    {"shr.u64", "d:dw", shr_u64, NULL, 0},
    {"shr.s64", "d:dw", shr_s64, NULL, 0},
    {"shf.l.wrap.b32", "w:www", shf_l_wrap, NULL, 0},
    {"shf.r.wrap.b32", "w:www", shf_r_wrap, NULL, 0},
    {"shf.l.clamp.b32", "w:www", shf_l_clamp, NULL, 0},
    {"shf.r.clamp.b32", "w:www", shf_r_clamp, NULL, 0},
    {"popc.b32", "w:w", popc_b32, NULL, 0},
    {"popc.b64", "w:d", popc_b64, NULL, 0},
    {"clz.b32", "w:w", clz_b32, NULL, 0},
    {"clz.b64", "w:d", clz_b64, NULL, 0},
    {"brev.b32", "w:w", brev_b32, NULL, 0},
    {"brev.b64", "d:d", brev_b64, NULL, 0},
    {"bfind.u32", "w:w", bfind_u32, NULL, 0},
    {"bfind.s32", "w:w", bfind_s32, NULL, 0},
    {"bfind.u64", "w:d", bfind_u64, NULL, 0},
    {"bfind.s64", "w:d", bfind_s64, NULL, 0},
    {"bfind.shiftamt.u32", "w:w", bfind_shift_u32, NULL, 0},
    {"bfind.shiftamt.s32", "w:w", bfind_shift_s32, NULL, 0},
    {"bfind.shiftamt.u64", "w:d", bfind_shift_u64, NULL, 0},
    {"bfind.shiftamt.s64", "w:d", bfind_shift_s64, NULL, 0},
    {"fns.b32", "w:www", fns_b32, NULL, 0},
    {"bfe.u32", "w:www", bfe_u32, NULL, 0},
    {"bfe.s32", "w:www", bfe_s32, NULL, 0},
    {"bfe.u64", "d:dww", bfe_u64, NULL, 0},
    {"bfe.s64", "d:dww", bfe_s64, NULL, 0},
    {"bfi.b32", NULL, bfi_b32, decode_bfi, 0},
    {"bfi.b64", NULL, bfi_b64, decode_bfi, 0},
    {"bmsk.clamp.b32", "w:ww", bmsk_clamp, NULL, 0},
    {"bmsk.wrap.b32", "w:ww", bmsk_wrap, NULL, 0},
    {"szext.clamp.u32", "w:ww", szext_clamp_u32, NULL, 0},
    {"szext.clamp.s32", "w:ww", szext_clamp_s32, NULL, 0},
    {"szext.wrap.u32", "w:ww", szext_wrap_u32, NULL, 0},
    {"szext.wrap.s32", "w:ww", szext_wrap_s32, NULL, 0},
    {"prmt.b32", "w:www", prmt_b32, NULL, 0},
    PRMT("f4e", PRMT_F4E),
    PRMT("b4e", PRMT_B4E),
    PRMT("rc8", PRMT_RC8),
    PRMT("ecl", PRMT_ECL),
    PRMT("ecr", PRMT_ECR),
    PRMT("rc16", PRMT_RC16),
    SELECTS("b16", "h", 32),
    SELECTS("u16", "h", 32),
    SELECTS("s16", "h", 32),
    SELECTS("b32", "w", 32),
    SELECTS("u32", "w", 32),
    SELECTS("s32", "w", 32),
    SELECTS("f32", "f", 32),
    SELECTS("b64", "d", 64),
    SELECTS("u64", "d", 64),
    SELECTS("s64", "d", 64),
    SELECTS("f64", "g", 64),
    ROWS_END,
};
