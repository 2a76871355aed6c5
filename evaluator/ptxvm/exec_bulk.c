/* SPDX-License-Identifier: Apache-2.0
 * cp.async.bulk without a tensor: bytes in a row, between global and shared memory or to another
 * CTA of the cluster; bulk groups, which are always complete; prefetches, which do nothing. */
#include "evaluator/ptxvm/async.h"

#include <string.h>

#include "evaluator/ptxvm/address.h"
#include "evaluator/ptxvm/mbarrier.h"
#include "evaluator/ptxvm/reduce.h"

enum { ALIGN = 16 };
/* op->aux; REDUCE and TYPE are shifts. */
enum { FROM_SHARED = 1, TO_SHARED = 2, MULTICAST = 4, REDUCE = 8, TYPE = 16 };

/* Into d. */
HANDLER(address_value)
{
    uint64_t at[VM_LANES], *d = vm_row(w, op->d);
    address_rows(w, op, at);
    EACH_LANE if (ACTIVE(exec, i)) d[i] = at[i];
    return op + 1;
}

uint32_t async_decode_address(struct decoder *d, const struct ptx_operand *o)
{
    struct place place;
    if (!decode_place(d, o, &place))
        return REF_NONE;
    if (place.frame_relative) {
        decode_error(d, "operand is no address in global or shared memory");
        return REF_NONE;
    }
    uint32_t to = decode_temp(d, WIDTH_64);
    struct op *op = to ? decode_emit(d, address_value) : NULL;
    if (!op)
        return REF_NONE;
    op->d = to;
    address_set(op, &place);
    return to;
}

const struct op *run_async_nothing(struct warp *w, const struct op *op, uint32_t exec)
{
    (void)w, (void)exec;
    return op + 1;
}

static unsigned char *host_of(struct warp *w, const struct op *op, int lane, bool shared,
                              uint64_t address, uint32_t n, enum access mode)
{
    return shared ? access_shared(w, op, lane, async_shared(address), n, ALIGN, mode)
                  : access_global(w, op, lane, address, n, ALIGN, mode);
}

/* One copy, and its completion if a barrier was given. */
static bool copy_to(struct warp *w, const struct op *op, int lane, uint64_t to,
                    const unsigned char *from, uint32_t n, uint64_t barrier)
{
    unsigned char *host = host_of(w, op, lane, op->aux & TO_SHARED, to, n, ACCESS_WRITE);
    if (!host)
        return false;
    enum reduce_kind reduce = (enum reduce_kind)(op->aux >> REDUCE & 0xff);
    if (reduce)
        reduce_apply(reduce, (enum ptx_type)(op->aux >> TYPE), host, from, n);
    else
        memcpy(host, from, n);
    return !(op->aux & TO_SHARED) ||
           mbarrier_apply(w, op, lane, async_shared(barrier),
                          (struct mbarrier_change){.tx = -(int64_t)n}, NULL);
}

static bool copy_lane(struct warp *w, const struct op *op, int lane)
{
    uint64_t to = async_lane(w, op->a, lane), from = async_lane(w, op->b, lane);
    uint64_t barrier = op->aux & TO_SHARED ? async_lane(w, op->c, lane) : 0;
    uint32_t n = ((const uint32_t *)vm_row(w, op->list[0]))[lane];
    if (n % ALIGN) {
        stop_at(w, op, lane, PTXVM_FAULT, PTXVM_BAD_OPERAND,
                "bulk copy of %u bytes, which is no multiple of %d", n, ALIGN);
        return false;
    }
    const unsigned char *source = host_of(w, op, lane, op->aux & FROM_SHARED, from, n, ACCESS_READ);
    if (!source)
        return false;
    if (!(op->aux & MULTICAST))
        return copy_to(w, op, lane, to, source, n, barrier);
    uint32_t mask = ((const uint32_t *)vm_row(w, op->list[1]))[lane] & 0xffff;
    for (uint32_t rank = 0; mask >> rank; rank++)
        if (mask >> rank & 1 && !copy_to(w, op, lane, async_peer(async_shared(to), rank), source, n,
                                         async_peer(async_shared(barrier), rank)))
            return false;
    return true;
}

/* a: destination, b: source, c: mbarrier, list: bytes and the mask of CTAs. */
HANDLER(bulk_copy)
{
    EACH_LANE if (ACTIVE(exec, i) && !copy_lane(w, op, i)) return NULL;
    return op + 1;
}

/* Reductions say what and on which type; `aux` gets both. */
static bool decode_reduction(struct decoder *d, uint32_t *aux)
{
    enum reduce_kind kind = reduce_kind_of(d->form);
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    if (d->form->type_count != 1 || !reduce_allowed(kind, type))
        return decode_error(d, "not for this type");
    *aux |= (uint32_t)kind << REDUCE | (uint32_t)type << TYPE;
    return true;
}

static bool decode_bulk(struct decoder *d, const struct row *row)
{
    bool group = form_has(d, PTX_WORD_bulk_group);
    uint32_t aux = group ? FROM_SHARED : TO_SHARED;
    if (!group && !form_has(d, PTX_WORD_global))
        aux |= FROM_SHARED;
    if (form_has(d, PTX_WORD_multicast__cluster))
        aux |= MULTICAST;
    if (row->aux && !decode_reduction(d, &aux))
        return false;
    uint32_t need = group ? 3 : aux & MULTICAST ? 5 : 4;
    if (form_has(d, PTX_WORD_cp_mask))
        return decode_error(d, "a mask of bytes needs sm_100");
    if (d->instr->operand_count < need)
        return decode_error(d, "%u operands where %u are needed", d->instr->operand_count, need);
    uint32_t a = async_decode_address(d, &d->operands[0]);
    uint32_t b = a ? async_decode_address(d, &d->operands[1]) : REF_NONE;
    uint32_t size = b ? decode_source(d, &d->operands[2], PTX_TYPE_u32) : REF_NONE;
    uint32_t c = group || !size ? size : async_decode_address(d, &d->operands[3]);
    uint32_t mask = !c                ? REF_NONE
                    : aux & MULTICAST ? decode_source(d, &d->operands[4], PTX_TYPE_u16)
                                      : size;
    struct op *op = mask ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b, op->c = c, op->aux = aux;
    return decode_list(d, size, false) && decode_list(d, mask, false);
}

static bool decode_nothing(struct decoder *d, const struct row *row)
{
    return decode_emit(d, row->run) != NULL;
}

const struct row rows_bulk[] = {
    {"cp.async.bulk", NULL, bulk_copy, decode_bulk, 0},
    {"cp.reduce.async.bulk", NULL, bulk_copy, decode_bulk, 1},
    {"cp.async.bulk.prefetch", NULL, run_async_nothing, decode_nothing, 0},
    {"cp.async.bulk.commit_group", ":", run_async_nothing, NULL, 0},
    {"cp.async.bulk.wait_group", ":i", run_async_nothing, NULL, 0},
    {"cp.async.bulk.wait_group.read", ":i", run_async_nothing, NULL, 0},
    {"griddepcontrol", NULL, run_async_nothing, decode_nothing, 0}, /* launches run one by one */
    ROWS_END,
};
