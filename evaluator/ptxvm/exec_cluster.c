/* SPDX-License-Identifier: Apache-2.0
 * Addresses across a cluster: mapa and getctarank. Bits from VM_PEER_SHIFT on of a shared address,
 * or of its generic form, name a CTA by its rank plus one; without them it is the CTA's own. */
#include "evaluator/ptxvm/lanes.h"

#define PEER_MASK ((UINT64_C(1) << VM_WINDOW_BITS) - (UINT64_C(1) << VM_PEER_SHIFT))

static uint64_t lane_value(const struct warp *w, uint32_t ref, uint32_t width, int lane)
{
    return width == WIDTH_64 ? ((const uint64_t *)vm_row(w, ref))[lane]
                             : ((const uint32_t *)vm_row(w, ref))[lane];
}

/* a: address, b: rank; aux: width of the address. */
HANDLER(mapa)
{
    const uint32_t *rank = vm_row(w, op->b);
    uint64_t *wide = vm_row(w, op->d);
    uint32_t *narrow = vm_row(w, op->d);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint64_t peer = ((uint64_t)rank[i] + 1) << VM_PEER_SHIFT & PEER_MASK;
        uint64_t address = (lane_value(w, op->a, op->aux, i) & ~PEER_MASK) | peer;
        if (op->aux == WIDTH_64)
            wide[i] = address;
        else
            narrow[i] = (uint32_t)address;
    }
    return op + 1;
}

HANDLER(getctarank)
{
    uint32_t *d = vm_row(w, op->d);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint64_t peer = (lane_value(w, op->a, op->aux, i) & PEER_MASK) >> VM_PEER_SHIFT;
        d[i] = peer ? (uint32_t)peer - 1 : w->cta->rank;
    }
    return op + 1;
}

static bool decode_mapa(struct decoder *d, const struct row *row)
{
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    uint32_t a = decode_count_is(d, 3) ? decode_source(d, &d->operands[1], type) : REF_NONE;
    uint32_t b = a ? decode_source(d, &d->operands[2], PTX_TYPE_u32) : REF_NONE;
    uint32_t to = b ? decode_result(d, &d->operands[0], type) : REF_NONE;
    struct op *op = to ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->d = to, op->a = a, op->b = b;
    op->aux = width_of(type);
    return true;
}

static bool decode_getctarank(struct decoder *d, const struct row *row)
{
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    uint32_t a = decode_count_is(d, 2) ? decode_source(d, &d->operands[1], type) : REF_NONE;
    uint32_t to = a ? decode_result(d, &d->operands[0], PTX_TYPE_b32) : REF_NONE;
    struct op *op = to ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->d = to, op->a = a;
    op->aux = width_of(type);
    return true;
}

const struct row rows_cluster[] = {
    {"mapa", NULL, mapa, decode_mapa, 0},
    {"getctarank", NULL, getctarank, decode_getctarank, 0},
    ROWS_END,
};
