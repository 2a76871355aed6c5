/* SPDX-License-Identifier: Apache-2.0 */
#include "evaluator/ptxvm/matrix.h"

#include <pthread.h>
#include <string.h>

#include "evaluator/ptxvm/floats.h"

static const enum ptx_type types[MATRIX_ELEMENTS] = {
    [MATRIX_F16] = PTX_TYPE_f16,   [MATRIX_BF16] = PTX_TYPE_bf16, [MATRIX_TF32] = PTX_TYPE_tf32,
    [MATRIX_E4M3] = PTX_TYPE_e4m3, [MATRIX_E5M2] = PTX_TYPE_e5m2, [MATRIX_S8] = PTX_TYPE_s8,
    [MATRIX_U8] = PTX_TYPE_u8,
};

static uint32_t e4m3[256], e5m2[256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        e4m3[i] = f32_bits((float)float_widen(i, &format_e4m3));
        e5m2[i] = f32_bits((float)float_widen(i, &format_e5m2));
    }
}

bool matrix_element_of(enum ptx_type type, enum matrix_element *out)
{
    for (int e = 0; e < MATRIX_ELEMENTS; e++)
        if (types[e] == type) {
            *out = (enum matrix_element)e;
            return true;
        }
    return false;
}

static void decode_bytes(const uint32_t table[256], const uint8_t *from, uint32_t count,
                         uint32_t *to)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = table[from[i]];
}

void matrix_decode(enum matrix_element e, const void *from, uint32_t count, uint32_t *to)
{
    const uint8_t *bytes = from;
    const uint16_t *halves = from;
    const uint32_t *words = from;
    switch (e) {
    case MATRIX_F16:
        for (uint32_t i = 0; i < count; i++)
            to[i] = f32_bits(f16_widen(halves[i]));
        break;
    case MATRIX_BF16:
        for (uint32_t i = 0; i < count; i++)
            to[i] = (uint32_t)halves[i] << 16;
        break;
    case MATRIX_TF32:
        for (uint32_t i = 0; i < count; i++)
            to[i] = words[i] & ~UINT32_C(0x1fff);
        break;
    case MATRIX_E4M3:
    case MATRIX_E5M2:
        pthread_once(&tables_once, make_tables);
        decode_bytes(e == MATRIX_E4M3 ? e4m3 : e5m2, bytes, count, to);
        break;
    case MATRIX_S8:
        for (uint32_t i = 0; i < count; i++)
            to[i] = (uint32_t)(int8_t)bytes[i];
        break;
    default:
        for (uint32_t i = 0; i < count; i++)
            to[i] = bytes[i];
    }
}
