/* SPDX-License-Identifier: Apache-2.0 */
#include "evaluator/ptxvm/product.h"

#include <fenv.h>
#include <math.h>

#include "evaluator/ptxvm/convert.h"
#include "evaluator/ptxvm/floats.h"

static bool is_integer(enum ptx_type type)
{
    return type == PTX_TYPE_s8 || type == PTX_TYPE_u8 || type == PTX_TYPE_s4 ||
           type == PTX_TYPE_u4 || type == PTX_TYPE_b1;
}

static bool is_float(enum ptx_type type)
{
    return type == PTX_TYPE_f16 || type == PTX_TYPE_bf16 || type == PTX_TYPE_tf32;
}

static bool accumulates(enum ptx_type type)
{
    return type == PTX_TYPE_f16 || type == PTX_TYPE_f32;
}

bool product_finish(struct product *p, const struct ptx_form *form)
{
    enum ptx_type a = (enum ptx_type)p->a, b = (enum ptx_type)p->b;
    enum ptx_type c = (enum ptx_type)p->c, d = (enum ptx_type)p->d;
    uint32_t mode = ptx_form_has(form, PTX_WORD_rz)   ? ROUND_ZERO
                    : ptx_form_has(form, PTX_WORD_rm) ? ROUND_DOWN
                    : ptx_form_has(form, PTX_WORD_rp) ? ROUND_UP
                                                      : ROUND_NEAREST;
    bool saturate = ptx_form_has(form, PTX_WORD_satfinite), bits = a == PTX_TYPE_b1;
    bool xor = ptx_form_has(form, PTX_WORD_xor), and = ptx_form_has(form, PTX_WORD_and);
    p->flags =
        (uint16_t)((saturate ? PRODUCT_SATURATE : 0) | (xor? PRODUCT_XOR : 0) | mode << 2) & 0x3f;
    uint32_t most = p->m * p->n;
    most = (uint32_t)p->m * p->k > most ? (uint32_t)p->m * p->k : most;
    most = (uint32_t)p->n * p->k > most ? (uint32_t)p->n * p->k : most;
    if (most > PRODUCT_MAX || !p->m || !p->n || !p->k || (xor || and) != bits)
        return false;
    if (a == PTX_TYPE_f64)
        return b == a && c == a && d == a && !saturate;
    if (is_integer(a))
        return is_integer(b) && bits == (b == PTX_TYPE_b1) && c == PTX_TYPE_s32 && d == c;
    return is_float(a) && a == b && accumulates(c) && accumulates(d) && !saturate;
}

union product_element product_decode(enum ptx_type type, uint64_t bits)
{
    switch (type) {
    case PTX_TYPE_f64:
        return (union product_element){.d = f64_from(bits)};
    case PTX_TYPE_f32:
        return (union product_element){.f = f32_from((uint32_t)bits)};
    case PTX_TYPE_tf32:
        return (union product_element){.f = f32_from((uint32_t)bits & ~UINT32_C(0x1fff))};
    case PTX_TYPE_f16:
        return (union product_element){.f = f16_widen((uint32_t)bits)};
    case PTX_TYPE_bf16:
        return (union product_element){.f = bf16_widen((uint32_t)bits)};
    case PTX_TYPE_s8:
        return (union product_element){.i = (uint32_t)(int8_t)bits};
    case PTX_TYPE_s4:
        return (union product_element){.i = ((uint32_t)bits ^ 8) - 8};
    default:
        return (union product_element){.i = (uint32_t)bits};
    }
}

uint64_t product_encode(enum ptx_type type, union product_element v)
{
    return type == PTX_TYPE_f64   ? f64_bits(v.d)
           : type == PTX_TYPE_f32 ? f32_bits(v.f)
           : type == PTX_TYPE_f16 ? f16_nearest(v.f)
                                  : v.i;
}

static uint32_t add_s32(uint32_t a, uint32_t b, bool saturate)
{
    int64_t sum = (int64_t)(int32_t)a + (int32_t)b;
    if (!saturate)
        return a + b;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? (uint32_t)INT32_MIN : (uint32_t)sum;
}

static uint32_t dot_integers(const struct product *p, const union product_element *a,
                             const union product_element *b)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < p->k; k++)
        sum += p->flags & PRODUCT_XOR ? a[k].i ^ b[k * p->n].i : a[k].i * b[k * p->n].i;
    return sum;
}

static void one(const struct product *p, const union product_element *a,
                const union product_element *b, union product_element *sum)
{
    if (is_integer((enum ptx_type)p->a)) {
        sum->i = add_s32(sum->i, dot_integers(p, a, b), p->flags & PRODUCT_SATURATE);
        return;
    }
    float f = sum->f;
    double d = sum->d;
    for (uint32_t k = 0; k < p->k; k++)
        if (p->a == PTX_TYPE_f64)
            d = fma(a[k].d, b[k * p->n].d, d);
        else
            f += a[k].f * b[k * p->n].f;
    if (p->a == PTX_TYPE_f64)
        sum->d = d;
    else
        sum->f = f;
}

void product_run(const struct product *p, const union product_element *a,
                 const union product_element *b, union product_element *sum)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    int mode = modes[p->flags / PRODUCT_ROUNDING & PRODUCT_MODE];
    if (mode != FE_TONEAREST)
        fesetround(mode);
    for (uint32_t row = 0; row < p->m; row++)
        for (uint32_t n = 0; n < p->n; n++)
            one(p, a + row * p->k, b + n, sum + row * p->n + n);
    if (mode != FE_TONEAREST)
        fesetround(FE_TONEAREST);
}
