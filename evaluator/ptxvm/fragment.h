/* SPDX-License-Identifier: Apache-2.0
 * Products of fragments, as wgmma and mma hold them in registers. Per 16 rows and 8 columns of D,
 * register 2 h + p of lane l is row 8 h + l / 4 and column 2 (l % 4) + p. So a product is a vector
 * of eight lanes of A, each row four times, by one of B, its four columns twice. Pure, but for
 * whole_warp. */
#ifndef EVALUATOR_PTXVM_FRAGMENT_H
#define EVALUATOR_PTXVM_FRAGMENT_H

#include <string.h>

#include "evaluator/ptxvm/floats.h"
#include "evaluator/ptxvm/lanes.h"
#include "evaluator/ptxvm/matrix.h"

enum { FRAGMENT_WIDE = 8, FRAGMENT_MAX_K = 32 };

enum accumulator { ACC_F32, ACC_F16, ACC_S32 };

/* 16 rows of A and 8 columns of B: bits of floats, or integers. */
struct fragment_a {
    _Alignas(32) uint32_t at[FRAGMENT_MAX_K][2][VM_LANES];
};

struct fragment_b {
    _Alignas(32) uint32_t at[FRAGMENT_MAX_K][2][FRAGMENT_WIDE];
};

static inline void fragment_put_a(struct fragment_a *a, uint32_t row, uint32_t k, uint32_t value)
{
    uint32_t *to = &a->at[k][row / 8][row % 8 * 4];
    to[0] = to[1] = to[2] = to[3] = value;
}

static inline void fragment_put_b(struct fragment_b *b, uint32_t column, uint32_t k, uint32_t value)
{
    uint32_t *to = &b->at[k][column % 2][column / 2];
    to[0] = to[4] = value;
}

/* Operand registers hold as many elements along k as fit: register r of A has row l / 4 + 8 (r %
 * 2). */
static inline void fragment_read_a(struct fragment_a *a, enum matrix_element e, uint32_t r,
                                   const uint32_t *row, uint32_t sign)
{
    uint32_t per = 4 / matrix_bytes(e), value[4];
    for (uint32_t l = 0; l < VM_LANES; l++) {
        matrix_decode(e, &row[l], per, value);
        for (uint32_t i = 0; i < per; i++)
            fragment_put_a(a, l / 4 + r % 2 * 8, l % 4 * per + i + r / 2 * per * 4,
                           value[i] ^ sign);
    }
}

/* Adds the products for rows 8 h to 8 h + 7: columns of even and of odd number. */
#define FRAGMENT_MULTIPLY(name, element)                                                           \
    static inline void name(const struct fragment_a *fa, const struct fragment_b *fb, uint32_t ks, \
                            uint32_t h, void *even, void *odd)                                     \
    {                                                                                              \
        typedef element vector __attribute__((vector_size(32)));                                   \
        vector sum[2][4];                                                                          \
        memcpy(sum[0], even, sizeof sum[0]);                                                       \
        memcpy(sum[1], odd, sizeof sum[1]);                                                        \
        for (uint32_t k = 0; k < ks; k++) {                                                        \
            const vector *a = (const void *)fa->at[k][h];                                          \
            const vector *b = (const void *)fb->at[k];                                             \
            for (int i = 0; i < 4; i++) {                                                          \
                sum[0][i] += a[i] * b[0];                                                          \
                sum[1][i] += a[i] * b[1];                                                          \
            }                                                                                      \
        }                                                                                          \
        memcpy(even, sum[0], sizeof sum[0]);                                                       \
        memcpy(odd, sum[1], sizeof sum[1]);                                                        \
    }

FRAGMENT_MULTIPLY(fragment_multiply_f32, float)
FRAGMENT_MULTIPLY(fragment_multiply_u32, uint32_t)

static inline uint32_t fragment_add_s32(uint32_t a, uint32_t b, bool saturate)
{
    int64_t sum = (int64_t)(int32_t)a + (int32_t)b;
    if (!saturate)
        return a + b;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? (uint32_t)INT32_MIN : (uint32_t)sum;
}

static inline void fragment_add_products_s32(const struct fragment_a *a, const struct fragment_b *b,
                                             uint32_t ks, uint32_t h, bool saturate, uint32_t *even,
                                             uint32_t *odd)
{
    uint32_t sum[2][VM_LANES] = {{0}};
    fragment_multiply_u32(a, b, ks, h, sum[0], sum[1]);
    EACH_LANE even[i] = fragment_add_s32(even[i], sum[0][i], saturate);
    EACH_LANE odd[i] = fragment_add_s32(odd[i], sum[1][i], saturate);
}

/* Two columns in one register, each rounded once. */
static inline void fragment_add_products_f16(const struct fragment_a *a, const struct fragment_b *b,
                                             uint32_t ks, uint32_t h, uint32_t *pair)
{
    float sum[2][VM_LANES];
    EACH_LANE sum[0][i] = f16_widen(pair[i] & 0xffff);
    EACH_LANE sum[1][i] = f16_widen(pair[i] >> 16);
    fragment_multiply_f32(a, b, ks, h, sum[0], sum[1]);
    EACH_LANE pair[i] = f16_nearest(sum[0][i]) | f16_nearest(sum[1][i]) << 16;
}

/* All 32 lanes, or not yet (or never). */
static inline bool whole_warp(struct warp *w, const struct op *op, uint32_t exec)
{
    if (!group_meet(w, op, exec, VM_FULL))
        return false;
    if (exec != VM_FULL)
        stop_at(w, op, __builtin_ctz(exec), PTXVM_FAULT, PTXVM_BAD_OPERAND,
                "not all 32 lanes of the warp execute it");
    return exec == VM_FULL;
}

#endif
