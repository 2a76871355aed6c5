/* SPDX-License-Identifier: Apache-2.0 */
#include "evaluator/ptxvm/tensor_map.h"

#include <string.h>

static const char magic[4] = {'P', 'X', 'T', 'M'};

enum { VERSION = 1, SWIZZLES = 4 };

void tensor_map_encode(const struct plan_tensor_map *m, uint64_t base,
                       unsigned char out[TENSOR_MAP_BYTES])
{
    struct tensor_map t = {.version = VERSION,
                           .rank = (uint8_t)m->rank,
                           .data_type = (uint8_t)m->data_type,
                           .element_bytes = (uint8_t)(m->element_bits / 8),
                           .interleave = (uint8_t)m->interleave,
                           .swizzle = (uint8_t)m->swizzle,
                           .l2_promotion = (uint8_t)m->l2_promotion,
                           .oob_fill = (uint8_t)m->oob_fill,
                           .address = base + m->offset_bytes};
    memcpy(t.magic, magic, sizeof magic);
    for (int i = 0; i < m->rank; i++) {
        t.dims[i] = m->dims[i];
        t.box_less_1[i] = (uint8_t)(m->box[i] - 1);
        t.element_strides[i] = (uint8_t)m->element_strides[i];
        if (i)
            t.strides[i - 1] = m->strides[i];
    }
    memset(out, 0, TENSOR_MAP_BYTES);
    memcpy(out, &t, sizeof t);
}

static bool no(const char **why, const char *text)
{
    *why = text;
    return false;
}

bool tensor_map_decode(const void *bytes, struct tensor_map *out, const char **why)
{
    memcpy(out, bytes, sizeof *out);
    if (memcmp(out->magic, magic, sizeof magic) != 0 || out->version != VERSION || out->rank < 1 ||
        out->rank > TENSOR_MAP_RANK)
        return no(why, "is no tensor map");
    if (out->interleave)
        return no(why, "is interleaved, which this device does not execute");
    if (out->swizzle >= SWIZZLES)
        return no(why, "has a swizzle that this device does not execute");
    if (out->element_bytes != 1 && out->element_bytes != 2 && out->element_bytes != 4 &&
        out->element_bytes != 8)
        return no(why, "has packed elements, which this device does not execute");
    for (int i = 0; i < out->rank; i++)
        if (out->element_strides[i] < 1 || out->element_strides[i] > 8 || !out->dims[i] ||
            out->dims[i] > UINT64_C(1) << 32)
            return no(why, "is no tensor map");
    return true;
}
