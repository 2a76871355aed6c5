/* SPDX-License-Identifier: Apache-2.0
 * f32 and f64 arithmetic. Round-to-nearest forms are plain loops; directed rounding sets the mode
 * of the host's unit around a loop whose operands are volatile, so that nothing moves across.
 *
 * Results that are NaN are the hardware's 0x7fffffff for f32; for f64 the host's, which differs
 * from the hardware's only in which of two NaN operands is kept. Unqualified mul and add are not
 * contracted. */
#include "evaluator/ptxvm/lanes.h"

#include <fenv.h>
#include <math.h>

#include "evaluator/ptxvm/floats.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

/* ---- to nearest ---- */

#define AS_IS(v) (v)
#define VARIANTS(name, letters, T, expr, FLUSH, CANON, SAT)                                        \
    letters(name, T, AS_IS, CANON(expr)) letters(name##_ftz, T, FLUSH, FLUSH(CANON(expr)))         \
        letters(name##_sat, T, AS_IS, SAT(expr))                                                   \
            letters(name##_ftz_sat, T, FLUSH, FLUSH(SAT(expr)))

#define ROW_1(name, T, IN, value)                                                                  \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        T *d = vm_row(w, op->d);                                                                   \
        const T *ra = vm_row(w, op->a);                                                            \
        LANES_STORE(T, const T a = IN(ra[i]), value)                                               \
        return op + 1;                                                                             \
    }
#define ROW_2(name, T, IN, value)                                                                  \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        T *d = vm_row(w, op->d);                                                                   \
        const T *ra = vm_row(w, op->a), *rb = vm_row(w, op->b);                                    \
        LANES_STORE(T, const T a = IN(ra[i]); const T b = IN(rb[i]), value)                        \
        return op + 1;                                                                             \
    }
#define ROW_3(name, T, IN, value)                                                                  \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        T *d = vm_row(w, op->d);                                                                   \
        const T *ra = vm_row(w, op->a), *rb = vm_row(w, op->b), *rc = vm_row(w, op->c);            \
        LANES_STORE(T, const T a = IN(ra[i]); const T b = IN(rb[i]); const T c = IN(rc[i]), value) \
        return op + 1;                                                                             \
    }
#define F32(name, letters, expr)                                                                   \
    VARIANTS(name, letters, float, expr, f32_flush, f32_canonical, f32_saturate)

F32(add_f32, ROW_2, a + b)
F32(sub_f32, ROW_2, a - b)
F32(mul_f32, ROW_2, a *b)
F32(fma_f32, ROW_3, fmaf(a, b, c))
F32(div_f32, ROW_2, a / b)
F32(rcp_f32, ROW_1, 1.0f / a)
F32(sqrt_f32, ROW_1, sqrtf(a))

ROW_2(add_f64, double, AS_IS, a + b)
ROW_2(sub_f64, double, AS_IS, a - b)
ROW_2(mul_f64, double, AS_IS, a *b)
ROW_3(fma_f64, double, AS_IS, fma(a, b, c))
ROW_2(div_f64, double, AS_IS, a / b)
ROW_1(rcp_f64, double, AS_IS, 1.0 / a)
ROW_1(sqrt_f64, double, AS_IS, sqrt(a))

/* ---- directed rounding: aux holds mode, flush and saturation ---- */

enum { AUX_ROUND = 3, AUX_FTZ = 4, AUX_SAT = 8 };

static int host_mode(uint32_t aux)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    return modes[aux & AUX_ROUND];
}

/* One operand missing reads another row; the expression does not use it. */
#define DIRECTED_F32(name, expr)                                                                   \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        float *d = vm_row(w, op->d);                                                               \
        const float *ra = vm_row(w, op->a), *rb = vm_row(w, op->b), *rc = vm_row(w, op->c);        \
        bool ftz = op->aux & AUX_FTZ, sat = op->aux & AUX_SAT;                                     \
        volatile float out[VM_LANES];                                                              \
        fesetround(host_mode(op->aux));                                                            \
        EACH_LANE                                                                                  \
        {                                                                                          \
            volatile float a = ftz ? f32_flush(ra[i]) : ra[i], b = ftz ? f32_flush(rb[i]) : rb[i]; \
            volatile float c = ftz ? f32_flush(rc[i]) : rc[i];                                     \
            (void)a, (void)b, (void)c;                                                             \
            out[i] = expr;                                                                         \
        }                                                                                          \
        fesetround(FE_TONEAREST);                                                                  \
        EACH_LANE                                                                                  \
        {                                                                                          \
            float v = sat ? f32_saturate(out[i]) : f32_canonical(out[i]);                          \
            if (ACTIVE(exec, i))                                                                   \
                d[i] = ftz ? f32_flush(v) : v;                                                     \
        }                                                                                          \
        return op + 1;                                                                             \
    }
DIRECTED_F32(add_f32_to, a + b)
DIRECTED_F32(sub_f32_to, a - b)
DIRECTED_F32(mul_f32_to, a *b)
DIRECTED_F32(fma_f32_to, fmaf(a, b, c))
DIRECTED_F32(div_f32_to, a / b)
DIRECTED_F32(rcp_f32_to, 1.0f / a)
DIRECTED_F32(sqrt_f32_to, sqrtf(a))

#define DIRECTED_F64(name, expr)                                                                   \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        double *d = vm_row(w, op->d);                                                              \
        const double *ra = vm_row(w, op->a), *rb = vm_row(w, op->b), *rc = vm_row(w, op->c);       \
        fesetround(host_mode(op->aux));                                                            \
        EACH_LANE                                                                                  \
        {                                                                                          \
            volatile double a = ra[i], b = rb[i], c = rc[i], out;                                  \
            (void)b, (void)c;                                                                      \
            out = expr;                                                                            \
            if (ACTIVE(exec, i))                                                                   \
                d[i] = out;                                                                        \
        }                                                                                          \
        fesetround(FE_TONEAREST);                                                                  \
        return op + 1;                                                                             \
    }
DIRECTED_F64(add_f64_to, a + b)
DIRECTED_F64(sub_f64_to, a - b)
DIRECTED_F64(mul_f64_to, a *b)
DIRECTED_F64(fma_f64_to, fma(a, b, c))
DIRECTED_F64(div_f64_to, a / b)
DIRECTED_F64(rcp_f64_to, 1.0 / a)
DIRECTED_F64(sqrt_f64_to, sqrt(a))

/* ---- sign, minimum, maximum ---- */

ROW_1(abs_f32, float, AS_IS, f32_canonical(fabsf(a)))
ROW_1(neg_f32, float, AS_IS, f32_canonical(-a))
ROW_1(abs_f32_ftz, float, f32_flush, f32_canonical(fabsf(a)))
ROW_1(neg_f32_ftz, float, f32_flush, f32_canonical(-a))
ROW_1(abs_f64, double, AS_IS, fabs(a))
ROW_1(neg_f64, double, AS_IS, -a)
BINARY(copysign_f32, uint32_t, uint32_t, uint32_t, (b & 0x7fffffff) | (a & 0x80000000))
BINARY(copysign_f64, uint64_t, uint64_t, uint64_t,
       (b & (UINT64_MAX >> 1)) | (a & ~(UINT64_MAX >> 1)))

/* The other operand where one is NaN; -0 is less than +0. */
static inline float min_number(float a, float b)
{
    float r = a < b ? a : b < a ? b : f32_from(f32_bits(a) | f32_bits(b));
    r = a != a ? b : b != b ? a : r;
    return f32_canonical(r);
}

static inline float max_number(float a, float b)
{
    float r = a > b ? a : b > a ? b : f32_from(f32_bits(a) & f32_bits(b));
    r = a != a ? b : b != b ? a : r;
    return f32_canonical(r);
}

static inline float any_nan(float a, float b, float r)
{
    return f32_from(a != a || b != b ? NAN_F32 : f32_bits(r));
}

static inline float xor_sign(float a, float b, float r)
{
    uint32_t sign = (f32_bits(a) ^ f32_bits(b)) & 0x80000000;
    return f32_from(r != r ? NAN_F32 : (f32_bits(r) & 0x7fffffff) | sign);
}

static inline double min_f64_number(double a, double b)
{
    double r = a < b ? a : b < a ? b : f64_from(f64_bits(a) | f64_bits(b));
    return a != a ? b : b != b ? a : r;
}

static inline double max_f64_number(double a, double b)
{
    double r = a > b ? a : b > a ? b : f64_from(f64_bits(a) & f64_bits(b));
    return a != a ? b : b != b ? a : r;
}

#define EXTREME(name)                                                                              \
    ROW_2(name##_f32, float, AS_IS, name##_number(a, b))                                           \
    ROW_2(name##_f32_ftz, float, f32_flush, name##_number(a, b))                                   \
    ROW_2(name##_f32_nan, float, AS_IS, any_nan(a, b, name##_number(a, b)))                        \
    ROW_2(name##_f32_nan_ftz, float, f32_flush, any_nan(a, b, name##_number(a, b)))                \
    ROW_2(name##_f32_xorsign, float, AS_IS, xor_sign(a, b, name##_number(fabsf(a), fabsf(b))))     \
    ROW_2(name##_f32_xorsign_ftz, float, f32_flush,                                                \
          xor_sign(a, b, name##_number(fabsf(a), fabsf(b))))                                       \
    ROW_2(name##_f32_nan_xorsign, float, AS_IS,                                                    \
          any_nan(a, b, xor_sign(a, b, name##_number(fabsf(a), fabsf(b)))))                        \
    ROW_2(name##_f32_nan_xorsign_ftz, float, f32_flush,                                            \
          any_nan(a, b, xor_sign(a, b, name##_number(fabsf(a), fabsf(b)))))                        \
    ROW_2(name##_f64, double, AS_IS, name##_f64_number(a, b))
EXTREME(min)
EXTREME(max)

/* ---- rows ---- */

#define TO(form, mode, aux, shape, name)                                                           \
    {form mode ".f32", shape, name##_to, NULL, aux},                                               \
        {form mode ".ftz.f32", shape, name##_to, NULL, aux | AUX_FTZ},                             \
        {form mode ".sat.f32", shape, name##_to, NULL, aux | AUX_SAT},                             \
    {                                                                                              \
        form mode ".ftz.sat.f32", shape, name##_to, NULL, aux | AUX_FTZ | AUX_SAT                  \
    }
#define ALL_F32(form, shape, name)                                                                 \
    {form ".f32", shape, name, NULL, 0}, {form ".ftz.f32", shape, name##_ftz, NULL, 0},            \
        {form ".sat.f32", shape, name##_sat, NULL, 0},                                             \
        {form ".ftz.sat.f32", shape, name##_ftz_sat, NULL, 0}, TO(form, ".rz", 1, shape, name),    \
        TO(form, ".rm", 2, shape, name), TO(form, ".rp", 3, shape, name)
#define ALL_F64(form, shape, name)                                                                 \
    {form ".f64", shape, name, NULL, 0}, {form ".rz.f64", shape, name##_to, NULL, 1},              \
        {form ".rm.f64", shape, name##_to, NULL, 2},                                               \
    {                                                                                              \
        form ".rp.f64", shape, name##_to, NULL, 3                                                  \
    }
#define EXTREMES(name)                                                                             \
    {#name ".f32", "f:ff", name##_f32, NULL, 0},                                                   \
        {#name ".ftz.f32", "f:ff", name##_f32_ftz, NULL, 0},                                       \
        {#name ".NaN.f32", "f:ff", name##_f32_nan, NULL, 0},                                       \
        {#name ".ftz.NaN.f32", "f:ff", name##_f32_nan_ftz, NULL, 0},                               \
        {#name ".xorsign.abs.f32", "f:ff", name##_f32_xorsign, NULL, 0},                           \
        {#name ".ftz.xorsign.abs.f32", "f:ff", name##_f32_xorsign_ftz, NULL, 0},                   \
        {#name ".NaN.xorsign.abs.f32", "f:ff", name##_f32_nan_xorsign, NULL, 0},                   \
        {#name ".ftz.NaN.xorsign.abs.f32", "f:ff", name##_f32_nan_xorsign_ftz, NULL, 0},           \
    {                                                                                              \
#name ".f64", "g:gg", name##_f64, NULL, 0                                                  \
    }

const struct row ROWS_NAME(float)[] = {
    ALL_F32("add", "f:ff", add_f32),
    ALL_F32("sub", "f:ff", sub_f32),
    ALL_F32("mul", "f:ff", mul_f32),
    ALL_F32("fma", "f:fff", fma_f32),
    ALL_F32("mad", "f:fff", fma_f32),
    ALL_F32("div", "f:ff", div_f32),
    ALL_F32("rcp", "f:f", rcp_f32),
    ALL_F32("sqrt", "f:f", sqrt_f32),
    ALL_F64("add", "g:gg", add_f64),
    ALL_F64("sub", "g:gg", sub_f64),
    ALL_F64("mul", "g:gg", mul_f64),
    ALL_F64("fma", "g:ggg", fma_f64),
    ALL_F64("mad", "g:ggg", fma_f64),
    ALL_F64("div", "g:gg", div_f64),
    ALL_F64("rcp", "g:g", rcp_f64),
    ALL_F64("sqrt", "g:g", sqrt_f64),
    {"div.full.f32", "f:ff", div_f32, NULL, 0},
    {"div.full.ftz.f32", "f:ff", div_f32_ftz, NULL, 0},
    {"div.approx.f32", "f:ff", div_f32, NULL, 0},
    {"div.approx.ftz.f32", "f:ff", div_f32_ftz, NULL, 0},
    {"abs.f32", "f:f", abs_f32, NULL, 0},
    {"abs.ftz.f32", "f:f", abs_f32_ftz, NULL, 0},
    {"abs.f64", "g:g", abs_f64, NULL, 0},
    {"neg.f32", "f:f", neg_f32, NULL, 0},
    {"neg.ftz.f32", "f:f", neg_f32_ftz, NULL, 0},
    {"neg.f64", "g:g", neg_f64, NULL, 0},
    {"copysign.f32", "f:ff", copysign_f32, NULL, 0},
    {"copysign.f64", "g:gg", copysign_f64, NULL, 0},
    EXTREMES(min),
    EXTREMES(max),
    ROWS_END,
};
