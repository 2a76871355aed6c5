/* SPDX-License-Identifier: Apache-2.0
 * Approximations: rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh. Ours are computed in double or by the
 * C library and rounded once: within one unit in the last place of the exact value, which is inside
 * the hardware's stated bounds (PTX manual, each instruction), but not bit-identical to it.
 *
 * Also what does nothing or only passes time: nanosleep, createpolicy. */
#include "evaluator/ptxvm/lanes.h"

#include <math.h>

#include "evaluator/ptxvm/floats.h"

enum { SLEEP_MAX = 1000 * 1000 /* ns; the manual promises no more */ };

#define LANE_WISE(name, value)                                                                     \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        float *d = vm_row(w, op->d);                                                               \
        const float *ra = vm_row(w, op->a);                                                        \
        EACH_LANE                                                                                  \
        {                                                                                          \
            if (!ACTIVE(exec, i))                                                                  \
                continue;                                                                          \
            float a = op->aux ? f32_flush(ra[i]) : ra[i], r = f32_canonical(value);                \
            d[i] = op->aux ? f32_flush(r) : r;                                                     \
        }                                                                                          \
        return op + 1;                                                                             \
    }
LANE_WISE(rcp, 1.0f / a)
LANE_WISE(square_root, sqrtf(a))
LANE_WISE(reciprocal_root, (float)(1.0 / sqrt((double)a)))
LANE_WISE(sine, sinf(a))
LANE_WISE(cosine, cosf(a))
LANE_WISE(log_2, log2f(a))
LANE_WISE(exp_2, exp2f(a))
LANE_WISE(tan_h, tanhf(a))

/* The .ftz forms of f64 look at the upper half of the operand only and leave the lower half of the
 * result zero; they start Newton iterations. Subnormals count as zero. */
static double upper_half(double v)
{
    uint64_t r = f64_bits(v) & ~UINT64_C(0xffffffff);
    return f64_from(r >> 52 & 0x7ff ? r : r & (UINT64_C(1) << 63));
}

#define SEED(name, value)                                                                          \
    HANDLER(name)                                                                                  \
    {                                                                                              \
        double *d = vm_row(w, op->d);                                                              \
        const double *ra = vm_row(w, op->a);                                                       \
        EACH_LANE                                                                                  \
        {                                                                                          \
            if (!ACTIVE(exec, i))                                                                  \
                continue;                                                                          \
            double a = upper_half(ra[i]);                                                          \
            d[i] = upper_half(value);                                                              \
        }                                                                                          \
        return op + 1;                                                                             \
    }
SEED(rcp_f64_seed, 1.0 / a)
SEED(rsqrt_f64_seed, 1.0 / sqrt(a))

/* This one is as precise as a division. */
HANDLER(rsqrt_f64)
{
    double *d = vm_row(w, op->d);
    const double *a = vm_row(w, op->a);
    EACH_LANE if (ACTIVE(exec, i)) d[i] = (double)(1.0L / sqrtl(a[i]));
    return op + 1;
}

/* A warp that sleeps gives way to the others; lanes sleep at the same time, for as long as the
 * longest. */
HANDLER(nanosleep_lanes)
{
    const uint32_t *ns = vm_row(w, op->a);
    uint32_t longest = 0;
    EACH_LANE if (ACTIVE(exec, i) && ns[i] > longest) longest = ns[i];
    atomic_fetch_add_explicit(&w->cta->run->slept_ns, longest < SLEEP_MAX ? longest : SLEEP_MAX,
                              memory_order_relaxed);
    w->event = EVENT_YIELD;
    w->next = op + 1;
    return NULL;
}

static bool decode_sleep(struct decoder *d, const struct row *row)
{
    uint32_t ns =
        decode_count_is(d, 1) ? decode_source(d, &d->operands[0], PTX_TYPE_u32) : REF_NONE;
    struct op *op = ns == REF_NONE ? NULL : decode_emit(d, row->run);
    if (!op)
        return false;
    op->a = ns;
    return true;
}

/* Cache policies are opaque and mean nothing here. */
static bool decode_policy(struct decoder *d, const struct row *row)
{
    (void)row;
    uint32_t zero = decode_constant(d, 0, 0, WIDTH_64);
    uint32_t to = zero && d->instr->operand_count ? decode_result(d, &d->operands[0], PTX_TYPE_b64)
                                                  : REF_NONE;
    struct op *op = to ? decode_emit(d, run_mov_64) : NULL;
    if (!op)
        return decode_error(d, "operands do not fit");
    op->d = to, op->a = zero;
    return true;
}

#define APPROX(form, run)                                                                          \
    {form ".approx.f32", "f:f", run, NULL, 0},                                                     \
    {                                                                                              \
        form ".approx.ftz.f32", "f:f", run, NULL, 1                                                \
    }

const struct row rows_math[] = {
    APPROX("rcp", rcp),
    APPROX("sqrt", square_root),
    APPROX("rsqrt", reciprocal_root),
    APPROX("sin", sine),
    APPROX("cos", cosine),
    APPROX("lg2", log_2),
    APPROX("ex2", exp_2),
    {"tanh.approx.f32", "f:f", tan_h, NULL, 0},
    {"rcp.approx.ftz.f64", "g:g", rcp_f64_seed, NULL, 0},
    {"rsqrt.approx.f64", "g:g", rsqrt_f64, NULL, 0},
    {"rsqrt.approx.ftz.f64", "g:g", rsqrt_f64_seed, NULL, 0},
    {"nanosleep", NULL, nanosleep_lanes, decode_sleep, 0},
    {"createpolicy", NULL, NULL, decode_policy, 0},
    ROWS_END,
};
