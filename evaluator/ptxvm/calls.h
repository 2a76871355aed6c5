/* SPDX-License-Identifier: Apache-2.0
 * What a call passes, as two words of the op's list, and functions that the device provides. */
#ifndef EVALUATOR_PTXVM_CALLS_H
#define EVALUATOR_PTXVM_CALLS_H

#include "evaluator/ptxvm/decode.h"

/* A result or an argument: in local memory of the caller (place: offset from its local base), or in
 * a row (place: offset in the frame or in the constants). */
struct passed {
    bool in_row, is_constant;
    uint32_t width; /* of the row: bytes of a lane */
    uint32_t bytes;
    uint32_t place;
};

static inline uint32_t passed_pack(const struct passed *p)
{
    return p->bytes | p->width << 20 | (uint32_t)p->in_row << 28 | (uint32_t)p->is_constant << 29;
}

static inline struct passed passed_unpack(uint32_t what, uint32_t place)
{
    return (struct passed){.in_row = what >> 28 & 1,
                           .is_constant = what >> 29 & 1,
                           .width = what >> 20 & 0xff,
                           .bytes = what & 0xfffff,
                           .place = what >> 29 & 1 ? place & ~UINT32_C(1) : place};
}

/* Handler of a function without a body that the device provides (vprintf, __assertfail), or NULL.
 */
handler *call_external_find(const char *name);
extern handler run_call_unknown;

#endif
