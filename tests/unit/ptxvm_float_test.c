/* SPDX-License-Identifier: Apache-2.0
 * Floating point: narrowing exhaustively between neighbours of every small format in every mode,
 * directed rounding against exact residuals, special values, conversions, approximations. */
#include "tests/unit/ptxvm_kit.h"

#include <math.h>

#include "evaluator/ptxvm/floats.h"

/* ---- formats: widening by the definition, narrowing by looking at both neighbours ---- */

static double define(uint32_t bits, int exponent_bits, int mantissa_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1,
        e = (int)(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
    double m = bits & ((1u << mantissa_bits) - 1);
    return e ? ldexp(1 + ldexp(m, -mantissa_bits), e - bias) : ldexp(m, 1 - bias - mantissa_bits);
}

static uint32_t pick(uint32_t lo, double low, double high, double v, enum rounding mode)
{
    double middle = (low + high) / 2;
    switch (mode) {
    case ROUND_ZERO:
    case ROUND_DOWN:
        return v == high ? lo + 1 : lo;
    case ROUND_UP:
        return v == low ? lo : lo + 1;
    case ROUND_AWAY:
        return v >= middle ? lo + 1 : lo;
    default:
        return v > middle || (v == middle && lo & 1) ? lo + 1 : lo;
    }
}

/* Points in and around the gap between positive values lo and lo + 1. */
static void check_gap(const struct float_format *f, uint32_t lo, bool vectors)
{
    double low = define(lo, f->exponent_bits, f->mantissa_bits);
    double high = define(lo + 1, f->exponent_bits, f->mantissa_bits), gap = high - low;
    const double points[] = {low,           low + gap / 1024,           low + gap / 2 - gap / 1024,
                             low + gap / 2, low + gap / 2 + gap / 1024, high - gap / 1024,
                             high};
    uint32_t sign = 1u << (f->exponent_bits + f->mantissa_bits);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        for (enum rounding m = ROUND_NEAREST; m <= ROUND_AWAY; m++) {
            uint32_t want = pick(lo, low, high, points[i], m);
            assert_int_equal(float_narrow(points[i], f, m, false), want);
            enum rounding mirror = m == ROUND_UP ? ROUND_DOWN : m == ROUND_DOWN ? ROUND_UP : m;
            if (points[i] > 0)
                assert_int_equal(float_narrow(-points[i], f, mirror, false), sign | want);
        }
        if (vectors && (double)(float)points[i] == points[i]) {
            uint32_t want = pick(lo, low, high, points[i], ROUND_NEAREST);
            uint32_t got =
                f == &format_f16 ? f16_nearest((float)points[i]) : bf16_nearest((float)points[i]);
            assert_int_equal(got, want);
        }
    }
}

static void narrowing_is_right_between_all_neighbours(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7bff; h++)
        check_gap(&format_f16, h, true);
    for (uint32_t h = 0; h < 0x7f7f; h++)
        check_gap(&format_bf16, h, true);
    for (uint32_t h = 0; h < 0x7e; h++)
        check_gap(&format_e4m3, h, false);
    for (uint32_t h = 0; h < 0x7b; h++)
        check_gap(&format_e5m2, h, false);
    for (uint32_t h = 0; h < 0x3fbff; h += 7)
        check_gap(&format_tf32, h, false);
}

static void widening_and_back_is_the_identity(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        if ((h & 0x7fff) <= 0x7c00) {
            double want = (h & 0x7fff) == 0x7c00 ? INFINITY : define(h & 0x7fff, 5, 10);
            assert_true((double)f16_widen(h) == (h >> 15 ? -want : want));
            assert_int_equal(f16_nearest(f16_widen(h)), h);
            assert_int_equal(float_narrow(f16_widen(h), &format_f16, ROUND_ZERO, false), h);
        } else {
            assert_true(isnan(f16_widen(h)) && f16_nearest(f16_widen(h)) == 0x7fff);
        }
        if ((h & 0x7fff) <= 0x7f80)
            assert_int_equal(bf16_nearest(bf16_widen(h)), h);
    }
    for (uint32_t h = 0; h < 0x100; h++)
        if ((h & 0x7f) != 0x7f)
            assert_int_equal(
                float_narrow(float_widen(h, &format_e4m3), &format_e4m3, ROUND_NEAREST, true), h);
}

static void narrowing_saturates_or_overflows(void **state)
{
    (void)state;
    assert_int_equal(f16_nearest(65519.0f), 0x7bff);
    assert_int_equal(f16_nearest(65520.0f), 0x7c00);
    assert_int_equal(float_narrow(1e9, &format_f16, ROUND_ZERO, false), 0x7bff);
    assert_int_equal(float_narrow(-1e9, &format_f16, ROUND_UP, false), 0xfbff);
    assert_int_equal(float_narrow(-1e9, &format_f16, ROUND_DOWN, false), 0xfc00);
    assert_int_equal(float_narrow(464.1, &format_e4m3, ROUND_NEAREST, true), 0x7e);
    assert_int_equal(float_narrow(-INFINITY, &format_e4m3, ROUND_NEAREST, true), 0xfe);
    assert_int_equal(float_narrow(1e6, &format_e5m2, ROUND_NEAREST, true), 0x7b);
    assert_int_equal(float_narrow(1e6, &format_e5m2, ROUND_NEAREST, false), 0x7c);
    assert_int_equal(float_narrow((double)NAN, &format_e4m3, ROUND_NEAREST, true), 0x7f);
    assert_int_equal(float_narrow(1e-320, &format_f16, ROUND_UP, false), 1);
}

/* ---- arithmetic: nearest by the host, directed by the sign of the exact residual ---- */

typedef uint64_t u64;

static float F(u64 v)
{
    return f32_from((uint32_t)v);
}

static u64 B(float v)
{
    return isnan(v) ? NAN_F32 : f32_bits(v);
}

/* Sign of (x + y) - r for values whose sum may need more bits than any type has. */
static int residual(long double x, long double y, long double r)
{
    long double s = x + y, t = s - x, e = (x - (s - t)) + (y - t);
    long double d = s - r, total = d + e;
    return total > 0 ? 1 : total < 0 ? -1 : 0;
}

enum { EXACT_INFINITY = 2 };

/* r: the nearest; side: sign of exact - r. */
static float directed(float r, int side, enum rounding mode)
{
    if (isnan(r) || mode == ROUND_NEAREST || side == EXACT_INFINITY)
        return r;
    if (isinf(r)) {
        bool stays = mode == (r > 0 ? ROUND_UP : ROUND_DOWN);
        return stays ? r : copysignf(3.40282347e38f, r);
    }
    if (side > 0 && mode == ROUND_UP)
        return nextafterf(r, INFINITY);
    if (side < 0 && mode == ROUND_DOWN)
        return nextafterf(r, -INFINITY);
    if (mode == ROUND_ZERO && ((side > 0 && r < 0) || (side < 0 && r > 0)))
        return nextafterf(r, 0);
    return r;
}

static enum rounding model_mode;

static u64 m_add(u64 a, u64 b, u64 c)
{
    (void)c;
    float r = F(a) + F(b);
    if (r == 0 && model_mode == ROUND_DOWN && (F(a) != 0 || F(b) != 0 || (a ^ b) >> 31))
        return 0x80000000; /* exact cancellation rounds to -0 downwards */
    return B(directed(r, isinf(F(a)) || isinf(F(b)) ? EXACT_INFINITY : residual(F(a), F(b), r),
                      model_mode));
}

static u64 m_mul(u64 a, u64 b, u64 c)
{
    (void)c;
    float r = F(a) * F(b);
    long double exact = (long double)F(a) * F(b);
    int side = isinf(F(a)) || isinf(F(b)) ? EXACT_INFINITY : exact > r ? 1 : exact < r ? -1 : 0;
    return B(directed(r, side, model_mode));
}

static u64 m_fma(u64 a, u64 b, u64 c)
{
    float r = fmaf(F(a), F(b), F(c));
    long double product = (long double)F(a) * F(b);
    bool infinite = isinf(F(a)) || isinf(F(b)) || isinf(F(c));
    if (r == 0 && model_mode == ROUND_DOWN && product + F(c) == 0 &&
        (product != 0 || F(c) != 0 || signbit((double)product) != signbit(F(c))))
        return 0x80000000;
    return B(directed(r, infinite ? EXACT_INFINITY : residual(product, F(c), r), model_mode));
}

static void directed_rounding(void **state)
{
    (void)state;
    static const char *const names[] = {"rn", "rz", "rm", "rp"};
    for (model_mode = ROUND_NEAREST; model_mode <= ROUND_UP; model_mode++) {
        char body[128];
        snprintf(body, sizeof body, "add.%s.f32 wr, wa, wb;", names[model_mode]);
        kit_check(&(struct kit_case){body, "wwww", m_add});
        snprintf(body, sizeof body, "mul.%s.f32 wr, wa, wb;", names[model_mode]);
        kit_check(&(struct kit_case){body, "wwww", m_mul});
        snprintf(body, sizeof body, "fma.%s.f32 wr, wa, wb, wc;", names[model_mode]);
        kit_check(&(struct kit_case){body, "wwww", m_fma});
    }
}

/* Known vectors: a, b, c as bits, results for rn rz rm rp. */
static void known_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *form, *operands;
        u64 a, b, c, want[4];
        bool wide;
    } v[] = {
        {"mul",
         "a, b",
         0x3f800001,
         0x3f800001,
         0,
         {0x3f800002, 0x3f800002, 0x3f800002, 0x3f800003},
         false},
        {"mul",
         "a, b",
         0xbf800001,
         0x3f800001,
         0,
         {0xbf800002, 0xbf800002, 0xbf800003, 0xbf800002},
         false},
        {"mul", "a, b", 0x00000001, 0x3f000000, 0, {0, 0, 0, 1}, false},
        {"mul",
         "a, b",
         0x7f7fffff,
         0x40000000,
         0,
         {0x7f800000, 0x7f7fffff, 0x7f7fffff, 0x7f800000},
         false},
        {"fma",
         "a, b, c",
         0x3f800001,
         0x3f800001,
         0xbf800002,
         {0x28800000, 0x28800000, 0x28800000, 0x28800000},
         false},
        {"fma",
         "a, b, c",
         0x3f800000,
         0x3f800000,
         0x30000000,
         {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800001},
         false},
        {"div",
         "a, b",
         0x3f800000,
         0x40400000,
         0,
         {0x3eaaaaab, 0x3eaaaaaa, 0x3eaaaaaa, 0x3eaaaaab},
         false},
        {"rcp", "a", 0x40400000, 0, 0, {0x3eaaaaab, 0x3eaaaaaa, 0x3eaaaaaa, 0x3eaaaaab}, false},
        {"sqrt", "a", 0x40000000, 0, 0, {0x3fb504f3, 0x3fb504f3, 0x3fb504f3, 0x3fb504f4}, false},
        {"add",
         "a, b",
         0x3ff0000000000000,
         0x3c90000000000000,
         0,
         {0x3ff0000000000000, 0x3ff0000000000000, 0x3ff0000000000000, 0x3ff0000000000001},
         true},
        {"div",
         "a, b",
         0x3ff0000000000000,
         0x4008000000000000,
         0,
         {0x3fd5555555555555, 0x3fd5555555555555, 0x3fd5555555555555, 0x3fd5555555555556},
         true},
        {"sqrt",
         "a",
         0x4000000000000000,
         0,
         0,
         {0x3ff6a09e667f3bcd, 0x3ff6a09e667f3bcc, 0x3ff6a09e667f3bcc, 0x3ff6a09e667f3bcd},
         true},
    };
    static const char *const names[] = {"rn", "rz", "rm", "rp"};
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
        for (int m = 0; m < 4; m++) {
            char ptx[1024];
            const char *type = v[i].wide ? "64" : "32";
            snprintf(
                ptx, sizeof ptx,
                KIT_HEAD
                ".visible .entry k(.param .u64 out) {.reg .b64 %%o; .reg .b%s a, b, c, d;"
                "ld.param.u64 %%o, [out]; mov.b%s a, 0x%llx; mov.b%s b, 0x%llx; mov.b%s c, 0x%llx;"
                "%s.%s.f%s d, %s; st.global.b%s [%%o], d; ret;}",
                type, type, (unsigned long long)v[i].a, type, (unsigned long long)v[i].b, type,
                (unsigned long long)v[i].c, v[i].form, names[m], type, v[i].operands, type);
            uint32_t out[2] = {0, 0};
            kit_words(ptx, 1, 1, out, 2);
            u64 got = out[0] | (u64)out[1] << 32;
            if (got != v[i].want[m])
                fail_msg("%s.%s.f%s #%zu: 0x%llx instead of 0x%llx", v[i].form, names[m], type, i,
                         (unsigned long long)got, (unsigned long long)v[i].want[m]);
        }
}

/* ---- flush, saturation, minimum, halves, conversions ---- */

static float flushed(float v)
{
    return fabsf(v) < 1.17549435e-38f ? copysignf(0, v) : v;
}

#define MODEL(name, expr)                                                                          \
    static u64 name(u64 a, u64 b, u64 c)                                                           \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return (u64)(expr);                                                                        \
    }
MODEL(m_add_ftz, B(flushed(flushed(F(a)) + flushed(F(b)))))
MODEL(m_mul_ftz, B(flushed(flushed(F(a)) * flushed(F(b)))))
MODEL(m_fma_sat, B(fmaxf(0, fminf(1, fmaf(F(a), F(b), F(c)))) + 0.0f))
MODEL(m_fma_sat_nan, isnan(fmaf(F(a), F(b), F(c))) ? 0 : m_fma_sat(a, b, c))
MODEL(m_neg_abs, a & 0x7fffffff ? (isnan(F(a)) ? NAN_F32 : a ^ 0x80000000) : a ^ 0x80000000)
MODEL(m_div, B(F(a) / F(b)))
MODEL(m_sqrt, B(sqrtf(F(a))))
MODEL(m_copysign, (b & 0x7fffffff) | (a & 0x80000000))
MODEL(m_d_fma, f64_bits(fma(f64_from(a), f64_from(b), f64_from(c))))

static u64 m_min(u64 a, u64 b, u64 c)
{
    (void)c;
    if (isnan(F(a)) || isnan(F(b)))
        return isnan(F(a)) && isnan(F(b)) ? NAN_F32 : isnan(F(a)) ? b : a;
    return F(a) == F(b) ? (signbit(F(a)) ? a : b) : F(a) < F(b) ? a : b;
}

static u64 m_max_nan(u64 a, u64 b, u64 c)
{
    (void)c;
    if (isnan(F(a)) || isnan(F(b)))
        return NAN_F32;
    return F(a) == F(b) ? (signbit(F(a)) ? b : a) : F(a) > F(b) ? a : b;
}

/* Halves: exact in long double (sums of f16 need 41 bits, products 22 and a sum 64). */
static u64 h_round(long double v, const struct float_format *f)
{
    double d = (double)v;
    if (!isnan(v) && !isinf(v) && (long double)d != v && !(f64_bits(d) & 1))
        d = nextafter(d, v > d ? INFINITY : -INFINITY); /* to odd */
    return float_narrow(d, f, ROUND_NEAREST, false);
}
#define H(x) ((long double)float_widen((uint32_t)(x)&0xffff, &format_f16))
#define Q(x) ((long double)float_widen((uint32_t)(x)&0xffff, &format_bf16))
MODEL(m_h_add, h_round(H(a) + H(b), &format_f16))
MODEL(m_h_mul, h_round(H(a) * H(b), &format_f16))
MODEL(m_h_fma, h_round(H(a) * H(b) + H(c), &format_f16))
MODEL(m_q_mul, h_round(Q(a) * Q(b), &format_bf16))
MODEL(m_h2_sub, h_round(H(a) - H(b), &format_f16) | h_round(H(a >> 16) - H(b >> 16), &format_f16)
                                                        << 16)
MODEL(m_h2_fma_relu,
      (m_h_fma(a, b, c) >> 15 ? 0 : m_h_fma(a, b, c)) |
          (m_h_fma(a >> 16, b >> 16, c >> 16) >> 15 ? 0 : m_h_fma(a >> 16, b >> 16, c >> 16)) << 16)

static int64_t to_int(double v, double lo, double hi, int64_t nan, int64_t low, int64_t high)
{
    return isnan(v) ? nan : v <= lo ? low : v >= hi ? high : (int64_t)v;
}
MODEL(m_rni, to_int(rint(F(a)), -2147483648.0, 2147483647.0, 0, INT32_MIN, INT32_MAX))
MODEL(m_rzi, to_int(trunc(F(a)), -2147483648.0, 2147483647.0, 0, INT32_MIN, INT32_MAX))
MODEL(m_rmi_u, to_int(floor(F(a)), 0, 4294967295.0, 0, 0, UINT32_MAX))
MODEL(m_rpi_u8, to_int(ceil(F(a)), 0, 255, 0, 0, 255))
MODEL(m_d_rzi_s64, to_int(trunc(f64_from(a)), -9223372036854775808.0, 9223372036854775808.0,
                          INT64_MIN, INT64_MIN, INT64_MAX))
MODEL(m_s32_f32, f32_bits((float)(int32_t)a))
MODEL(m_u64_f32, f32_bits((float)a))
MODEL(m_u64_f64, f64_bits((double)a))
MODEL(m_s64_f16, h_round((long double)(int64_t)a, &format_f16))
MODEL(m_f32_f64, f64_bits(F(a)))
MODEL(m_f64_f32, isnan(f64_from(a)) ? NAN_F32 | (a >> 63) << 31 : f32_bits((float)f64_from(a)))
MODEL(m_rmi_f32, B(floorf(F(a))))
MODEL(m_bf16x2, float_narrow(F(b), &format_bf16, ROUND_NEAREST, false) |
                    float_narrow(F(a), &format_bf16, ROUND_NEAREST, false) << 16)
MODEL(m_f16_rz, float_narrow(F(a), &format_f16, ROUND_ZERO, false))
MODEL(m_e4m3, float_narrow(F(b), &format_e4m3, ROUND_NEAREST, true) |
                  float_narrow(F(a), &format_e4m3, ROUND_NEAREST, true) << 8)
MODEL(m_e5m2_f16,
      float_narrow(float_widen(a & 0xff, &format_e5m2), &format_f16, ROUND_NEAREST, false) |
          float_narrow(float_widen(a >> 8 & 0xff, &format_e5m2), &format_f16, ROUND_NEAREST, false)
              << 16)
MODEL(m_tf32, isnan(F(a)) ? a & 0xffffe000 : isinf(F(a)) ? a : (a + 0x1000) & 0xffffe000)
MODEL(m_pack, (uint32_t)(int32_t)fmax(-32768, fmin(32767, (double)(int32_t)a)) << 16 |
                  ((uint32_t)(int32_t)fmax(-32768, fmin(32767, (double)(int32_t)b)) & 0xffff))

static u64 m_d_rzi(u64 a, u64 b, u64 c)
{
    return f64_from(a) >= 9223372036854775808.0 ? INT64_MAX : m_d_rzi_s64(a, b, c);
}

static const struct kit_case cases[] = {
    {"add.ftz.f32 wr, wa, wb;", "wwww", m_add_ftz},
    {"mul.ftz.f32 wr, wa, wb;", "wwww", m_mul_ftz},
    {"fma.rn.sat.f32 wr, wa, wb, wc;", "wwww", m_fma_sat_nan},
    {"neg.f32 wr, wa;", "wwww", m_neg_abs},
    {"div.rn.f32 wr, wa, wb;", "wwww", m_div},
    {"sqrt.rn.f32 wr, wa;", "wwww", m_sqrt},
    {"copysign.f32 wr, wa, wb;", "wwww", m_copysign},
    {"min.f32 wr, wa, wb;", "wwww", m_min},
    {"max.NaN.f32 wr, wa, wb;", "wwww", m_max_nan},
    {"add.f16 hr, ha, hb;", "hhhh", m_h_add},
    {"mul.rn.f16 hr, ha, hb;", "hhhh", m_h_mul},
    {"fma.rn.f16 hr, ha, hb, hc;", "hhhh", m_h_fma},
    {"mul.bf16 hr, ha, hb;", "hhhh", m_q_mul},
    {"sub.f16x2 wr, wa, wb;", "wwww", m_h2_sub},
    {"fma.rn.relu.f16x2 wr, wa, wb, wc;", "wwww", m_h2_fma_relu},
    {"cvt.rni.s32.f32 wr, wa;", "wwww", m_rni},
    {"cvt.rzi.s32.f32 wr, wa;", "wwww", m_rzi},
    {"cvt.rmi.u32.f32 wr, wa;", "wwww", m_rmi_u},
    {"cvt.rpi.u8.f32 wr, wa;", "wwww", m_rpi_u8},
    {"cvt.rzi.s64.f64 dr, da;", "dddd", m_d_rzi},
    {"cvt.rn.f32.s32 wr, wa;", "wwww", m_s32_f32},
    {"cvt.rn.f32.u64 wr, da;", "dddw", m_u64_f32},
    {"cvt.rn.f64.u64 dr, da;", "dddd", m_u64_f64},
    {"cvt.rn.f16.s64 hr, da;", "dddh", m_s64_f16},
    {"cvt.f64.f32 dt, wa; testp.notanumber.f64 p, dt; selp.b64 dr, 0, dt, p;", "wwwd", NULL},
    {"cvt.rn.f32.f64 wr, da;", "dddw", m_f64_f32},
    {"cvt.rmi.f32.f32 wr, wa;", "wwww", m_rmi_f32},
    {"cvt.rn.bf16x2.f32 wr, wa, wb;", "wwww", m_bf16x2},
    {"cvt.rz.f16.f32 hr, wa;", "wwwh", m_f16_rz},
    {"cvt.rn.satfinite.e4m3x2.f32 hr, wa, wb;", "wwwh", m_e4m3},
    {"cvt.rn.f16x2.e5m2x2 wr, ha;", "hhhw", m_e5m2_f16},
    {"cvt.rna.tf32.f32 wr, wa;", "wwww", m_tf32},
    {"cvt.pack.sat.s16.s32 wr, wa, wb;", "wwww", m_pack},
};

static u64 m_f32_f64_quiet(u64 a, u64 b, u64 c)
{
    return isnan(F(a)) ? 0 : m_f32_f64(a, b, c);
}

static void instructions_match_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kit_case t = cases[i];
        t.model = t.model ? t.model : m_f32_f64_quiet;
        kit_check(&t);
    }
}

/* f64 NaNs carry payloads that two's sources share: compare only numbers. */
static u64 m_d_fma_quiet(u64 a, u64 b, u64 c)
{
    u64 r = m_d_fma(a, b, c);
    return isnan(f64_from(r)) ? 0 : r;
}

static void double_fma(void **state)
{
    (void)state;
    kit_check(&(struct kit_case){
        "fma.rn.f64 dr, da, db, dc; testp.notanumber.f64 p, dr; selp.b64 dr, 0, dr, p;", "dddd",
        m_d_fma_quiet});
}

/* ---- comparisons with NaN ---- */

static const char *model_test;
static u64 m_test(u64 a, u64 b, u64 c)
{
    (void)c;
    bool nan = isnan(F(a)) || isnan(F(b)), unordered = model_test[2] == 'u';
    if (strcmp(model_test, "num") == 0 || strcmp(model_test, "nan") == 0)
        return model_test[1] == 'u' ? !nan : nan;
    if (nan)
        return unordered;
    return strncmp(model_test, "eq", 2) == 0   ? F(a) == F(b)
           : strncmp(model_test, "ne", 2) == 0 ? F(a) != F(b)
           : strncmp(model_test, "lt", 2) == 0 ? F(a) < F(b)
           : strncmp(model_test, "le", 2) == 0 ? F(a) <= F(b)
           : strncmp(model_test, "gt", 2) == 0 ? F(a) > F(b)
                                               : F(a) >= F(b);
}

static void comparisons(void **state)
{
    (void)state;
    static const char *const tests[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                        "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        char body[128];
        model_test = tests[i];
        snprintf(body, sizeof body, "setp.%s.f32 p, wa, wb; selp.b32 wr, 1, 0, p;", tests[i]);
        kit_check(&(struct kit_case){body, "wwww", m_test});
    }
}

/* ---- approximations: relative error of 2 units in the last place, where they are defined ---- */

static void approximations(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        double (*exact)(double);
    } v[] = {{"rcp", NULL}, {"sqrt", sqrt}, {"sin", sin},  {"cos", cos},
             {"lg2", log2}, {"ex2", exp2},  {"tanh", tanh}};
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        char ptx[1024];
        snprintf(
            ptx, sizeof ptx,
            KIT_HEAD
            ".visible .entry k(.param .u64 out) {.reg .b64 %%o, %%q; .reg .b32 %%r; .reg .f32 %%f;"
            "ld.param.u64 %%o, [out]; mov.u32 %%r, %%tid.x; mul.wide.u32 %%q, %%r, 4; add.u64 %%o, "
            "%%o, %%q;"
            "add.u32 %%r, %%r, 1; cvt.rn.f32.u32 %%f, %%r; mul.f32 %%f, %%f, 0f3C23D70A; "
            "%s.approx.f32 %%f, %%f;"
            "st.global.f32 [%%o], %%f; ret;}",
            v[i].form);
        uint32_t out[256];
        kit_words(ptx, 1, 256, out, 256);
        for (uint32_t k = 0; k < 256; k++) {
            float x = (float)(k + 1) * 0.01f;
            double want = v[i].exact ? v[i].exact(x) : 1.0 / (double)x;
            assert_true(fabs((double)F(out[k]) - want) <= 2.4e-7 * fabs(want) + 1e-9);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrowing_is_right_between_all_neighbours),
        cmocka_unit_test(widening_and_back_is_the_identity),
        cmocka_unit_test(narrowing_saturates_or_overflows),
        cmocka_unit_test(directed_rounding),
        cmocka_unit_test(known_vectors),
        cmocka_unit_test(instructions_match_models),
        cmocka_unit_test(double_fma),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(approximations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
