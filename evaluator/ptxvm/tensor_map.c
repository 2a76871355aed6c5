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

static enum tensor_map_use no(const char **why, enum tensor_map_use use, const char *text)
{
    *why = text;
    return use;
}

static bool is_map(const struct tensor_map *m)
{
    if (memcmp(m->magic, magic, sizeof magic) != 0 || m->version != VERSION || m->rank < 1 ||
        m->rank > TENSOR_MAP_RANK)
        return false;
    for (int i = 0; i < m->rank; i++)
        if (m->element_strides[i] < 1 || m->element_strides[i] > 8 || !m->dims[i] ||
            m->dims[i] > UINT64_C(1) << 32)
            return false;
    return true;
}

enum tensor_map_use tensor_map_decode(const void *bytes, struct tensor_map *out, const char **why)
{
    uint8_t size;
    memcpy(out, bytes, sizeof *out);
    size = out->element_bytes;
    if (!is_map(out))
        return no(why, TENSOR_MAP_BAD, "is no tensor map");
    if (out->interleave)
        return no(why, TENSOR_MAP_NOT_EXECUTED, "is interleaved");
    if (out->swizzle >= SWIZZLES)
        return no(why, TENSOR_MAP_NOT_EXECUTED, "has a swizzle of sm_100a");
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return no(why, TENSOR_MAP_NOT_EXECUTED, "has packed elements");
    return TENSOR_MAP_FINE;
}

/* The types of tensormap.replace: values of CUtensorMapDataType, and the bytes of an element. */
static bool replace_type(struct tensor_map *m, uint64_t value)
{
    static const struct {
        uint8_t type, bytes;
    } types[] = {{0, 1}, {1, 2},  {2, 4}, {3, 4}, {4, 8},  {5, 8}, {6, 2},
                 {7, 4}, {10, 4}, {8, 8}, {9, 2}, {11, 4}, {12, 4}};
    if (value >= sizeof types / sizeof types[0])
        return false;
    m->data_type = types[value].type;
    m->element_bytes = types[value].bytes;
    return true;
}

static bool replace_byte(uint8_t *to, uint64_t value, uint64_t least, uint64_t most)
{
    *to = (uint8_t)value;
    return value >= least && value <= most;
}

static bool replace(struct tensor_map *m, enum tensor_map_field field, uint32_t i, uint64_t value)
{
    switch (field) {
    case TENSOR_MAP_ADDRESS:
        m->address = value;
        return value % 16 == 0;
    case TENSOR_MAP_RANK_LESS_1:
        return replace_byte(&m->rank, value + 1, 1, TENSOR_MAP_RANK);
    case TENSOR_MAP_BOX:
        return replace_byte(&m->box_less_1[i], value - 1, 0, 255);
    case TENSOR_MAP_DIM:
        m->dims[i] = value;
        return value > 0;
    case TENSOR_MAP_STRIDE:
        if (i >= TENSOR_MAP_RANK - 1)
            return false;
        m->strides[i] = value;
        return value % 16 == 0 && value < UINT64_C(1) << 40;
    case TENSOR_MAP_ELEMENT_STRIDE:
        return replace_byte(&m->element_strides[i], value, 1, 8);
    case TENSOR_MAP_TYPE:
        return replace_type(m, value);
    case TENSOR_MAP_INTERLEAVE:
        return replace_byte(&m->interleave, value, 0, 2);
    case TENSOR_MAP_SWIZZLE:
        return replace_byte(&m->swizzle, value, 0, SWIZZLES - 1);
    default:
        return replace_byte(&m->oob_fill, value, 0, 1);
    }
}

bool tensor_map_replace(void *bytes, enum tensor_map_field field, uint32_t dimension,
                        uint64_t value)
{
    struct tensor_map m;
    memcpy(&m, bytes, sizeof m);
    if (memcmp(m.magic, magic, sizeof magic) != 0 || m.version != VERSION ||
        dimension >= TENSOR_MAP_RANK || !replace(&m, field, dimension, value))
        return false;
    memcpy(bytes, &m, sizeof m);
    return true;
}
