/* SPDX-License-Identifier: Apache-2.0
 * Strangers, part three: the mathematical library, half precision headers, mma.h. Results of the
 * library are held against the C library within a bound in units of the last place. */
#include "tests/unit/strangers.h"

#include <fenv.h>
#include <math.h>

#define EACH(count) for (uint32_t i = 0; i < (count); i++)

static float f32_at(const uint32_t *out, size_t i)
{
    float f;
    memcpy(&f, &out[i], 4);
    return f;
}

static double f64_at(const uint32_t *out, size_t i)
{
    double d;
    memcpy(&d, &out[i], 8);
    return d;
}

/* ---- mathematics.cu ---- */

/* `got` is `want` within `ulps` steps of a format with `digits` binary digits. */
static void near_to(const char *what, uint32_t i, double x, double got, double want, double ulps,
                    int digits)
{
    int exponent = 0;
    frexp(want, &exponent);
    double step = ldexp(1, (exponent < -125 && digits == 24 ? -125 : exponent) - digits);
    if (!(fabs(got - want) <= ulps * step) && !(isnan(got) && isnan(want)) && got != want)
        fail_msg("%s of %.9g (thread %u) is %.17g, not %.17g", what, x, i, got, want);
}

/* Greatest errors in the table of the programming guide, but 2 at least for fma against our steps.
 */
static void singles(const uint32_t *in, const uint32_t *out, const char *text)
{
    (void)text;
    EACH(64)
    {
        float x = fmaf((float)(in[i] % 20000), 0.001f, -10.0f);
        float y = fmaf((float)(in[i + 1] % 4000), 0.001f, -2.0f), p = fabsf(x) + 0.01f;
        const struct {
            const char *name;
            double want, ulps;
        } rows[] = {
            {"sinf", sin(x), 2},
            {"cosf", cos(x), 2},
            {"tanf", tan(y * 0.7f), 4},
            {"expf", exp(x), 2},
            {"exp2f", exp2(x), 2},
            {"exp10f", pow(10, y), 2},
            {"expm1f", expm1(y), 2},
            {"logf", log(p), 2},
            {"log2f", log2(p), 2},
            {"log10f", log10(p), 2},
            {"log1pf", log1p(p), 2},
            {"powf", pow(p, y), 4},
            {"sqrtf", sqrtf(p), 0},
            {"rsqrtf", 1 / sqrt(p), 2},
            {"cbrtf", cbrt(x), 2},
            {"x / p", x / p, 0},
            {"fmodf", fmodf(x, p * 0.3f), 0},
            {"atanf", atan(x), 2},
            {"atan2f", atan2(x, y), 3},
            {"asinf", asin(y * 0.49f), 2},
            {"acosf", acos(y * 0.49f), 2},
            {"sinhf", sinh(y), 3},
            {"coshf", cosh(y), 2},
            {"tanhf", tanh(x), 2},
            {"erff", erf(y), 2},
            {"erfcf", erfc(y), 4},
            {"tgammaf", tgamma(p), 5},
            {"lgammaf", NAN, 0}, /* no bound near its zeros */
            {"hypotf", hypot(x, y), 3},
            {"floorf", floorf(x), 0},
            {"ceilf", ceilf(x), 0},
            {"truncf", truncf(x), 0},
            {"roundf", roundf(x), 0},
            {"rintf", rintf(x), 0},
            {"fmaf", fmaf(x, y, p), 0},
            {"ldexpf", ldexpf(x, 5), 0},
            {"fdimf", fdimf(x, y), 0},
            {"sinpif", sin(3.14159265358979323846 * y), 2},
            {"asinhf", asinh(x), 3},
            {"acoshf", acosh(p + 1), 4},
            {"atanhf", atanh(y * 0.49f), 3},
            {"normcdff", erfc(-y / 1.4142135623730951) / 2, 5},
        };
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
            if (!isnan(rows[k].want))
                near_to(rows[k].name, i, x, f32_at(out, 64 * i + k), rows[k].want,
                        rows[k].ulps + 0.5, 24);
    }
}

static void doubles(const uint32_t *in, const uint32_t *out, const char *text)
{
    (void)text;
    EACH(64)
    {
        double x = fma((double)(in[i] % 20000), 0.001, -10.0);
        double y = fma((double)(in[i + 1] % 4000), 0.001, -2.0), p = fabs(x) + 0.01;
        const struct {
            const char *name;
            double want, ulps;
        } rows[] = {
            {"sin", sin(x), 2},
            {"cos", cos(x), 2},
            {"tan", tan(y * 0.7), 2},
            {"exp", exp(x), 1},
            {"exp2", exp2(x), 1},
            {"log", log(p), 1},
            {"log2", log2(p), 1},
            {"log10", log10(p), 1},
            {"pow", pow(p, y), 2},
            {"sqrt", sqrt(p), 0},
            {"rsqrt", 1 / sqrt(p), 2},
            {"cbrt", cbrt(x), 2},
            {"x / p", x / p, 0},
            {"fmod", fmod(x, p * 0.3), 0},
            {"atan", atan(x), 2},
            {"atan2", atan2(x, y), 2},
            {"asin", asin(y * 0.49), 2},
            {"sinh", sinh(y), 2},
            {"tanh", tanh(x), 2},
            {"erf", erf(y), 2},
            {"floor", floor(x), 0},
            {"rint", rint(x), 0},
            {"fma", fma(x, y, p), 0},
            {"hypot", hypot(x, y), 2},
            {"1 / p", 1 / p, 0},
            {"tgamma", tgamma(p), 12},
            {"sin of 1e8", sin(x * 1e8), 2},
            {"round", round(x), 0},
        };
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
            near_to(rows[k].name, i, x, f64_at(out, 64 * i + 2 * k), rows[k].want,
                    rows[k].ulps + (rows[k].ulps > 0), 53);
    }
}

static float in_mode(int mode, float (*f)(float, float), float a, float b)
{
    fesetround(mode);
    volatile float r = f(a, b);
    fesetround(FE_TONEAREST);
    return r;
}

static float sum_of(float a, float b)
{
    volatile float x = a, y = b;
    return x + y;
}

static float product_of(float a, float b)
{
    volatile float x = a, y = b;
    return x * y;
}

static float square_and_more(float a, float b)
{
    return fmaf(a, b, a);
}

static void intrinsics(const uint32_t *in, const uint32_t *out, const char *text)
{
    (void)text;
    EACH(64)
    {
        float x = fmaf((float)(in[i] % 20000), 0.001f, -10.0f), p = fabsf(x) + 0.01f;
        const float *r = (const float *)(const void *)&out[32 * i];
        assert_true(fabs(r[0] - sin(x * 0.3f)) < 0x1p-20 && fabs(r[1] - cos(x * 0.3f)) < 0x1p-20);
        near_to("__expf", i, x, r[2], exp(x), 2 + fabs(1.173 * x) + 1, 24);
        assert_true(fabs(r[3] - log(p)) < 0x1p-21 || fabs(r[3] - log(p)) < fabs(log(p)) * 0x1p-21);
        near_to("__powf", i, x, r[4], pow(p, 1.5), 16, 24);
        near_to("__fdividef", i, x, r[5], (double)x / p, 2.5, 24);
        const float want[] = {1 / p,
                              sqrtf(p),
                              (float)(1 / sqrt(p)),
                              in_mode(FE_TOWARDZERO, sum_of, x, p),
                              in_mode(FE_UPWARD, product_of, x, p),
                              in_mode(FE_DOWNWARD, square_and_more, x, p),
                              x / p,
                              x < 0   ? 0
                              : x > 1 ? 1
                                      : x,
                              rintf(x),
                              truncf(p),
                              (float)(int32_t)in[i],
                              (float)(x / 3.0)};
        for (size_t k = 0; k < sizeof want / sizeof want[0]; k++)
            if (r[6 + k] != want[k])
                fail_msg("intrinsic %zu of %.9g is %.9g, not %.9g", k, x, r[6 + k], want[k]);
    }
}

static void mathematics(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"singles", 1, 64, false, 0, NULL, singles},
        {"doubles", 1, 64, false, 0, NULL, doubles},
        {"intrinsics", 1, 64, false, 0, NULL, intrinsics},
    };
    STRANGER_ROWS("mathematics", rows);
}

/* ---- halves.cu: values that every format holds exactly, unless said ---- */

static float small(uint32_t x)
{
    return (float)(x % 64) - 32;
}

static float most(float a, float b)
{
    return a > b ? a : b;
}

static float least(float a, float b)
{
    return a < b ? a : b;
}

static void halves(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        float a = small(in[i]), b = small(in[i + 1]), c = small(in[i + 2]);
        float r = (a + b) + (a - c) + b * c + (a * b + c) + most(a, b) + least(b, c) + fabsf(a) - b;
        r += a > b ? 1000 : 0;
        r += a * b + (a + b) + (b * c + (b + c)) + most(a, b) + most(b * c + b, 0);
        r += truncf(a) + fabsf(b) + (float)(in[i] % 100);
        r += rintf(a / 2) + floorf(b * 0.5f) + (a == b && b == c ? 1 : 0) + most(a, c) + 7;
        out[i] = (uint32_t)(int32_t)r;
    }
}

/* To eight binary digits, ties to even. */
static float brain(float v)
{
    int exponent;
    frexpf(v, &exponent);
    return ldexpf(rintf(ldexpf(v, 8 - exponent)), exponent - 8);
}

static void brains(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        float a = small(in[i]), b = small(in[i + 1]), c = small(in[i + 2]);
        float r = (a + b) + (a - c) + most(a, b) + least(b, c) + fabsf(a) - b + (a > b ? 1000 : 0);
        r += most(a, b) + (b + c) + brain(a * 2 + b);
        out[i] = (uint32_t)(int32_t)r;
    }
}

/* Nearest of an 8-bit format with `digits` mantissa bits, ties to even, clamped to the greatest. */
static uint32_t narrow(float v, int digits, int bias, uint32_t greatest)
{
    uint32_t best = 0, sign = v < 0 ? 0x80 : 0;
    double least_distance = INFINITY;
    for (uint32_t k = 0; k <= greatest; k++) {
        int exponent = (int)(k >> digits), mantissa = (int)(k & ((1u << digits) - 1));
        double x = exponent ? ldexp(mantissa + (1 << digits), exponent - bias - digits)
                            : ldexp(mantissa, 1 - bias - digits);
        double distance = fabs(x - fabsf(v));
        if (distance < least_distance || (distance == least_distance && k % 2 == 0))
            best = k, least_distance = distance;
    }
    return best | sign;
}

static double widen(uint32_t bits, int digits, int bias)
{
    int exponent = (int)(bits & 0x7f) >> digits, mantissa = (int)(bits & ((1u << digits) - 1));
    double x = exponent ? ldexp(mantissa + (1 << digits), exponent - bias - digits)
                        : ldexp(mantissa, 1 - bias - digits);
    return bits & 0x80 ? -x : x;
}

static void bytes(const uint32_t *in, uint32_t *out)
{
    EACH(64)
    {
        float a = small(in[i]) * 0.25f, b = small(in[i + 1]) * 4;
        uint32_t x = narrow(a, 3, 7, 0x7e), y = narrow(b, 3, 7, 0x7e), z = narrow(a, 2, 15, 0x7b);
        out[4 * i] = x | y << 8 | z << 16;
        out[4 * i + 1] = x | y << 8;
        out[4 * i + 2] = z | narrow(b, 2, 15, 0x7b) << 8 | narrow(1, 2, 15, 0x7b) << 16 |
                         narrow(-2, 2, 15, 0x7b) << 24;
        float sum = (float)(widen(x, 3, 7) + widen(y, 3, 7)) + (float)widen(z, 2, 15);
        memcpy(&out[4 * i + 3], &sum, 4);
    }
}

static void half_headers(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"halves", 1, 64, false, 64, halves, NULL},
        {"brains", 1, 64, false, 64, brains, NULL},
        {"bytes", 1, 64, false, 256, bytes, NULL},
    };
    STRANGER_ROWS("halves", rows);
}

/* ---- matrices.cu ---- */

static int narrow_int(uint32_t x)
{
    return (int)(x % 9) - 4;
}

/* C = A B + 2; `bytes` of an element of C, as float, int or double. */
static void product(const uint32_t *in, uint32_t *out, int m, int n, int k, char type)
{
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            int sum = 2, at = row * n + column;
            for (int x = 0; x < k; x++)
                sum += narrow_int(in[row * k + x]) * narrow_int(in[512 + column * k + x]);
            float f = (float)sum;
            double d = sum;
            if (type == 'd')
                memcpy(&out[2 * at], &d, 8);
            else if (type == 'f')
                memcpy(&out[at], &f, 4);
            else
                memcpy(&out[at], &sum, 4);
        }
}

#define PRODUCT(name, m, n, k, type)                                                               \
    static void name(const uint32_t *in, uint32_t *out)                                            \
    {                                                                                              \
        product(in, out, m, n, k, type);                                                           \
    }
PRODUCT(product_f16, 16, 16, 16, 'f')
PRODUCT(product_f16_wide, 8, 32, 16, 'f')
PRODUCT(product_bf16, 32, 8, 16, 'f')
PRODUCT(product_tf32, 16, 16, 8, 'f')
PRODUCT(product_s8, 16, 16, 16, 'i')
PRODUCT(product_f64, 8, 8, 4, 'd')

static void product_u4(const uint32_t *in, uint32_t *out)
{
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++) {
            uint32_t sum = 3;
            for (int x = 0; x < 32; x++)
                sum += (in[row * 4 + x / 8] >> 4 * (x % 8) & 15) *
                       (in[32 + column * 4 + x / 8] >> 4 * (x % 8) & 15);
            out[row * 8 + column] = sum;
        }
}

static void product_b1(const uint32_t *in, uint32_t *out)
{
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++)
            for (int x = 0; x < 4; x++)
                out[row * 8 + column] +=
                    (uint32_t)__builtin_popcount(in[row * 4 + x] & in[32 + column * 4 + x]);
}

static void matrices(void **state)
{
    (void)state;
    static const struct stranger rows[] = {
        {"product_f16", 1, 32, false, 256, product_f16, NULL},
        {"product_f16_wide", 1, 32, false, 256, product_f16_wide, NULL},
        {"product_bf16", 1, 32, false, 256, product_bf16, NULL},
        {"product_tf32", 1, 32, false, 256, product_tf32, NULL},
        {"product_s8", 1, 32, false, 256, product_s8, NULL},
        {"product_f64", 1, 32, false, 128, product_f64, NULL},
        {"product_u4", 1, 32, false, 64, product_u4, NULL},
        {"product_b1", 1, 32, false, 64, product_b1, NULL},
    };
    STRANGER_ROWS("matrices", rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mathematics),
        cmocka_unit_test(half_headers),
        cmocka_unit_test(matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
