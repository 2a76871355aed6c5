/* SPDX-License-Identifier: Apache-2.0
 * Tensor maps of the CPU device. Programs must take CUtensorMap as 128 opaque bytes; these are
 * ours: versioned, and valid for this executor alone. */
#ifndef EVALUATOR_PTXVM_TENSOR_MAP_H
#define EVALUATOR_PTXVM_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/plan.h"

enum { TENSOR_MAP_BYTES = 128, TENSOR_MAP_ALIGN = 64, TENSOR_MAP_RANK = 5 };

struct tensor_map {
    char magic[4];
    uint8_t version, rank;
    uint8_t data_type; /* value of CUtensorMapDataType */
    uint8_t element_bytes;
    uint8_t interleave, swizzle, l2_promotion, oob_fill; /* values of the CUtensorMap… enums */
    uint8_t box_less_1[TENSOR_MAP_RANK];
    uint8_t element_strides[TENSOR_MAP_RANK];
    uint8_t reserved[18];
    uint64_t address;
    uint64_t dims[TENSOR_MAP_RANK];        /* elements, innermost first */
    uint64_t strides[TENSOR_MAP_RANK - 1]; /* bytes, of dimensions 1 and up */
};

_Static_assert(sizeof(struct tensor_map) <= TENSOR_MAP_BYTES, "a tensor map has 128 bytes");

/* The map of a plan over memory at simulated address `base`. */
void tensor_map_encode(const struct plan_tensor_map *m, uint64_t base,
                       unsigned char out[TENSOR_MAP_BYTES]);
enum tensor_map_use { TENSOR_MAP_FINE, TENSOR_MAP_BAD, TENSOR_MAP_NOT_EXECUTED };

/* BAD: not a map of tensor_map_encode. `why` says what is wrong. */
enum tensor_map_use tensor_map_decode(const void *bytes, struct tensor_map *out, const char **why);

enum tensor_map_field {
    TENSOR_MAP_ADDRESS,
    TENSOR_MAP_RANK_LESS_1,
    TENSOR_MAP_BOX,
    TENSOR_MAP_DIM,
    TENSOR_MAP_STRIDE, /* bytes, of dimension + 1 */
    TENSOR_MAP_ELEMENT_STRIDE,
    TENSOR_MAP_TYPE, /* numbered as tensormap.replace does */
    TENSOR_MAP_INTERLEAVE,
    TENSOR_MAP_SWIZZLE,
    TENSOR_MAP_FILL,
};

/* Writes one field of the map at `bytes`. False: no map, or no such value. */
bool tensor_map_replace(void *bytes, enum tensor_map_field field, uint32_t dimension,
                        uint64_t value);

static inline uint32_t tensor_map_box(const struct tensor_map *m, int dim)
{
    return m->box_less_1[dim] + 1u;
}

#endif
