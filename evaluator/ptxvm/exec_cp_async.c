/* SPDX-License-Identifier: Apache-2.0
 * cp.async: 4, 8 or 16 bytes a lane from global to shared memory. The source may be shorter, or
 * ignored; the rest is zero. Done when issued, so groups are complete at once. */
#include "evaluator/ptxvm/async.h"

#include <string.h>

#include "evaluator/ptxvm/lanes.h"

enum { AUX_BYTES = 0xff, AUX_SIZE = 0x100, AUX_IGNORE = 0x200 };

static bool copy_lane(struct warp *w, const struct op *op, int lane)
{
    uint32_t bytes = op->aux & AUX_BYTES, size = bytes;
    if (op->aux & AUX_SIZE)
        size = ((const uint32_t *)vm_row(w, op->c))[lane];
    if (op->aux & AUX_IGNORE && w->preds[op->c] >> lane & 1)
        size = 0;
    if (size > bytes) {
        stop_at(w, op, lane, PTXVM_FAULT, PTXVM_BAD_OPERAND, "source size %u over %u", size, bytes);
        return false;
    }
    uint64_t from = async_lane(w, op->b, lane), to = async_shared(async_lane(w, op->a, lane));
    unsigned char *out = access_shared(w, op, lane, to, bytes, bytes, ACCESS_WRITE);
    const unsigned char *in =
        out && size ? access_global(w, op, lane, from, size, bytes, ACCESS_READ) : NULL;
    if (!out || (size && !in))
        return false;
    if (size)
        memcpy(out, in, size);
    memset(out + size, 0, bytes - size);
    return true;
}

/* a: shared address, b: global address, c: size of the source, or predicate to ignore it. */
HANDLER(copy)
{
    EACH_LANE if (ACTIVE(exec, i) && !copy_lane(w, op, i)) return NULL;
    return op + 1;
}

static bool is_predicate(const struct decoder *d, const struct ptx_operand *o)
{
    return o->kind == PTX_OPERAND_REG && o->index < d->fn->reg_count &&
           d->widths[o->index] == WIDTH_PRED;
}

static bool decode_copy(struct decoder *d, const struct row *row)
{
    int64_t bytes;
    uint32_t n = d->instr->operand_count;
    n -= n > 3 && form_has(d, PTX_WORD_L2__cache_hint); /* the policy is a hint */
    if (n < 3 || n > 4 || !decode_immediate(d, &d->operands[2], &bytes))
        return decode_error(d, "operands do not fit");
    if (bytes != 4 && bytes != 8 && bytes != 16)
        return decode_error(d, "copies %lld bytes", (long long)bytes);
    uint32_t aux = (uint32_t)bytes, c = REF_FIXED(VM_PRED_FALSE);
    uint32_t a = async_decode_address(d, &d->operands[0]);
    uint32_t b = a ? async_decode_address(d, &d->operands[1]) : REF_NONE;
    if (b && n == 4) {
        bool ignore = is_predicate(d, &d->operands[3]);
        aux |= ignore ? AUX_IGNORE : AUX_SIZE;
        c = ignore ? decode_pred(d, &d->operands[3])
                   : decode_source(d, &d->operands[3], PTX_TYPE_u32);
    }
    struct op *op = b && c ? decode_emit(d, row->run) : NULL;
    if (!op)
        return false;
    op->a = a, op->b = b, op->c = c, op->aux = aux;
    return true;
}

const struct row rows_cp_async[] = {
    {"cp.async.ca", NULL, copy, decode_copy, 0},
    {"cp.async.cg", NULL, copy, decode_copy, 0},
    {"cp.async.commit_group", ":", run_async_nothing, NULL, 0},
    {"cp.async.wait_group", ":i", run_async_nothing, NULL, 0},
    {"cp.async.wait_all", ":", run_async_nothing, NULL, 0},
    ROWS_END,
};
