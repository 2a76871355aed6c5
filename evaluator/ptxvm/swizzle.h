/* SPDX-License-Identifier: Apache-2.0
 * The swizzles of shared memory: bits 7 and up of an address, one to three of them, are added
 * modulo two to bits 4 and up, so that 16-byte chunks of neighbouring rows lie in different banks.
 */
#ifndef EVALUATOR_PTXVM_SWIZZLE_H
#define EVALUATOR_PTXVM_SWIZZLE_H

#include <stdint.h>

/* The value is the number of bits. */
enum swizzle { SWIZZLE_NONE, SWIZZLE_32B, SWIZZLE_64B, SWIZZLE_128B };

/* `phase` is the number of the 128-byte line at which the pattern starts. */
static inline uint32_t swizzle_apply(uint32_t address, enum swizzle s, uint32_t phase)
{
    uint32_t mask = (UINT32_C(1) << s) - 1;
    return address ^ (((address >> 7) - phase) & mask) << 4;
}

#endif
