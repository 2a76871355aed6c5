/* SPDX-License-Identifier: Apache-2.0
 * Memory operands of ops: base row a and offset imm, with flags in aux. */
#ifndef EVALUATOR_PTXVM_ADDRESS_H
#define EVALUATOR_PTXVM_ADDRESS_H

#include "evaluator/ptxvm/lanes.h"

enum {
    AUX_BYTES = 0xff,      /* of an element */
    AUX_NARROW = 1 << 8,   /* 32-bit base register */
    AUX_ABSOLUTE = 1 << 9, /* no base register */
    AUX_FRAME = 1 << 10,   /* relative to the frame's local memory */
    AUX_ORDERED = 1 << 11,
    AUX_SIGN = 1 << 12,   /* extend bytes or halves by sign … */
    AUX_SIGN16 = 1 << 13, /* … to 16 bits only */
};

static inline void address_rows(const struct warp *w, const struct op *op, uint64_t out[VM_LANES])
{
    uint64_t offset = (uint64_t)op->imm + (op->aux & AUX_FRAME ? w->frame->local_base : 0);
    if (op->aux & AUX_ABSOLUTE) {
        EACH_LANE out[i] = offset;
    } else if (op->aux & AUX_NARROW) {
        const uint32_t *base = vm_row(w, op->a);
        EACH_LANE out[i] = (uint32_t)(base[i] + (uint32_t)offset);
    } else {
        const uint64_t *base = vm_row(w, op->a);
        EACH_LANE out[i] = base[i] + offset;
    }
}

static inline void address_set(struct op *op, const struct place *place)
{
    op->a = place->base;
    op->imm = place->offset;
    op->aux |= (place->base ? 0 : AUX_ABSOLUTE) | (place->narrow ? AUX_NARROW : 0) |
               (place->frame_relative ? AUX_FRAME : 0);
}

#endif
