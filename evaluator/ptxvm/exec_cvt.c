/* SPDX-License-Identifier: Apache-2.0
 * cvt: every pair of scalar types, packed halves, fp8, tf32, and cvt.pack. The common pairs have
 * loops of their own; the others go lane by lane through convert.c. */
#include "evaluator/ptxvm/lanes.h"

#include <math.h>

#include "evaluator/ptxvm/convert.h"
#include "evaluator/ptxvm/floats.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

HANDLER(cvt_any)
{
    bool wide_from = width_of(convert_from(op->aux)) == WIDTH_64;
    bool wide_to = width_of(convert_to(op->aux)) == WIDTH_64;
    void *d = vm_row(w, op->d);
    const void *a = vm_row(w, op->a);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint64_t in = wide_from ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
        uint64_t out = convert_value(in, op->aux);
        if (wide_to)
            ((uint64_t *)d)[i] = out;
        else
            ((uint32_t *)d)[i] = op->aux & CVT_SIGN16 ? out & 0xffff : (uint32_t)out;
    }
    return op + 1;
}

/* ---- packed: a is the upper element, b the lower ---- */

static uint32_t element_bits(enum ptx_type t)
{
    return ptx_type_bits(t) / 2;
}

HANDLER(cvt_pair)
{
    uint32_t *d = vm_row(w, op->d);
    const uint32_t *a = vm_row(w, op->a), *b = vm_row(w, op->b);
    uint32_t shift = element_bits(convert_to(op->aux));
    EACH_LANE if (ACTIVE(exec, i)) d[i] =
        (uint32_t)convert_value(b[i], op->aux) | (uint32_t)convert_value(a[i], op->aux) << shift;
    return op + 1;
}

/* From one packed type to another. */
HANDLER(cvt_packed)
{
    uint32_t *d = vm_row(w, op->d);
    const uint32_t *a = vm_row(w, op->a);
    uint32_t from = element_bits(convert_from(op->aux)), to = element_bits(convert_to(op->aux));
    uint32_t mask = (UINT32_C(1) << from) - 1;
    EACH_LANE if (ACTIVE(exec, i)) d[i] = (uint32_t)convert_value(a[i] & mask, op->aux) |
                                          (uint32_t)convert_value(a[i] >> from & mask, op->aux)
                                              << to;
    return op + 1;
}

/* ---- the common pairs ---- */

static inline int32_t f32_to_s32(float v)
{
    return v != v               ? 0
           : v >= 2147483648.0f ? INT32_MAX
           : v < -2147483648.0f ? INT32_MIN
                                : (int32_t)v;
}

UNARY(f32_from_bf16, float, uint32_t, bf16_widen(a & 0xffff))
UNARY(f32_from_f16, float, uint32_t, f16_widen(a))
UNARY(bf16_from_f32, uint32_t, float, bf16_nearest(a))
UNARY(f16_from_f32, uint32_t, float, f16_nearest(a))
BINARY(bf16x2_from_f32, uint32_t, float, float, bf16_nearest(b) | bf16_nearest(a) << 16)
BINARY(f16x2_from_f32, uint32_t, float, float, f16_nearest(b) | f16_nearest(a) << 16)
UNARY(f32_from_s32, float, int32_t, a)
UNARY(f32_from_u32, float, uint32_t, a)
UNARY(f64_from_s32, double, int32_t, a)
UNARY(f64_from_u32, double, uint32_t, a)
UNARY(f64_from_f32, double, float, a)
UNARY(f32_from_f64, float, double, f32_narrow(a))
UNARY(s32_from_f32_zero, int32_t, float, f32_to_s32(a))
UNARY(u32_from_u16, uint32_t, uint32_t, a & 0xffff)
UNARY(s32_from_s16, uint32_t, uint32_t, (int16_t)a)
UNARY(u32_from_u8, uint32_t, uint32_t, a & 0xff)
UNARY(s32_from_s8, uint32_t, uint32_t, (int8_t)a)
UNARY(same_32, uint32_t, uint32_t, a)
UNARY(same_64, uint64_t, uint64_t, a)
UNARY(u64_from_u32, uint64_t, uint32_t, a)
UNARY(s64_from_s32, uint64_t, int32_t, (int64_t)a)
UNARY(u64_from_u16, uint64_t, uint32_t, a & 0xffff)
UNARY(s64_from_s16, uint64_t, uint32_t, (int64_t)(int16_t)a)
UNARY(w32_from_w64, uint32_t, uint64_t, (uint32_t)a)
UNARY(u16_from_w64, uint32_t, uint64_t, (uint16_t)a)

#define FAST(to, from, mode, run)                                                                  \
    {                                                                                              \
        PTX_TYPE_##to, PTX_TYPE_##from, mode, run                                                  \
    }
static const struct {
    enum ptx_type to, from;
    uint32_t mode; /* rounding and flags, as in aux */
    handler *run;
} fast[] = {
    FAST(f32, bf16, 0, f32_from_bf16),
    FAST(f32, f16, 0, f32_from_f16),
    FAST(bf16, f32, 0, bf16_from_f32),
    FAST(f16, f32, 0, f16_from_f32),
    FAST(bf16x2, f32, 0, bf16x2_from_f32),
    FAST(f16x2, f32, 0, f16x2_from_f32),
    FAST(f32, s32, 0, f32_from_s32),
    FAST(f32, u32, 0, f32_from_u32),
    FAST(f64, s32, 0, f64_from_s32),
    FAST(f64, u32, 0, f64_from_u32),
    FAST(f64, f32, 0, f64_from_f32),
    FAST(f32, f64, 0, f32_from_f64),
    FAST(s32, f32, ROUND_ZERO << CVT_MODE | CVT_INTEGRAL, s32_from_f32_zero),
    FAST(u32, u16, 0, u32_from_u16),
    FAST(s32, u16, 0, u32_from_u16),
    FAST(s32, s16, 0, s32_from_s16),
    FAST(u32, s16, 0, s32_from_s16),
    FAST(u32, u8, 0, u32_from_u8),
    FAST(s32, s8, 0, s32_from_s8),
    FAST(u32, u32, 0, same_32),
    FAST(s32, s32, 0, same_32),
    FAST(u32, s32, 0, same_32),
    FAST(s32, u32, 0, same_32),
    FAST(u64, u64, 0, same_64),
    FAST(s64, s64, 0, same_64),
    FAST(u64, s64, 0, same_64),
    FAST(s64, u64, 0, same_64),
    FAST(u64, u32, 0, u64_from_u32),
    FAST(s64, u32, 0, u64_from_u32),
    FAST(s64, s32, 0, s64_from_s32),
    FAST(u64, s32, 0, s64_from_s32),
    FAST(u64, u16, 0, u64_from_u16),
    FAST(s64, s16, 0, s64_from_s16),
    FAST(u32, u64, 0, w32_from_w64),
    FAST(s32, s64, 0, w32_from_w64),
    FAST(u32, s64, 0, w32_from_w64),
    FAST(s32, u64, 0, w32_from_w64),
    FAST(u16, u64, 0, u16_from_w64),
    FAST(u16, u32, 0, u32_from_u16),
};

static handler *find_fast(uint32_t aux)
{
    for (size_t i = 0; i < sizeof fast / sizeof fast[0]; i++)
        if (fast[i].to == convert_to(aux) && fast[i].from == convert_from(aux) &&
            fast[i].mode == (aux & ~UINT32_C(0xffff)))
            return fast[i].run;
    return NULL;
}

/* ---- decoding ---- */

static uint32_t mode_words(const struct decoder *d)
{
    static const struct {
        enum ptx_word word;
        uint32_t aux;
    } words[] = {
        {PTX_WORD_rz, ROUND_ZERO << CVT_MODE},
        {PTX_WORD_rm, ROUND_DOWN << CVT_MODE},
        {PTX_WORD_rp, ROUND_UP << CVT_MODE},
        {PTX_WORD_rna, ROUND_AWAY << CVT_MODE},
        {PTX_WORD_rni, CVT_INTEGRAL},
        {PTX_WORD_rzi, ROUND_ZERO << CVT_MODE | CVT_INTEGRAL},
        {PTX_WORD_rmi, ROUND_DOWN << CVT_MODE | CVT_INTEGRAL},
        {PTX_WORD_rpi, ROUND_UP << CVT_MODE | CVT_INTEGRAL},
        {PTX_WORD_ftz, CVT_FTZ},
        {PTX_WORD_sat, CVT_SAT},
        {PTX_WORD_relu, CVT_RELU},
        {PTX_WORD_satfinite, CVT_FINITE},
    };
    uint32_t aux = 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        aux |= form_has(d, words[i].word) ? words[i].aux : 0;
    return aux;
}

static bool is_pair(enum ptx_type t)
{
    return t == PTX_TYPE_f16x2 || t == PTX_TYPE_bf16x2 || t == PTX_TYPE_e4m3x2 ||
           t == PTX_TYPE_e5m2x2;
}

static bool is_known(enum ptx_type t)
{
    char class = ptx_type_class(t);
    bool integer = (class == 'u' || class == 's') && t != PTX_TYPE_u16x2 && t != PTX_TYPE_s16x2 &&
                   ptx_type_bits(t) >= 8;
    return (integer && t != PTX_TYPE_u8x4 && t != PTX_TYPE_s8x4) || t == PTX_TYPE_f64 ||
           (convert_format(t) && t != PTX_TYPE_e4m3 && t != PTX_TYPE_e5m2);
}

static bool emit_cvt(struct decoder *d, uint32_t aux, handler *run, uint32_t operands)
{
    enum ptx_type to = convert_to(aux), from = convert_from(aux);
    uint32_t refs[2] = {0};
    if (!decode_count_is(d, operands + 1))
        return false;
    for (uint32_t i = 0; i < operands; i++)
        if (!(refs[i] = decode_source_relaxed(d, &d->operands[i + 1], from)))
            return false;
    uint32_t result = decode_result_relaxed(d, &d->operands[0], to);
    struct op *op = result ? decode_emit(d, run) : NULL;
    if (!op)
        return false;
    op->d = result, op->a = refs[0], op->b = refs[1];
    op->aux = aux;
    return decode_widen(d);
}

static bool decode_cvt(struct decoder *d, const struct row *row)
{
    (void)row;
    enum ptx_type to = (enum ptx_type)d->form->types[0], from = (enum ptx_type)d->form->types[1];
    bool unknown =
        d->form->type_count != 2 || form_has(d, PTX_WORD_rs) || !is_known(to) || !is_known(from);
    if (unknown || (is_pair(from) && !is_pair(to)))
        return decode_emit(d, run_unsupported) != NULL;
    uint32_t aux = (uint32_t)to | (uint32_t)from << CVT_FROM | mode_words(d);
    handler *run = find_fast(aux);
    if (is_pair(to))
        return emit_cvt(d, aux,
                        run             ? run
                        : is_pair(from) ? cvt_packed
                                        : cvt_pair,
                        is_pair(from) ? 1 : 2);
    const struct ptx_operand *o = &d->operands[0];
    if (ptx_type_class(to) == 's' && o->kind == PTX_OPERAND_REG && o->index < d->fn->reg_count &&
        ptx_type_bits((enum ptx_type)d->fn->reg_types[o->index]) == 16)
        aux |= CVT_SIGN16;
    return emit_cvt(d, aux, run && !(aux & CVT_SIGN16) ? run : cvt_any, 1);
}

/* ---- cvt.pack: aux is the type packed to, a and b signed 32-bit, c shifted up ---- */

HANDLER(cvt_pack)
{
    uint32_t *d = vm_row(w, op->d);
    const uint32_t *a = vm_row(w, op->a), *b = vm_row(w, op->b), *c = vm_row(w, op->c);
    enum ptx_type to = (enum ptx_type)op->aux;
    uint32_t bits = ptx_type_bits(to), mask = (UINT32_C(1) << bits) - 1;
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint32_t x = (uint32_t)convert_clamp((int32_t)a[i], PTX_TYPE_s32, to) & mask;
        uint32_t y = (uint32_t)convert_clamp((int32_t)b[i], PTX_TYPE_s32, to) & mask;
        d[i] = (bits < 16 ? c[i] << 2 * bits : 0) | x << bits | y;
    }
    return op + 1;
}

static bool decode_cvt_pack(struct decoder *d, const struct row *row)
{
    enum ptx_type to = (enum ptx_type)d->form->types[0];
    bool has_c = d->instr->operand_count == 4;
    if (ptx_type_bits(to) > 16 || d->form->types[1] != PTX_TYPE_s32 || d->instr->operand_count < 3)
        return decode_error(d, "operands do not fit");
    uint32_t a = decode_source(d, &d->operands[1], PTX_TYPE_b32);
    uint32_t b = a ? decode_source(d, &d->operands[2], PTX_TYPE_b32) : REF_NONE;
    uint32_t c = !b      ? REF_NONE
                 : has_c ? decode_source(d, &d->operands[3], PTX_TYPE_b32)
                         : decode_constant(d, 0, 0, WIDTH_32);
    uint32_t result = c ? decode_result(d, &d->operands[0], PTX_TYPE_b32) : REF_NONE;
    struct op *op = result ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->d = result, op->a = a, op->b = b, op->c = c;
    op->aux = to;
    return true;
}

const struct row ROWS_NAME(cvt)[] = {
    {"cvt", NULL, NULL, decode_cvt, 0},
    {"cvt.pack", NULL, cvt_pack, decode_cvt_pack, 0},
    ROWS_END,
};
