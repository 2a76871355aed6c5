/* SPDX-License-Identifier: Apache-2.0
 * alloca, stacksave, stackrestore: the stack of a thread behind the variables of its function.
 * Addresses are local; what a function took is given back when it returns. */
#include "evaluator/ptxvm/lanes.h"

#include <string.h>

/* a: bytes, imm: alignment. */
HANDLER(stack_alloc)
{
    uint64_t bytes[VM_LANES], address[VM_LANES], *d = vm_row(w, op->d);
    memcpy(bytes, vm_row(w, op->a), sizeof bytes);
    if (!frame_grow(w, op, exec, bytes, (uint32_t)op->imm, address))
        return NULL;
    EACH_LANE if (ACTIVE(exec, i)) d[i] = address[i];
    return op + 1;
}

static uint64_t own_end(const struct frame *f)
{
    return (uint64_t)f->local_base + f->function->local_bytes;
}

HANDLER(stack_save)
{
    uint64_t *d = vm_row(w, op->d);
    EACH_LANE if (ACTIVE(exec, i)) d[i] = own_end(w->frame) + w->frame->stack[i];
    return op + 1;
}

HANDLER(stack_restore)
{
    struct frame *f = w->frame;
    const uint64_t *a = vm_row(w, op->a);
    EACH_LANE
    {
        if (!ACTIVE(exec, i))
            continue;
        uint64_t taken = a[i] - own_end(f);
        if (taken > f->stack[i])
            return stop_at(w, op, i, PTXVM_FAULT, PTXVM_BAD_OPERAND,
                           "operand was not saved by stacksave in this function");
        f->stack[i] = (uint32_t)taken;
    }
    return op + 1;
}

static bool decode_alloc(struct decoder *d, const struct row *row)
{
    int64_t align = 8;
    uint32_t n = d->instr->operand_count;
    if (n < 2 || n > 3 || (n == 3 && !decode_immediate(d, &d->operands[2], &align)))
        return decode_error(d, "operands do not fit");
    if (align < 1 || align > VM_LOCAL_START || (align & (align - 1)))
        return decode_error(d, "alignment of %lld bytes", (long long)align);
    uint32_t a = decode_source(d, &d->operands[1], PTX_TYPE_u64);
    uint32_t to = a ? decode_result(d, &d->operands[0], PTX_TYPE_u64) : REF_NONE;
    struct op *op = to ? decode_emit(d, row->run) : NULL;
    if (op)
        op->d = to, op->a = a, op->imm = align;
    return op != NULL;
}

const struct row rows_stack[] = {
    {"alloca.u64", NULL, stack_alloc, decode_alloc, 0},
    {"stacksave.u64", "d:", stack_save, NULL, 0},
    {"stackrestore.u64", ":d", stack_restore, NULL, 0},
    ROWS_END,
};
