/* SPDX-License-Identifier: Apache-2.0
 * setmaxnreg: warps give registers back to the CTA and take them from there. How many a kernel
 * starts with is ptxas's choice; here it is what the register file allows, so that a pool that is
 * never enough here is enough nowhere. */
#include "evaluator/ptxvm/lanes.h"

enum { SM_REGISTERS = 64 * 1024, THREAD_MAX = 255, UNIT = 8, LEAST = 24, MOST = 256 };

static uint32_t registers_at_start(const struct run *run)
{
    uint32_t share = SM_REGISTERS / (run->warps * VM_LANES) / UNIT * UNIT;
    return share > THREAD_MAX ? THREAD_MAX : share;
}

static void wake(struct cta *c)
{
    for (uint32_t i = 0; i < c->warp_count; i++)
        for (int k = 0; k < c->warps[i].group_count; k++)
            if (c->warps[i].groups[k].wait == WAIT_REGISTERS)
                c->warps[i].groups[k].wait = WAIT_NONE;
}

HANDLER(setmaxnreg_dec)
{
    (void)exec;
    uint32_t have = w->registers ? w->registers : registers_at_start(w->cta->run);
    uint32_t want = (uint32_t)op->imm;
    if (want < have) {
        w->registers = want;
        w->cta->spare_registers += (have - want) * VM_LANES;
        wake(w->cta);
    }
    return op + 1;
}

HANDLER(setmaxnreg_inc)
{
    (void)exec;
    uint32_t have = w->registers ? w->registers : registers_at_start(w->cta->run);
    uint32_t want = (uint32_t)op->imm;
    if (want <= have)
        return op + 1;
    uint32_t need = (want - have) * VM_LANES;
    if (need <= w->cta->spare_registers) {
        w->cta->spare_registers -= need;
        w->registers = want;
        return op + 1;
    }
    w->group->wait = WAIT_REGISTERS;
    w->group->wait_for = want - have;
    w->group->pc = op;
    w->event = EVENT_BLOCK;
    w->next = op;
    return NULL;
}

static bool decode_setmaxnreg(struct decoder *d, const struct row *row)
{
    int64_t count;
    if (!decode_count_is(d, 1) || !decode_immediate(d, &d->operands[0], &count))
        return false;
    if (count < LEAST || count > MOST || count % UNIT)
        return decode_error(d, "%lld registers", (long long)count);
    struct op *op = decode_emit(d, row->run);
    if (op)
        op->imm = count;
    return op != NULL;
}

const struct row rows_setmaxnreg[] = {
    {"setmaxnreg.dec.sync.aligned", NULL, setmaxnreg_dec, decode_setmaxnreg, 0},
    {"setmaxnreg.inc.sync.aligned", NULL, setmaxnreg_inc, decode_setmaxnreg, 0},
    ROWS_END,
};
