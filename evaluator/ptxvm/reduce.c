/* SPDX-License-Identifier: Apache-2.0 */
#include "evaluator/ptxvm/reduce.h"

#include <string.h>

#include "evaluator/ptxvm/floats.h"

static const struct {
    enum ptx_word word;
    enum reduce_kind kind;
} kinds[] = {
    {PTX_WORD_add, REDUCE_ADD}, {PTX_WORD_min, REDUCE_MIN}, {PTX_WORD_max, REDUCE_MAX},
    {PTX_WORD_inc, REDUCE_INC}, {PTX_WORD_dec, REDUCE_DEC}, {PTX_WORD_and, REDUCE_AND},
    {PTX_WORD_or, REDUCE_OR},   {PTX_WORD_xor, REDUCE_XOR},
};

enum reduce_kind reduce_kind_of(const struct ptx_form *form)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (ptx_form_has(form, kinds[i].word))
            return kinds[i].kind;
    return REDUCE_NONE;
}

bool reduce_allowed(enum reduce_kind kind, enum ptx_type type)
{
    unsigned bits = ptx_type_bits(type);
    if (ptx_type_class(type) == 'f')
        return type == PTX_TYPE_f32 || type == PTX_TYPE_f64 ? kind == REDUCE_ADD
               : type == PTX_TYPE_f16 || type == PTX_TYPE_bf16
                   ? kind >= REDUCE_ADD && kind <= REDUCE_MAX
                   : false;
    return kind != REDUCE_NONE && (bits == 32 || bits == 64) &&
           ((kind != REDUCE_INC && kind != REDUCE_DEC) || bits == 32);
}

static double widen(enum ptx_type type, uint64_t bits)
{
    return type == PTX_TYPE_f64   ? f64_from(bits)
           : type == PTX_TYPE_f32 ? f32_from((uint32_t)bits)
           : type == PTX_TYPE_f16 ? f16_widen((uint32_t)bits)
                                  : bf16_widen((uint32_t)bits);
}

/* The double sum of two shorter values is exact, or exact enough: rounded to odd. */
static uint64_t combine_floats(enum reduce_kind kind, enum ptx_type type, uint64_t a, uint64_t b)
{
    double x = widen(type, a), y = widen(type, b);
    if (kind != REDUCE_ADD)
        return y != y || (kind == REDUCE_MIN ? x <= y : x >= y) ? a : b;
    if (type == PTX_TYPE_f64)
        return f64_bits(x + y);
    if (type == PTX_TYPE_f32)
        return f32_bits(f32_from((uint32_t)a) + f32_from((uint32_t)b));
    return float_narrow(float_add_odd(x, y), type == PTX_TYPE_f16 ? &format_f16 : &format_bf16,
                        ROUND_NEAREST, false);
}

static uint64_t combine_integers(enum reduce_kind kind, bool less, uint64_t a, uint64_t b)
{
    switch (kind) {
    case REDUCE_ADD:
        return a + b;
    case REDUCE_MIN:
        return less ? a : b;
    case REDUCE_MAX:
        return less ? b : a;
    case REDUCE_INC:
        return a >= b ? 0 : a + 1;
    case REDUCE_DEC:
        return a == 0 || a > b ? b : a - 1;
    case REDUCE_AND:
        return a & b;
    case REDUCE_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static uint64_t combine(enum reduce_kind kind, enum ptx_type type, uint64_t a, uint64_t b)
{
    char class = ptx_type_class(type);
    if (class == 'f')
        return combine_floats(kind, type, a, b);
    bool less = class != 's'                ? a < b
                : ptx_type_bits(type) == 64 ? (int64_t)a < (int64_t)b
                                            : (int32_t)a < (int32_t)b;
    return combine_integers(kind, less, a, b);
}

#define EXCHANGE(T)                                                                                \
    {                                                                                              \
        T *at = (void *)to, seen = __atomic_load_n(at, __ATOMIC_RELAXED), next;                    \
        do                                                                                         \
            next = (T)combine(kind, type, seen, value);                                            \
        while (!__atomic_compare_exchange_n(at, &seen, next, true, __ATOMIC_ACQ_REL,               \
                                            __ATOMIC_RELAXED));                                    \
    }

void reduce_apply(enum reduce_kind kind, enum ptx_type type, unsigned char *to,
                  const unsigned char *from, uint32_t bytes)
{
    uint32_t size = ptx_type_bits(type) / 8;
    for (uint32_t i = 0; i + size <= bytes; i += size, to += size, from += size) {
        uint64_t value = 0;
        memcpy(&value, from, size);
        if (size == 2)
            EXCHANGE(uint16_t)
        else if (size == 4)
            EXCHANGE(uint32_t)
        else
            EXCHANGE(uint64_t)
    }
}
