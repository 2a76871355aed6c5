/* SPDX-License-Identifier: Apache-2.0
 * st.async and red.async: stores and reductions in the shared memory of the cluster that complete
 * on an mbarrier there. Done when issued. */
#include "evaluator/ptxvm/async.h"

#include <string.h>

#include "evaluator/ptxvm/lanes.h"
#include "evaluator/ptxvm/mbarrier.h"
#include "evaluator/ptxvm/reduce.h"

enum { AUX_BYTES = 0xff, AUX_REDUCE = 8, AUX_TYPE = 16 /* shifts */, MAX_ELEMENTS = 4 };

static bool store_lane(struct warp *w, const struct op *op, int lane)
{
    uint32_t bytes = op->aux & AUX_BYTES, total = bytes * op->uses;
    enum reduce_kind reduce = (enum reduce_kind)(op->aux >> AUX_REDUCE & 0xff);
    uint64_t to = async_shared(async_lane(w, op->a, lane));
    unsigned char *host = access_shared(w, op, lane, to, total, total, ACCESS_WRITE);
    if (!host)
        return false;
    for (uint32_t i = 0; i < op->uses; i++, host += bytes) {
        const unsigned char *value =
            (unsigned char *)vm_row(w, op->list[i]) + (uint32_t)lane * bytes;
        if (reduce)
            reduce_apply(reduce, (enum ptx_type)(op->aux >> AUX_TYPE), host, value, bytes);
        else
            memcpy(host, value, bytes);
    }
    return mbarrier_apply(w, op, lane, async_shared(async_lane(w, op->b, lane)),
                          (struct mbarrier_change){.tx = -(int64_t)total}, NULL);
}

/* a: address, b: mbarrier, list: values. */
HANDLER(store)
{
    EACH_LANE if (ACTIVE(exec, i) && !store_lane(w, op, i)) return NULL;
    return op + 1;
}

static bool decode_store(struct decoder *d, const struct row *row)
{
    enum ptx_type type = (enum ptx_type)d->form->types[0];
    uint32_t refs[MAX_ELEMENTS], count = 0, bytes = ptx_type_bits(type) / 8;
    enum reduce_kind kind = row->aux ? reduce_kind_of(d->form) : REDUCE_NONE;
    if (!form_has(d, PTX_WORD_mbarrier__complete_tx__bytes)) /* of multimem and of mmio: sm_100 */
        return decode_emit(d, run_unsupported) != NULL;
    if (!decode_count_is(d, 3) || d->form->type_count != 1 || (bytes != 4 && bytes != 8) ||
        (row->aux && !reduce_allowed(kind, type)))
        return decode_error(d, "operands do not fit");
    const struct ptx_operand *e = decode_elements(d, &d->operands[1], &count);
    if (count != 1 && count != 2 && count != MAX_ELEMENTS)
        return decode_error(d, "vector of %u elements", count);
    uint32_t a = async_decode_address(d, &d->operands[0]);
    uint32_t b = a ? async_decode_address(d, &d->operands[2]) : REF_NONE;
    for (uint32_t i = 0; b && i < count; i++)
        if (!(refs[i] = decode_source(d, &e[i], type)))
            return false;
    struct op *op = b ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b;
    op->aux = bytes | (uint32_t)kind << AUX_REDUCE | (uint32_t)type << AUX_TYPE;
    for (uint32_t i = 0; i < count; i++)
        if (!decode_list(d, refs[i], false))
            return false;
    return true;
}

const struct row rows_st_async[] = {
    {"st.async", NULL, store, decode_store, 0},
    {"red.async", NULL, store, decode_store, 1},
    ROWS_END,
};
