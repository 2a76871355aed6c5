/* SPDX-License-Identifier: Apache-2.0 */
#include "evaluator/ptxvm/smem_descriptor.h"

enum { ADDRESS_MASK = 0x3ffff, FIELD_MASK = 0x3fff, CHUNK = 16, ROWS = 8 };

struct smem_descriptor smem_descriptor_decode(uint64_t bits)
{
    /* Bits 62 and 63: none, 128, 64, 32 bytes. */
    static const enum swizzle modes[4] = {SWIZZLE_NONE, SWIZZLE_128B, SWIZZLE_64B, SWIZZLE_32B};
    return (struct smem_descriptor){
        .start = (uint32_t)(bits & FIELD_MASK) * CHUNK,
        .leading = (uint32_t)(bits >> 16 & FIELD_MASK) * CHUNK,
        .stride = (uint32_t)(bits >> 32 & FIELD_MASK) * CHUNK,
        .phase = (uint32_t)(bits >> 49 & 7),
        .swizzle = modes[bits >> 62],
    };
}

/* Rows come in groups of eight. With a swizzle, a row of a group is as wide as the swizzle;
 * without, it is one chunk wide, and what a group repeats along is told by the other offset. */
uint32_t smem_descriptor_chunk(const struct smem_descriptor *d, bool mn_major, uint32_t row,
                               uint32_t chunk)
{
    uint32_t width = UINT32_C(1) << d->swizzle; /* chunks of a row in a group */
    uint32_t offset = row % ROWS * width * CHUNK + chunk % width * CHUNK;
    uint32_t group = row / ROWS, across = chunk / width;
    bool plain = d->swizzle == SWIZZLE_NONE;
    if (mn_major && plain)
        offset += group * d->leading + across * d->stride;
    else if (plain || mn_major)
        offset += group * d->stride + across * d->leading;
    else
        offset += group * d->stride; /* 32 bytes of K never leave the row: leading is not used */
    return swizzle_apply((d->start + offset) & ADDRESS_MASK, d->swizzle, d->phase);
}
