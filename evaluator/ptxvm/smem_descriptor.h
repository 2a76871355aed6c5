/* SPDX-License-Identifier: Apache-2.0
 * Matrix descriptors of wgmma: where in shared memory the 16-byte chunks of an operand lie. (PTX
 * ISA, "Matrix Descriptor Format" and "Strides" of wgmma.) */
#ifndef EVALUATOR_PTXVM_SMEM_DESCRIPTOR_H
#define EVALUATOR_PTXVM_SMEM_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "evaluator/ptxvm/swizzle.h"

struct smem_descriptor {
    uint32_t start;           /* bytes, 18 bits */
    uint32_t leading, stride; /* bytes */
    uint32_t phase;           /* base offset: 128-byte line of the pattern's start */
    enum swizzle swizzle;
};

struct smem_descriptor smem_descriptor_decode(uint64_t bits);

/* Shared address of a chunk. K-major: row is along M or N, chunk along K (0 or 1: an instruction
 * takes 32 bytes of K). MN-major, 16-bit elements: row is along K, chunk of 8 elements along M or
 * N. */
uint32_t smem_descriptor_chunk(const struct smem_descriptor *d, bool mn_major, uint32_t row,
                               uint32_t chunk);

#endif
