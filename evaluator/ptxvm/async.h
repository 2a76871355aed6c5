/* SPDX-License-Identifier: Apache-2.0
 * What the asynchronous copies share. They are done when they are issued, which is one of the
 * schedules that their completion mechanisms allow. */
#ifndef EVALUATOR_PTXVM_ASYNC_H
#define EVALUATOR_PTXVM_ASYNC_H

#include "evaluator/ptxvm/decode.h"

/* A 64-bit row with the address that an operand [base+offset] names; REF_NONE after decode_error.
 */
uint32_t async_decode_address(struct decoder *d, const struct ptx_operand *o);

/* The offset in shared memory of a generic address there; other addresses as they are. */
static inline uint64_t async_shared(uint64_t address)
{
    uint64_t mask = (UINT64_C(1) << VM_WINDOW_BITS) - 1;
    return (address & ~mask) == VM_SHARED_WINDOW ? address & mask : address;
}

/* The same shared address in the CTA of a rank of the cluster. */
static inline uint64_t async_peer(uint64_t address, uint32_t rank)
{
    uint64_t own = address & ((UINT64_C(1) << VM_PEER_SHIFT) - 1);
    return own | ((uint64_t)rank + 1) << VM_PEER_SHIFT;
}

static inline uint64_t async_lane(const struct warp *w, uint32_t ref, int lane)
{
    return ((const uint64_t *)vm_row(w, ref))[lane];
}

/* Does nothing. */
extern handler run_async_nothing;

#endif
