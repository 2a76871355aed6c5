/* SPDX-License-Identifier: Apache-2.0
 * setp, set, testp: comparisons into predicates, with an optional second predicate and Boolean
 * combination. */
#include "evaluator/ptxvm/lanes.h"

#include <math.h>

#include "evaluator/ptxvm/floats.h"

/* ---- comparisons: one handler for each kind of operand and test ---- */

#define AS_IS(v) (v)
#define LOW(v) ((v)&0xffff)
#define F16_LOW(v) f16_widen((v)&0xffff)
#define F16_HIGH(v) f16_widen((v) >> 16)
#define F16_LOW_FTZ(v) ((v)&0x7c00 ? f16_widen((v)&0xffff) : 0)
#define F16_HIGH_FTZ(v) ((v) >> 16 & 0x7c00 ? f16_widen((v) >> 16) : 0)
#define BF16_LOW(v) bf16_widen((v)&0xffff)
#define BF16_HIGH(v) bf16_widen((v) >> 16)

#define TEST(kind, test, T, IN, condition)                                                         \
    HANDLER(test##_##kind)                                                                         \
    {                                                                                              \
        const T *ra = vm_row(w, op->a), *rb = vm_row(w, op->b);                                    \
        uint32_t bits = 0;                                                                         \
        EACH_LANE bits |= (condition(IN(ra[i]), IN(rb[i]))) ? lane_bit[i] : 0;                     \
        vm_set_pred(w, op->d, exec, bits);                                                         \
        return op + 1;                                                                             \
    }
#define C_EQ(a, b) (a) == (b)
#define C_NE(a, b) (a) != (b)
#define C_LT(a, b) (a) < (b)
#define C_LE(a, b) (a) <= (b)
#define C_GT(a, b) (a) > (b)
#define C_GE(a, b) (a) >= (b)
/* Ordered "not equal", and unordered forms, which hold if an operand is NaN. */
#define C_NEO(a, b) (a)<(b) || (a)>(b)
#define C_EQU(a, b) !((a) < (b) || (a) > (b))
#define C_NEU(a, b) (a) != (b)
#define C_LTU(a, b) !((a) >= (b))
#define C_LEU(a, b) !((a) > (b))
#define C_GTU(a, b) !((a) <= (b))
#define C_GEU(a, b) !((a) < (b))
#define C_NUM(a, b) (a) == (a) && (b) == (b)
#define C_NAN(a, b) (a) != (a) || (b) != (b)

#define EQUALITY(kind, T, IN) TEST(kind, eq, T, IN, C_EQ) TEST(kind, ne, T, IN, C_NE)
#define ORDER(kind, T, IN)                                                                         \
    TEST(kind, lt, T, IN, C_LT)                                                                    \
    TEST(kind, le, T, IN, C_LE) TEST(kind, gt, T, IN, C_GT) TEST(kind, ge, T, IN, C_GE)
#define FLOATING(kind, T, IN)                                                                      \
    TEST(kind, eq, T, IN, C_EQ)                                                                    \
    TEST(kind, ne, T, IN, C_NEO)                                                                   \
    ORDER(kind, T, IN)                                                                             \
    TEST(kind, equ, T, IN, C_EQU)                                                                  \
    TEST(kind, neu, T, IN, C_NEU)                                                                  \
    TEST(kind, ltu, T, IN, C_LTU)                                                                  \
    TEST(kind, leu, T, IN, C_LEU)                                                                  \
    TEST(kind, gtu, T, IN, C_GTU)                                                                  \
    TEST(kind, geu, T, IN, C_GEU)                                                                  \
    TEST(kind, num, T, IN, C_NUM)                                                                  \
    TEST(kind, nan, T, IN, C_NAN)

#define TO_S16(v) ((int16_t)(v))
EQUALITY(b16, uint32_t, LOW)
ORDER(u16, uint32_t, LOW)
ORDER(s16, uint32_t, TO_S16)
EQUALITY(b32, uint32_t, AS_IS)
ORDER(u32, uint32_t, AS_IS)
ORDER(s32, int32_t, AS_IS)
EQUALITY(b64, uint64_t, AS_IS)
ORDER(u64, uint64_t, AS_IS)
ORDER(s64, int64_t, AS_IS)
FLOATING(f32, float, AS_IS)
FLOATING(f32ftz, float, f32_flush)
FLOATING(f64, double, AS_IS)
FLOATING(f16, uint32_t, F16_LOW)
FLOATING(f16hi, uint32_t, F16_HIGH)
FLOATING(f16ftz, uint32_t, F16_LOW_FTZ)
FLOATING(f16ftzhi, uint32_t, F16_HIGH_FTZ)
FLOATING(bf16, uint32_t, BF16_LOW)
FLOATING(bf16hi, uint32_t, BF16_HIGH)

enum kind {
    KIND_U16,
    KIND_S16,
    KIND_U32,
    KIND_S32,
    KIND_U64,
    KIND_S64,
    KIND_F32,
    KIND_F32FTZ,
    KIND_F64,
    KIND_F16,
    KIND_F16HI,
    KIND_F16FTZ,
    KIND_F16FTZHI,
    KIND_BF16,
    KIND_BF16HI,
    KIND_COUNT
};

#define EQUAL_ROW(t)                                                                               \
    {                                                                                              \
        t##_b16, t##_b16, t##_b32, t##_b32, t##_b64, t##_b64, t##_f32, t##_f32ftz, t##_f64,        \
            t##_f16, t##_f16hi, t##_f16ftz, t##_f16ftzhi, t##_bf16, t##_bf16hi                     \
    }
#define ORDER_ROW(t)                                                                               \
    {                                                                                              \
        t##_u16, t##_s16, t##_u32, t##_s32, t##_u64, t##_s64, t##_f32, t##_f32ftz, t##_f64,        \
            t##_f16, t##_f16hi, t##_f16ftz, t##_f16ftzhi, t##_bf16, t##_bf16hi                     \
    }
#define UNSIGNED_ROW(t)                                                                            \
    {                                                                                              \
        t##_u16, t##_u16, t##_u32, t##_u32, t##_u64, t##_u64, NULL, NULL, NULL, NULL, NULL, NULL,  \
            NULL, NULL, NULL                                                                       \
    }
#define FLOAT_ROW(t)                                                                               \
    {                                                                                              \
        NULL, NULL, NULL, NULL, NULL, NULL, t##_f32, t##_f32ftz, t##_f64, t##_f16, t##_f16hi,      \
            t##_f16ftz, t##_f16ftzhi, t##_bf16, t##_bf16hi                                         \
    }

static const struct {
    enum ptx_word word;
    handler *run[KIND_COUNT];
} tests[] = {
    {PTX_WORD_eq, EQUAL_ROW(eq)},    {PTX_WORD_ne, EQUAL_ROW(ne)},
    {PTX_WORD_lt, ORDER_ROW(lt)},    {PTX_WORD_le, ORDER_ROW(le)},
    {PTX_WORD_gt, ORDER_ROW(gt)},    {PTX_WORD_ge, ORDER_ROW(ge)},
    {PTX_WORD_lo, UNSIGNED_ROW(lt)}, {PTX_WORD_ls, UNSIGNED_ROW(le)},
    {PTX_WORD_hi, UNSIGNED_ROW(gt)}, {PTX_WORD_hs, UNSIGNED_ROW(ge)},
    {PTX_WORD_equ, FLOAT_ROW(equ)},  {PTX_WORD_neu, FLOAT_ROW(neu)},
    {PTX_WORD_ltu, FLOAT_ROW(ltu)},  {PTX_WORD_leu, FLOAT_ROW(leu)},
    {PTX_WORD_gtu, FLOAT_ROW(gtu)},  {PTX_WORD_geu, FLOAT_ROW(geu)},
    {PTX_WORD_num, FLOAT_ROW(num)},  {PTX_WORD_nan, FLOAT_ROW(nan)},
};

static int kind_of(const struct decoder *d, enum ptx_type t)
{
    switch (t) {
    case PTX_TYPE_b16:
    case PTX_TYPE_u16:
        return KIND_U16;
    case PTX_TYPE_s16:
        return KIND_S16;
    case PTX_TYPE_b32:
    case PTX_TYPE_u32:
        return KIND_U32;
    case PTX_TYPE_s32:
        return KIND_S32;
    case PTX_TYPE_b64:
    case PTX_TYPE_u64:
        return KIND_U64;
    case PTX_TYPE_s64:
        return KIND_S64;
    case PTX_TYPE_f32:
        return form_has(d, PTX_WORD_ftz) ? KIND_F32FTZ : KIND_F32;
    case PTX_TYPE_f64:
        return KIND_F64;
    case PTX_TYPE_f16:
    case PTX_TYPE_f16x2:
        return form_has(d, PTX_WORD_ftz) ? KIND_F16FTZ : KIND_F16;
    case PTX_TYPE_bf16:
    case PTX_TYPE_bf16x2:
        return KIND_BF16;
    default:
        return KIND_COUNT;
    }
}

/* Handler for the test that the form names on operands of type t; `high`: of the upper halves. */
static handler *find_test(struct decoder *d, enum ptx_type t, bool high)
{
    int kind = kind_of(d, t);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0] && kind < KIND_COUNT; i++)
        if (d->form->words[0] == tests[i].word && tests[i].run[kind + high])
            return tests[i].run[kind + high];
    decode_error(d, "there is no such comparison");
    return NULL;
}

/* Boolean operator of the form: NULL if there is none. */
static handler *find_logic(const struct decoder *d)
{
    return form_has(d, PTX_WORD_and)   ? run_pred_and
           : form_has(d, PTX_WORD_or)  ? run_pred_or
           : form_has(d, PTX_WORD_xor) ? run_pred_xor
                                       : NULL;
}

static bool emit_logic(struct decoder *d, handler *run, uint32_t to, uint32_t a, uint32_t b)
{
    struct op *op = decode_emit(d, run);
    if (op)
        op->d = to, op->a = a, op->b = b;
    return op != NULL;
}

/* Emits the test into `to`, combined with predicate c where there is one. */
static bool emit_test(struct decoder *d, handler *test, uint32_t to, uint32_t a, uint32_t b,
                      uint32_t c)
{
    handler *logic = find_logic(d);
    uint32_t bare = logic ? decode_temp(d, WIDTH_PRED) : to;
    struct op *op = bare ? decode_emit(d, test) : NULL;
    if (!op)
        return false;
    op->d = bare, op->a = a, op->b = b;
    return !logic || emit_logic(d, logic, to, bare, c);
}

/* Operands a, b and, with a Boolean operator, c. */
static bool decode_tested(struct decoder *d, enum ptx_type type, uint32_t *a, uint32_t *b,
                          uint32_t *c)
{
    bool logic = find_logic(d) != NULL;
    if (!decode_count_is(d, logic ? 4 : 3))
        return false;
    *a = decode_source(d, &d->operands[1], type);
    *b = *a ? decode_source(d, &d->operands[2], type) : REF_NONE;
    *c = *b && logic ? decode_pred(d, &d->operands[3]) : REF_NONE;
    return *b && (!logic || *c);
}

/* The second result of setp is the test of the upper halves, or the opposite of the first. */
static bool emit_second(struct decoder *d, enum ptx_type type, bool packed, uint32_t to, uint32_t a,
                        uint32_t b, uint32_t c, handler *test)
{
    if (packed) {
        handler *high = find_test(d, type, true);
        return high && emit_test(d, high, to, a, b, c);
    }
    handler *logic = find_logic(d);
    uint32_t bare = decode_temp(d, WIDTH_PRED), opposite = decode_temp(d, WIDTH_PRED);
    struct op *op = bare && opposite ? decode_emit(d, test) : NULL;
    if (!op)
        return false;
    op->d = bare, op->a = a, op->b = b;
    op = decode_emit(d, run_pred_not);
    if (!op)
        return false;
    op->d = logic ? opposite : to;
    op->a = bare;
    return !logic || emit_logic(d, logic, to, opposite, c);
}

static bool decode_setp(struct decoder *d, const struct row *row)
{
    (void)row;
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    bool packed = type == PTX_TYPE_f16x2 || type == PTX_TYPE_bf16x2;
    handler *test = find_test(d, type, false);
    uint32_t a, b, c, count;
    if (!test || !decode_tested(d, type, &a, &b, &c))
        return false;
    const struct ptx_operand *results = decode_elements(d, &d->operands[0], &count);
    if (count < 1 || count > 2)
        return decode_error(d, "%u results", count);
    uint32_t p = decode_pred_result(d, &results[0]);
    uint32_t q = count == 2 && p ? decode_pred_result(d, &results[1]) : REF_NONE;
    if (!p || (count == 2 && !q))
        return false;
    /* c may be one of the results: what needs it comes before the results are written. */
    uint32_t first = q ? decode_temp(d, WIDTH_PRED) : p;
    if (!first || !emit_test(d, test, first, a, b, c))
        return false;
    return !q || (emit_second(d, type, packed, q, a, b, c, test) &&
                  emit_logic(d, run_pred_and, p, first, REF_FIXED(VM_PRED_TRUE)));
}

/* d = a predicate as a value: imm where it holds. */
HANDLER(set_value)
{
    uint32_t *d = vm_row(w, op->d);
    uint32_t low = w->preds[op->a], high = w->preds[op->b];
    uint32_t low_value = (uint32_t)op->imm, high_value = op->aux;
    LANES_STORE(uint32_t, (void)0,
                (low & lane_bit[i] ? low_value : 0) | (high & lane_bit[i] ? high_value : 0))
    return op + 1;
}

static bool decode_set(struct decoder *d, const struct row *row)
{
    (void)row;
    enum ptx_type to = (enum ptx_type)d->form->types[0], type = (enum ptx_type)d->form->types[1];
    bool packed = type == PTX_TYPE_f16x2 || type == PTX_TYPE_bf16x2;
    uint32_t a, b, c, low = decode_temp(d, WIDTH_PRED), high = REF_FIXED(VM_PRED_FALSE);
    handler *test = d->form->type_count == 2 ? find_test(d, type, false) : NULL;
    if (!test)
        return decode_error(d, "needs two types");
    if (!low || !decode_tested(d, type, &a, &b, &c) || !emit_test(d, test, low, a, b, c))
        return false;
    if (packed) {
        handler *upper = find_test(d, type, true);
        high = decode_temp(d, WIDTH_PRED);
        if (!upper || !high || !emit_test(d, upper, high, a, b, c))
            return false;
    }
    uint32_t result = decode_result(d, &d->operands[0], to);
    struct op *op = result ? decode_emit(d, set_value) : NULL;
    if (!op)
        return false;
    uint32_t one = to == PTX_TYPE_f32                             ? 0x3f800000
                   : to == PTX_TYPE_f16 || to == PTX_TYPE_f16x2   ? 0x3c00
                   : to == PTX_TYPE_bf16 || to == PTX_TYPE_bf16x2 ? 0x3f80
                   : packed || ptx_type_bits(to) == 16            ? 0xffff
                                                                  : UINT32_MAX;
    op->d = result, op->a = low, op->b = high;
    op->imm = one;
    op->aux = one << 16;
    return true;
}

/* ---- testp ---- */

#define CLASS(name, T, test)                                                                       \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        const T *ra = vm_row(w, op->a);                                                            \
        uint32_t bits = 0;                                                                         \
        EACH_LANE                                                                                  \
        {                                                                                          \
            const T a = ra[i];                                                                     \
            bits |= (test) ? lane_bit[i] : 0;                                                      \
        }                                                                                          \
        vm_set_pred(w, op->d, exec, bits);                                                         \
        return op + 1;                                                                             \
    }
/* Zeros count as normal. */
#define TESTP(kind, T, exponent, mantissa)                                                         \
    CLASS(finite_##kind, T, (a & exponent) != exponent)                                            \
    CLASS(infinite_##kind, T, (a & (exponent | mantissa)) == exponent)                             \
    CLASS(number_##kind, T, (a & (exponent | mantissa)) <= exponent)                               \
    CLASS(notanumber_##kind, T, (a & (exponent | mantissa)) > exponent)                            \
    CLASS(normal_##kind, T,                                                                        \
          (a & exponent) != exponent && ((a & exponent) != 0 || (a & mantissa) == 0))              \
    CLASS(subnormal_##kind, T, (a & exponent) == 0 && (a & mantissa) != 0)
TESTP(f32, uint32_t, 0x7f800000u, 0x007fffffu)
TESTP(f64, uint64_t, UINT64_C(0x7ff0000000000000), UINT64_C(0x000fffffffffffff))

#define TESTPS(name)                                                                               \
    {"testp." #name ".f32", "p:f", name##_f32, NULL, 0},                                           \
    {                                                                                              \
        "testp." #name ".f64", "p:g", name##_f64, NULL, 0                                          \
    }

const struct row ROWS_NAME(compare)[] = {
    {"setp", NULL, NULL, decode_setp, 0},
    {"set", NULL, NULL, decode_set, 0},
    TESTPS(finite),
    TESTPS(infinite),
    TESTPS(number),
    TESTPS(notanumber),
    TESTPS(normal),
    TESTPS(subnormal),
    ROWS_END,
};
